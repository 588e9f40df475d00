"""Is this target set up so that it can be recorded?"""

import argparse
import os

from plumbline.cli.arguments import path
from plumbline.cli.lines import line, warn
from plumbline.errors import ExitCode, PlumblineError
from plumbline.record.authorisation import PRODUCTION_FLAG, require
from plumbline.record.config import RecordingConfig, load_recording
from plumbline.record.probe import QUESTIONS, Answer, Diagnosis, probe, refuse_blocked
from plumbline.record.questions import load_questions
from plumbline.record.secret import Secrets
from plumbline.report.sinks import log_line, terminal

_RAW_LENGTH = 4000
_RAW_LINES = 40
_RAW_WIDTH = 400
_TEXT = 500
_SAMPLE = 120


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("--config", type=path, required=True, metavar="FILE", help="the target configuration")
    parser.add_argument(
        PRODUCTION_FLAG,
        action="store_true",
        dest="production",
        help='needed where authorisation.environment = "production"',
    )


def run(arguments: argparse.Namespace) -> int:
    """Ask three neutral questions and say what is set up wrongly. Scores nothing and writes nothing.

    Raises:
        ConfigurationError: the configuration is wrong, or a recording with it would fail; or it is of production and
            nobody typed the flag, as for a recording.
    """
    config = load_recording(arguments.config, os.environ)
    require(config.authorisation, [], production_confirmed=arguments.production)
    for warning in config.warnings:
        warn(warning)
    calls = _calls(config)
    adapter = config.adapter(os.environ)
    try:
        described = adapter.describe()
        line("target", config.target)
        line("adapter", f"{described['kind']} -> {described['endpoint']}")
        found = probe(
            adapter,
            config.settings,
            config.secrets,
            calls=calls,
            watch=lambda answer: _show(answer, config.secrets),
        )
    finally:
        adapter.close()
    line("asked", f"{len(found.answers)} of {len(QUESTIONS)} questions")
    if found.projected is not None:
        line("projected", f"{calls} calls, {_duration(found.projected)}")
    for diagnosis in found.diagnoses:
        _tell(diagnosis, config.secrets)
    refuse_blocked(found)
    line("set-up", "OK: nothing was scored and nothing was written")
    return ExitCode.PASS


def _calls(config: RecordingConfig) -> int | None:
    try:
        return load_questions(config.questions).calls(1)
    except PlumblineError as fault:
        # A set-up can be tried before there are questions; how long they would take is then unknown.
        warn(f"the question set cannot be read, so no duration is projected: {fault.message}")
        return None


def _show(answer: Answer, secrets: Secrets) -> None:
    def safe(text: str) -> str:
        return terminal(secrets.mask(text), _TEXT)

    line("question", answer.question)
    raw = secrets.mask_part(answer.raw or "")
    shown = raw[:_RAW_LENGTH].splitlines()[:_RAW_LINES]
    for text in shown:
        print(log_line(f"  raw | {terminal(text, _RAW_WIDTH)}"))
    if len(raw) > sum(map(len, shown)) + len(shown):
        print(log_line(f"  raw | … ({len(raw)} characters in all)"))
    if answer.fault is not None:
        line("fault", safe(f"{answer.fault.fault}: {answer.fault.message}"))
    if answer.reply is not None:
        reply = answer.reply
        line("answer", safe(reply.text) or "(empty)")
        cited = "not captured" if reply.citations is None else ", ".join(reply.citations) or "none"
        line("citations", safe(cited))
        if reply.retrieved is None:
            line("passages", "not captured")
        else:
            names = ", ".join(passage.id or "(no id)" for passage in reply.retrieved)
            line("passages", safe(f"{len(reply.retrieved)}: {names}" if names else "none"))
    line("took", f"{answer.seconds:.2f} s")


def _tell(diagnosis: Diagnosis, secrets: Secrets) -> None:
    label = "FAULT" if diagnosis.blocking else "NOTE"
    line(label, f"{diagnosis.code}: {diagnosis.title}")
    line("  seen", secrets.mask(diagnosis.seen))
    line("  change", f"adapter.{diagnosis.key}")
    if diagnosis.remedy:
        line("  how", secrets.mask(diagnosis.remedy))
    for place, sample in diagnosis.suggestions:
        line("  a guess", f"{terminal(place, _SAMPLE)} -> {terminal(secrets.mask_part(sample), _SAMPLE)}")


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"about {seconds:.0f} s"
    return f"about {seconds / 60:.0f} min" if seconds < 5400 else f"about {seconds / 3600:.1f} h"
