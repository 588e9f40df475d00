"""Is this bundle sealed, and what is in it?"""

import argparse
from collections import Counter

from plumbline.audit.scope import warnings
from plumbline.cli.arguments import path
from plumbline.cli.lines import line, warn
from plumbline.errors import ExitCode
from plumbline.evidence.bundle import load


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("bundle", type=path, help="folder of a bundle or a question set")


def run(arguments: argparse.Namespace) -> int:
    """Check the seal, parse everything, and say what is there.

    Raises:
        IntegrityError: the bytes are not what was sealed.
        ConfigurationError: the sealed content is not a bundle.
    """
    bundle = load(arguments.bundle)
    languages = Counter(item.lang for item in bundle.items)
    line("bundle", f"{bundle.name}" + (f" ({bundle.manifest.version})" if bundle.manifest.version else ""))
    line("items", f"{len(bundle.items)} ({', '.join(f'{lang} {languages[lang]}' for lang in sorted(languages))})")
    if bundle.responses is None:
        line("responses", "none: this is a question set")
    else:
        unanswered = len(bundle.items) - len(bundle.responses)
        line("responses", f"{len(bundle.responses)}" + (f" ({unanswered} items have none)" if unanswered else ""))
    if bundle.sources:
        line("sources", str(len(bundle.sources)))
    line("dataset", f"{bundle.dataset_id} ({bundle.sha256})")
    if bundle.manifest.synthetic:
        line("note", "synthetic: says nothing about any real service")
    if bundle.manifest.recording is not None:
        line("recorded", str(bundle.manifest.recording.get("recorded_at", "at a time the manifest does not give")))
    for warning in warnings(bundle):
        warn(warning)
    line("integrity", "OK")
    return ExitCode.PASS
