"""Which instrument is this?"""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

from plumbline._version import __version__
from plumbline.canonical import canonical_sha256, sha256_hex

HARNESS = "plumbline"
DEFAULT_SEED = 1729
MAX_SEED = 2**53 - 1
"""The largest seed that every JSON reader keeps exactly."""

RUN_ID_LENGTH = 16


def harness_version() -> str:
    """The release that runs."""
    return __version__


def harness_source_sha256() -> str:
    r"""SHA-256 over `<relative path>=<sha256>\n` for every .py file of the package, sorted by path."""
    package = Path(__file__).resolve().parent.parent
    names = sorted(path.relative_to(package).as_posix() for path in package.rglob("*.py"))
    return sha256_hex("".join(f"{name}={sha256_hex((package / name).read_bytes())}\n" for name in names).encode())


def run_id(
    *,
    target: str,
    version: str,
    seed: int,
    dataset_sha256: str,
    judge_config_sha256: str,
    floors: Sequence[tuple[str, float, str]],
    baseline_sha256: str | None,
) -> str:
    """The run id: the first 16 hex digits of a hash of what the run was given (specification, "Reports").

    Derived from content alone, so the same run has the same id everywhere. The derivation is part of the report
    format: `verify` recomputes it from what a report says of itself. `floors` are suite, floor, and what is held
    against it: `score`, which is not written out, or `lower_bound`.
    """
    return canonical_sha256(
        {
            "target": target,
            "harness_version": version,
            "seed": seed,
            "dataset_sha256": dataset_sha256,
            "judge_config_sha256": judge_config_sha256,
            "suites": [[suite, floor, *([] if on == "score" else [on])] for suite, floor, on in sorted(floors)],
            "baseline_sha256": baseline_sha256,
        }
    )[:RUN_ID_LENGTH]


def as_float(value: Fraction, digits: int = 4) -> float:
    """An exact value as a report shows it."""
    return round(float(value), digits)
