"""How does code scanning show each finding on its line?

SARIF 2.1.0, one run per file. GitHub shows every result as an open alert whatever its kind, so only findings are
written. It refuses a file over its limits or drops results as it likes, so the limits are kept here, in the order of
the findings, and what was left out is said in a result of its own.
"""

import hashlib
import posixpath
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import attr
import msgspec
import sarif_om as om

from plumbline._version import __version__
from plumbline.errors import ConfigurationError, ExitCode, InternalError
from plumbline.report.document import Location, Report
from plumbline.report.findings import Finding, Level, findings
from plumbline.report.rules import LEFT_OUT, RUN_RULES, Rule, catalogue
from plumbline.report.sinks import sarif_text, visible
from plumbline.report.wording import count, floor_text, four

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
INFORMATION_URI = "https://github.com/org/plumbline"

MAX_RESULTS = 5000
"""What GitHub keeps of one run."""
MAX_LOCATIONS = 100
"""What GitHub keeps of one result."""
MAX_MESSAGE = 1000
"""Characters of a message; the rest is in the report."""

BASE = "REPOSITORY"
"""Every artifact is relative to this base: the root of the repository, wherever it is checked out."""

_WHERE = {"items": "the item", "responses": "the response", "sources": "the passage", "interface": "the page"}
_MANIFEST = "manifest.json"
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/")


def sarif(report: Report, *, root: str, key: str = "plumbline") -> bytes:
    """The findings of a report as a SARIF file.

    Args:
        report: the finished report.
        root: the bundle's folder relative to the repository's root, in POSIX form; `.` for the root itself.
        key: tells two gates of one repository apart; alerts of one key never close those of another.

    Raises:
        ConfigurationError: `root` leads out of the repository.
        InternalError: a finding has no rule.
    """
    root = _checked_root(root)
    found = _one_per_identity(findings(report))
    kept = found if len(found) <= MAX_RESULTS else found[: MAX_RESULTS - 1]
    left_out = found[len(kept) :]
    results = [_result(group, root) for group in kept]
    notices = []
    if left_out:
        # Errors come first, so a warning here says that no error was left out.
        level: Level = left_out[0][0].level
        text = (
            f"{count(len(left_out), 'finding')} more could not be shown here: code scanning keeps "
            f"{MAX_RESULTS:,} results. All of them stand in report.json of run {report.provenance.run_id}."
        )
        place = _location(posixpath.join(root, _MANIFEST), line=1, start=1, end=2)
        properties = {"leftOut": len(left_out)}
        results.append(_finished(LEFT_OUT.id, _text(text), level=level, place=place, properties=properties))
        notices.append(_notice(text, level))
    return _log(
        results,
        key=key,
        version=report.provenance.harness_version,
        notices=notices,
        exit_code=ExitCode.PASS if report.verdict == "PASS" else ExitCode.FAIL,
        properties={
            "verdict": report.verdict,
            "runId": report.provenance.run_id,
            "datasetSha256": report.provenance.dataset_sha256,
            "judgeConfigSha256": report.provenance.judge_config_sha256,
            "findings": len(found),
        },
    )


def refusal_sarif(
    label: str,
    message: str,
    *,
    exit_code: int,
    file: str,
    line: int = 1,
    key: str = "plumbline",
) -> bytes:
    """A SARIF file that says why a run gave no verdict.

    Args:
        label: the kind of refusal, as it is printed.
        message: what was found, and where.
        exit_code: how the run ended: 3, 4 or 5.
        file: the file to blame, relative to the repository's root, in POSIX form.
        line: the line in it.
        key: tells two gates of one repository apart.

    Raises:
        ConfigurationError: `file` leads out of the repository.
    """
    rule = RUN_RULES.get(exit_code, RUN_RULES[ExitCode.INTERNAL])
    text = f"{label}: {message}"
    place = _location(_checked_root(file), line=line, start=1, end=2)
    return _log(
        [_finished(rule.id, _text(text), level="error", place=place, properties={"exitCode": int(exit_code)})],
        key=key,
        version=__version__,
        notices=[_notice(text, "error")],
        exit_code=exit_code,
        properties={"verdict": None},
    )


def identity(rule_id: str, item: str) -> str:
    """What makes two findings the same one, whenever and in whatever order they were recorded."""
    return hashlib.sha256(f"{rule_id}\0{item}".encode("utf-8", "surrogatepass")).hexdigest()


def artifact_uri(path: str) -> str:
    """A POSIX path as a relative URI reference."""
    encoded = path.encode("utf-8", "surrogateescape")
    return "".join(chr(byte) if byte in _UNRESERVED else f"%{byte:02X}" for byte in encoded)


def _checked_root(path: str) -> str:
    normal = posixpath.normpath(path) if path else "."
    if normal.startswith(("/", "../")) or normal == ".." or "\\" in normal:
        raise ConfigurationError(
            f"{path!r} is no path within the repository, so code scanning could not show its lines",
            remedy="Keep the bundle inside the repository, or run without --sarif.",
        )
    return "" if normal == "." else normal


def _one_per_identity(found: Sequence[Finding]) -> list[list[Finding]]:
    # An item with nothing to check is held out by every suite; that is one alert, not one for each suite.
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in found:
        groups.setdefault((finding.rule_id, finding.item.item), []).append(finding)
    return list(groups.values())


def _result(group: Sequence[Finding], root: str) -> om.Result:
    finding = group[0]
    suite, item = finding.suite, finding.item
    places = item.where[:MAX_LOCATIONS]
    main = _of(places[0], root) if places else _location(posixpath.join(root, _MANIFEST), line=1, start=1, end=2)
    related = [_of(place, root, number) for number, place in enumerate(places[1:], start=1)]
    properties: dict[str, Any] = {"suite": suite.suite, "item": item.item, "reason": item.reason, "hard": item.hard}
    if item.score is not None:
        properties["itemScore"] = item.score
    properties |= {"score": suite.score, "floor": suite.floor, "suiteVerdict": suite.verdict}
    if len(group) > 1:
        properties["suites"] = [other.suite.suite for other in group]
    shown = {key: visible(value) if isinstance(value, str) else value for key, value in properties.items()}
    score = f"{suite.suite}: {four(suite.score)}, floor {floor_text(suite.floor)}, {suite.verdict}."
    # In a message `[text](1)` leads to the related location with that id.
    compare = f" Compare [{_WHERE[places[1].role]}](1)." if related else ""
    text = _text(f"{finding.message}.") + sarif_text(f" {score}") + compare
    return _finished(
        finding.rule_id,
        text,
        level=finding.level,
        place=main,
        properties=shown,
        item=item.item,
        related=related,
    )


def _finished(
    rule_id: str,
    escaped: str,
    *,
    level: Level,
    place: om.Location,
    properties: dict[str, Any],
    item: str = "",
    related: Sequence[om.Location] = (),
) -> om.Result:
    same = identity(rule_id, item)
    index = next((number for number, rule in enumerate(catalogue()) if rule.id == rule_id), None)
    if index is None:
        raise InternalError(f"no rule of the SARIF catalogue is named {rule_id!r}")
    return om.Result(
        message=om.Message(text=escaped),
        rule_id=rule_id,
        rule_index=index,
        kind="fail",
        level=level,
        locations=[place],
        related_locations=list(related) or None,
        # GitHub matches alerts by the second key alone. Filled from the line's text, as its own uploader would, it
        # changes with every re-recording and is the same for rows that begin alike.
        partial_fingerprints={"plumblineItem/v1": same, "primaryLocationLineHash": f"{same[:16]}:1"},
        properties=properties,
    )


def _of(place: Location, root: str, number: int | None = None) -> om.Location:
    return _location(
        posixpath.join(root, place.file),
        line=place.line,
        start=place.start_column,
        # A region without width cannot be shown; it takes the character that it stands before.
        end=max(place.end_column, place.start_column + 1),
        note=place.note,
        number=number,
    )


def _location(path: str, *, line: int, start: int, end: int, note: str = "", number: int | None = None) -> om.Location:
    return om.Location(
        id=number,
        message=om.Message(text=_text(note)) if note else None,
        physical_location=om.PhysicalLocation(
            artifact_location=om.ArtifactLocation(uri=artifact_uri(path), uri_base_id=BASE),
            region=om.Region(start_line=line, start_column=start, end_line=line, end_column=end),
        ),
    )


def _notice(text: str, level: Level) -> om.Notification:
    return om.Notification(message=om.Message(text=_text(text)), level=level)


def _text(text: str) -> str:
    return sarif_text(text, MAX_MESSAGE)


def _log(
    results: Sequence[om.Result],
    *,
    key: str,
    version: str,
    notices: Sequence[om.Notification],
    exit_code: int,
    properties: dict[str, Any],
) -> bytes:
    run = om.Run(
        tool=om.Tool(
            driver=om.ToolComponent(
                name="Plumbline",
                full_name=f"Plumbline {version}",
                version=version,
                semantic_version=version,
                information_uri=INFORMATION_URI,
                short_description=om.MultiformatMessageString(text="A merge gate for question-answering systems."),
                rules=[_rule(rule) for rule in catalogue()],
            )
        ),
        automation_details=om.RunAutomationDetails(id=f"plumbline/{visible(key)}/"),
        column_kind="utf16CodeUnits",
        original_uri_base_ids={
            BASE: om.ArtifactLocation(description=om.Message(text="The root of the repository that holds the bundle."))
        },
        invocations=[
            om.Invocation(
                execution_successful=exit_code in {ExitCode.PASS, ExitCode.FAIL},
                exit_code=int(exit_code),
                tool_execution_notifications=list(notices) or None,
            )
        ],
        results=list(results),
        properties=properties,
    )
    log = om.SarifLog(schema_uri=SCHEMA, version="2.1.0", runs=[run])
    return msgspec.json.format(msgspec.json.encode(to_plain(log)), indent=2) + b"\n"


@cache
def _rule(rule: Rule) -> om.ReportingDescriptor:
    return om.ReportingDescriptor(
        id=rule.id,
        name=rule.name,
        short_description=om.MultiformatMessageString(text=rule.short),
        full_description=om.MultiformatMessageString(text=rule.full),
        help=om.MultiformatMessageString(text=rule.help_text, markdown=rule.help_markdown),
        default_configuration=om.ReportingConfiguration(level=rule.level),
        properties={"tags": list(rule.tags), "problem.severity": rule.level},
    )


KEPT = frozenset({"level", "kind"})
"""Written even where they are the schema's default: a reader that fills in the rule's default instead would turn a
warning into an error."""


def to_plain(value: Any) -> Any:  # noqa: ANN401 - any object of the model, and what it holds
    """An object of sarif-om as JSON values, under the names of the schema."""
    if isinstance(value, list):
        return [to_plain(inner) for inner in value]
    if isinstance(value, dict):
        return {key: to_plain(inner) for key, inner in value.items()}
    kind: Any = type(value)
    if not attr.has(kind):
        return value
    found = ((field, getattr(value, field.attribute)) for field in _fields(kind))
    return {
        field.name: to_plain(inner)
        for field, inner in found
        if inner is not None and (inner != field.default or field.name in KEPT)
    }


class _Field(NamedTuple):
    attribute: str
    name: str
    default: Any


@cache
def _fields(kind: Any) -> list[_Field]:  # noqa: ANN401 - sarif-om has no types
    found = []
    for field in attr.fields(kind):
        default: Any = field.default
        # A default that is a list is made by a factory; comparing with the factory itself would never match.
        if hasattr(default, "factory"):
            default = default.factory()
        found.append(_Field(field.name, field.metadata["schema_property_name"], default))
    return found
