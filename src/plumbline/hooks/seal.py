"""Which new seals do the staged edits need?

The hook writes `checksums.json` into the work tree for every touched bundle whose seal no longer fits, prints the old
and the new dataset id and what changed, and exits 1. It never stages: whoever commits must look at what the seal now
covers and say so with `git add`. Hence it is a hook for the manual stage unless a configuration says otherwise.

A seal covers what will be committed. So it is made from the index and not from the work tree, where a checkout may have
converted line endings. Where the two hold different files the seal would be wrong in one of them, and the hook refuses:
an untracked file in the bundle's folder (it would be an unsealed extra here and absent from the commit), or, outside of
`git commit`, an unstaged edit. Nor is anything written through a link. A bundle that would not be valid under a new
seal is not sealed either.
"""

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from shlex import quote

from plumbline.errors import ConfigurationError, ExitCode, IntegrityError, PlumblineError
from plumbline.hooks.bundles import Found, Scope, find, inventory, refuse_linked_folder, scope
from plumbline.hooks.command import refuse, run, say, stage_command
from plumbline.hooks.git import Repository
from plumbline.report.sinks import visible

_SEAL = "checksums.json"


def main(arguments: Sequence[str] | None = None) -> int:
    """The hook `plumbline-seal`."""
    parser = argparse.ArgumentParser(
        prog="plumbline-seal", description=(__doc__ or "").partition("\n")[0], allow_abbrev=False
    )
    parser.add_argument("--all", action="store_true", help="look at every bundle, not only at those that are touched")
    options = parser.parse_args(arguments)
    return run(lambda: _seal(everything=options.all))


def _seal(*, everything: bool) -> ExitCode:
    repository = Repository()
    # Only the index can be sealed, whatever range decides which bundles are touched.
    where = Scope(scope(repository, os.environ).base, None)
    worst = ExitCode.PASS
    for bundle in find(repository, where, everything=everything):
        if bundle.pointer:
            say(f"{bundle.shown}: {bundle.pointer} is kept in Git LFS; a bundle is not looked for, nothing is sealed")
            continue
        if not bundle.entries:
            continue
        try:
            ended = _seal_one(repository, bundle)
        except PlumblineError as fault:
            refuse(fault, bundle=bundle.shown)
            ended = fault.exit_code
        worst = max(worst, ended, key=(ExitCode.PASS, ExitCode.FAIL, ExitCode.CONFIGURATION, ExitCode.INTEGRITY).index)
    return worst


def _seal_one(repository: Repository, bundle: Found) -> ExitCode:
    from pathlib import Path  # noqa: PLC0415 - as the others here: not paid for by a commit that touches no bundle

    from plumbline.canonical import SHORT_ID_LENGTH  # noqa: PLC0415
    from plumbline.evidence.bundle import parse  # noqa: PLC0415
    from plumbline.evidence.files import write_atomically  # noqa: PLC0415 - not paid for by a commit without a bundle
    from plumbline.evidence.seal import (  # noqa: PLC0415
        bundle_sha256,
        digests,
        read_checksums,
        render_checksums,
        verify_inventory,
    )

    files = inventory(repository, bundle)
    try:
        verify_inventory(files)
    except IntegrityError:
        pass
    else:
        return ExitCode.PASS
    refuse_linked_folder(repository, bundle)
    _refuse_other_files(repository, bundle)
    now = digests(files)
    new_seal = render_checksums(now)
    parse({**files, _SEAL: new_seal})
    try:
        before: Mapping[str, str] = (old := read_checksums(files)).files
        old_id = old.bundle_sha256[:SHORT_ID_LENGTH]
    except IntegrityError:
        before, old_id = {}, "none"
    write_atomically(Path(repository.top, bundle.folder, _SEAL), new_seal)
    say(f"{bundle.shown}: sealed again, dataset {old_id} -> {bundle_sha256(now)[:SHORT_ID_LENGTH]}")
    for name in sorted(before.keys() | now.keys()):
        if before.get(name) != now.get(name):
            what = "added" if name not in before else "removed" if name not in now else "changed"
            say(f"  {what}: {name}")
    say(f"  If this is meant: {stage_command(bundle.shown)}")
    return ExitCode.FAIL


def _refuse_other_files(repository: Repository, bundle: Found) -> None:
    seal = f"{bundle.folder}/{_SEAL}" if bundle.folder else _SEAL
    for found, what in (
        (repository.untracked(bundle.folder), "not tracked"),
        (repository.unstaged(bundle.folder), "edited but not staged"),
    ):
        others = [path for path in found if path != seal]
        if others:
            raise ConfigurationError(
                "not sealed, because these files are "
                + what
                + ":\n"
                + "\n".join(f"  {visible(path)}" for path in others[:20]),
                remedy=f"Stage what belongs to the bundle and take the rest away: git add -- {quote(bundle.shown)}",
            )


if __name__ == "__main__":
    sys.exit(main())
