"""Which bar does a repository hold from now on?"""

import argparse

import msgspec

from plumbline.cli.arguments import path
from plumbline.cli.lines import line
from plumbline.cli.outputs import refuse_in_bundle, refuse_to_replace
from plumbline.cli.verify import read_report
from plumbline.errors import ConfigurationError, ExitCode
from plumbline.evidence.files import write_atomically
from plumbline.report.document import baseline_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "--from", dest="source", type=path, required=True, metavar="REPORT", help="a report, or its folder"
    )
    parser.add_argument("--out", type=path, required=True, metavar="FILE", help="where to write the baseline")


def run(arguments: argparse.Namespace) -> int:
    """Cut a baseline from a report that passes `verify`.

    Raises:
        IntegrityError: the report was changed.
        ConfigurationError: the report cannot be read or the baseline not be written.
    """
    refuse_in_bundle("--out", arguments.out)
    refuse_to_replace("--out", arguments.out, "baseline_sha256")
    report = read_report(arguments.source)
    baseline = baseline_of(report)
    try:
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise ConfigurationError(f"{arguments.out.parent}: cannot be made: {fault.strerror}") from None
    write_atomically(arguments.out, msgspec.json.format(msgspec.json.encode(baseline), indent=2) + b"\n")
    line("baseline", str(arguments.out))
    line("cut from", f"run {baseline.source_run_id}, verdict {baseline.verdict}")
    line("dataset", baseline.dataset_id)
    line("judge", f"{baseline.judge_kind} {baseline.judge_config_sha256[:12]}")
    if baseline.verdict == "FAIL":
        line("note", "this bar was cut from a run that failed")
    return ExitCode.PASS
