"""Would this commit leave a bundle unsealed or invalid?

Exit 0 when it would not, 3 when the bytes are not what the seal says, 4 when sealed content is no bundle or git cannot
answer. Deletions count, so the hook runs on every commit and finds the bundles by itself. Only bundles that the commit
touches are read, unless `--all` is given or nothing is staged. What Git LFS keeps elsewhere cannot be read; where that
might hide a bundle, it is said.

The index is judged, not the work tree: line-ending conversion at checkout, untracked files and unstaged edits neither
excuse nor spoil a commit. A bundle that a checkout could convert is warned about, because there the evidence would no
longer verify.
"""

import argparse
import os
import sys
from collections.abc import Sequence

from plumbline.errors import ExitCode, IntegrityError, PlumblineError
from plumbline.hooks.bundles import Found, find, in_work_tree, inventory, scope
from plumbline.hooks.command import refuse, run, say, stage_command
from plumbline.hooks.git import Repository


def main(arguments: Sequence[str] | None = None) -> int:
    """The hook `plumbline-validate`."""
    parser = argparse.ArgumentParser(
        prog="plumbline-validate", description=(__doc__ or "").partition("\n")[0], allow_abbrev=False
    )
    parser.add_argument("--all", action="store_true", help="look at every bundle, not only at those that are touched")
    options = parser.parse_args(arguments)
    return run(lambda: _validate(everything=options.all))


def _validate(*, everything: bool) -> ExitCode:
    repository = Repository()
    where = scope(repository, os.environ)
    worst = ExitCode.PASS
    for bundle in find(repository, where, everything=everything):
        if bundle.pointer:
            say(f"{bundle.shown}: warning: {bundle.pointer} is kept in Git LFS, so git does not say whether this is a")
            say("  bundle; nothing here was checked. A bundle has to be stored in git itself.")
            continue
        if not bundle.entries:
            say(f"{bundle.shown}: the whole bundle is taken away")
            continue
        try:
            dataset_id = _check(repository, bundle)
        except PlumblineError as fault:
            refuse(fault, bundle=bundle.shown)
            # Broken evidence outranks evidence that says something odd.
            worst = ExitCode.INTEGRITY if ExitCode.INTEGRITY in {worst, fault.exit_code} else fault.exit_code
        else:
            say(f"{bundle.shown}: sealed and valid, dataset {dataset_id}")
            _warn(repository, bundle)
    return worst


def _check(repository: Repository, bundle: Found) -> str:
    from plumbline.evidence.bundle import parse  # noqa: PLC0415 - not paid for by a commit that touches no bundle

    files = inventory(repository, bundle)
    try:
        return parse(files).dataset_id
    except IntegrityError as fault:
        forgotten = [
            name
            for line in fault.message.split("\n")
            if (name := line.strip().removeprefix("listed but missing: ")) != line.strip()
            and in_work_tree(repository, bundle, name)
        ]
        if forgotten:
            fault.remedy = "In the folder but not staged: " + "; ".join(
                stage_command(bundle.shown, name) for name in forgotten
            )
        raise


def _warn(repository: Repository, bundle: Found) -> None:
    unsafe = [
        path
        for path, attributes in repository.attributes(entry.path for entry in bundle.entries).items()
        if _may_be_converted(attributes)
    ]
    if unsafe:
        say(
            f"  warning: a checkout may convert {len(unsafe)} of its {len(bundle.entries)} files (first: {unsafe[0]}); "
            f"put this into .gitattributes: {f'{bundle.folder}/' if bundle.folder else ''}** -text -filter -ident"
        )


def _may_be_converted(attributes: dict[str, str]) -> bool:
    kept = {"unset", "unspecified"}
    if any(attributes[name] not in kept for name in ("filter", "ident", "working-tree-encoding")):
        return True
    # What is stored with LF and checked out with LF stays as it is; anything else depends on who checks out.
    return attributes["text"] != "unset" and attributes["eol"] != "lf"


if __name__ == "__main__":
    sys.exit(main())
