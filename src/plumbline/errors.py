"""What can go wrong, and with which exit code does it end?

Every refusal of Plumbline is one of these classes. The exit codes are the specification's: 0 pass, 1 measured
failure, 2 usage, 3 integrity refusal, 4 configuration or environment, 5 internal error. A crash is never 1.
"""

from enum import IntEnum


class ExitCode(IntEnum):
    """The six ways a command can end."""

    PASS = 0
    """Every enabled suite passed."""
    FAIL = 1
    """Scoring finished and at least one enabled suite failed."""
    USAGE = 2
    """The command line was wrong."""
    INTEGRITY = 3
    """The evidence, or a report, is not what was sealed. Nothing was scored."""
    CONFIGURATION = 4
    """The configuration or the environment does not allow a verdict."""
    INTERNAL = 5
    """Plumbline itself is at fault. Nothing was measured."""


class PlumblineError(Exception):
    """A refusal with an exit code.

    Args:
        message: what was found, and where.
        remedy: what the reader can do about it; shown on a line of its own.
    """

    exit_code: ExitCode = ExitCode.INTERNAL
    label: str = "INTERNAL ERROR"

    def __init__(self, message: str, *, remedy: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy


class IntegrityError(PlumblineError):
    """The bytes are not the bytes that were sealed (exit 3)."""

    exit_code = ExitCode.INTEGRITY
    label = "INTEGRITY REFUSAL"


class ConfigurationError(PlumblineError):
    """The configuration, the bundle's content or the environment does not allow a verdict (exit 4)."""

    exit_code = ExitCode.CONFIGURATION
    label = "CONFIGURATION ERROR"


class BundleError(ConfigurationError):
    """A sealed bundle says something that cannot be graded (exit 4)."""


class EmptyPopulationError(ConfigurationError):
    """An enabled suite has nothing to score (exit 4). A vacuous pass would be worse than none."""


class InternalError(PlumblineError):
    """Plumbline is at fault (exit 5)."""


def refusal_for(fault: BaseException) -> PlumblineError:
    """The refusal that stands for an exception: the one place that decides which exit code a fault ends with."""
    if isinstance(fault, PlumblineError):
        return fault
    if isinstance(fault, KeyboardInterrupt):
        return ConfigurationError("interrupted; there is no verdict")
    if isinstance(fault, MemoryError):
        return ConfigurationError("out of memory; there is no verdict")
    if isinstance(fault, ModuleNotFoundError) and not (fault.name or "").startswith("plumbline"):
        return ConfigurationError(
            f"the package {fault.name} is not installed", remedy="Install what requirements/gate.txt lists."
        )
    if isinstance(fault, OSError):
        where = f"{fault.filename}: " if fault.filename else ""
        return ConfigurationError(f"{where}{fault.strerror or type(fault).__name__}")
    return InternalError(f"{type(fault).__name__}: this is a fault of Plumbline; nothing was measured")
