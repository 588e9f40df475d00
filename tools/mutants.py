"""Which changes of the code would no test notice?

Runs mutmut over the modules that decide a verdict, one module at a time, each with the tests that belong to it, on
copies below `.tools/mutants`. Prints a line for each module and the difference that each surviving mutant makes; the
list that has been read and explained is docs/mutation.md. Run by `make mutants` (all modules: hours) or, say,
`make mutants MODULES="audit/verdict suites/refusal"`.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / ".tools" / "mutants"
PACKAGES = ("judge", "suites", "statistics")

OUTCOMES = "tests/suites/test_outcomes.py"
OWN_TESTS = {
    "audit/verdict": ["tests/audit/test_verdict.py"],
    "judge/contrast": ["tests/judge/test_contrast.py"],
    "judge/judgments": ["tests/judge/test_judgments.py", "tests/judge/test_model.py"],
    "judge/model": ["tests/judge/test_model.py"],
    "judge/prompt": ["tests/judge/test_prompt.py", "tests/judge/test_model.py"],
    "statistics/beta": ["tests/statistics/test_beta.py"],
    "statistics/bounds": [
        "tests/statistics/test_bounds.py",
        "tests/statistics/test_clusters.py",
        "tests/statistics/test_describe.py",
    ],
    "statistics/calibration": ["tests/statistics/test_calibration.py"],
    "statistics/clusters": ["tests/statistics/test_clusters.py", "tests/statistics/test_describe.py"],
    "statistics/describe": ["tests/statistics/test_describe.py"],
    "statistics/gap": ["tests/statistics/test_gap.py", "tests/statistics/test_describe.py"],
    "statistics/honest": ["tests/statistics/test_honest.py", "tests/statistics/test_describe.py"],
    "statistics/intervals": ["tests/statistics/test_intervals.py", "tests/statistics/test_oracles.py"],
    "statistics/power": ["tests/statistics/test_power.py", "tests/statistics/test_gap.py"],
    "statistics/rng": ["tests/statistics/test_rng.py"],
    "statistics/scale": ["tests/statistics/test_describe.py"],
    **{
        f"suites/{suite}": ["tests/suites/test_suites.py", OUTCOMES]
        for suite in ("accuracy", "refusal", "smoke", "registry")
    },
    **{
        f"suites/{suite}": ["tests/suites/test_screening.py", OUTCOMES]
        for suite in ("adversarial", "conversational_integrity", "forbidden", "privacy", "representational_harms")
    },
    **{
        f"suites/{suite}": [f"tests/suites/test_{suite}.py", "tests/suites/test_passages_reported.py", OUTCOMES]
        for suite in ("citation_accuracy", "citation_validity", "groundedness", "passage_attribution")
    },
    **{
        f"suites/{suite}": [f"tests/suites/test_{suite}.py", OUTCOMES]
        for suite in ("accessibility", "cross_language", "fairness", "multilingual")
    },
}
"""Module to the tests that should notice its mutants, where these are not all tests of its package."""

PROSE = [
    r"""^\s*(\w+=)?f?"[^"]* [^"]*",?$""",
    r"""^\s*(raise \w+|faults\.append)\(f?"[^"]* [^"]*"\)$""",
    r"""^\s*return f?"[^"]* [^"]*"$""",
]
"""Lines that are a sentence and nothing else are left alone: the tests assert facts, not wording."""

SHOW = """
import json, sys
from mutmut.__main__ import find_mutant
from mutmut.mutation.diff_apply import get_diff_for_mutant
print(json.dumps([get_diff_for_mutant(name, path=find_mutant(name).path) for name in sys.argv[1:]]))
"""
"""Started once for all that survived: `mutmut show` takes half a second for each."""

SURVIVED, NO_TESTS = 0, 33
KILLED = {1, 36}
"""What tools/mutant_session.py answers; a mutant that no longer ends is noticed as well."""

GENERATE = """
from mutmut import __main__ as mutmut
mutmut.set_mutant_under_test("mutant_generation")
mutmut.makedirs(mutmut.Path("mutants"), exist_ok=True)
mutmut.copy_src_dir()
mutmut.copy_also_copy_files()
mutmut.setup_source_paths()
mutmut.store_lines_covered_by_tests()
mutmut.create_mutants(1)
"""
"""The first half of `mutmut run`."""


def main() -> int:
    """Run what was asked for; ends with 0 when every mutant was tried, whatever became of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="*", metavar="MODULE", help="such as judge/text (default: all)")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="try every Nth mutant only (default: all)")
    asked = parser.parse_args()
    known = modules()
    for name in asked.modules:
        if name not in known:
            parser.error(f"no module {name}; there are {', '.join(known)}")
    # What shares its tests shares a copy and the measuring of the tests.
    groups: dict[tuple[str, ...], list[str]] = {}
    for name in asked.modules or known:
        groups.setdefault(tuple(tests_of(name)), []).append(name)
    missed = []
    for names in groups.values():
        copy = tried(names, asked.every)
        missed += [name for name in names if not report(name, copy, asked.every)]
    for name in missed:
        print(f"{name}: not every mutant was tried")
    return 1 if missed else 0


def modules() -> list[str]:
    """Every module that can be mutated, as `package/module`."""
    source = ROOT / "src" / "plumbline"
    found = (path for package in PACKAGES for path in sorted((source / package).glob("*.py")))
    return ["audit/verdict", *(f"{path.parent.name}/{path.stem}" for path in found if path.stem != "__init__")]


def tried(names: list[str], step: int) -> Path:
    """Try every `step`th mutant of modules with the same tests in a copy of the tree; answers with its folder."""
    copy = WORK / names[0].replace("/", "-")
    shutil.rmtree(copy, ignore_errors=True)
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for entry in tracked.split("\0"):
        if entry and (ROOT / entry).is_file():
            (copy / entry).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / entry, copy / entry)
    (copy / "setup.cfg").write_text("\n".join(settings(names, copy)) + "\n")
    here = copy / "mutants"
    # Some tests start processes of their own, which must find the mutants as well.
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(here / "src"), str(here)]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "OPENBLAS_NUM_THREADS": "1",
        "MUTANT_UNDER_TEST": "",
        "MUTANT_STEP": str(step),
        "MUTANT_RESULTS": os.pathsep.join(str(results_of(name, copy)) for name in names),
    }
    session = ["-m", "pytest", "--rootdir=.", "-q", "-p", "tools.mutant_session", "-p", "no:cacheprovider"]
    with (copy / "log.txt").open("w") as log:
        for folder, arguments in ((copy, ["-c", GENERATE]), (here, [*session, *tests_of(names[0])])):
            subprocess.run(
                [sys.executable, *arguments], cwd=folder, env=environment, check=False, stdout=log, stderr=log
            )
    return copy


def tests_of(name: str) -> list[str]:
    """The tests that should notice a module's mutants."""
    return OWN_TESTS.get(name, [f"tests/{name.partition('/')[0]}"])


def results_of(name: str, copy: Path) -> Path:
    """Where mutmut keeps what became of a module's mutants."""
    return copy / "mutants" / "src" / "plumbline" / f"{name}.py.meta"


def settings(names: list[str], copy: Path) -> Iterator[str]:
    """The lines of mutmut's configuration."""
    lists = {
        "source_paths": ["src"],
        "only_mutate": [f"src/plumbline/{name}.py" for name in names],
        "also_copy": sorted(
            path.name for path in copy.iterdir() if path.is_dir() and path.name not in {"src", "mutants"}
        ),
    }
    lists["do_not_mutate_patterns"] = PROSE
    yield "[mutmut]"
    for key, values in lists.items():
        yield f"{key} ="
        yield from (f"    {value}" for value in values)


def report(name: str, copy: Path, step: int) -> bool:
    """Print what became of a module's mutants; whether every one of them was tried."""
    results = results_of(name, copy)
    if not results.is_file():
        print(f"{name}: mutmut did not get as far as mutants; see {copy.relative_to(ROOT) / 'log.txt'}")
        return False
    codes: dict[str, int | None] = json.loads(results.read_text())["exit_code_by_key"]
    chosen = list(codes)[::step]
    counts = Counter(_fate(codes[mutant]) for mutant in chosen)
    fates = ", ".join(f"{counts[fate]} {fate}" for fate in sorted(counts))
    print(f"{name}: {counts['killed']} of {len(chosen)} killed ({fates}); there are {len(codes)}")
    left = [mutant for mutant, code in codes.items() if code in {SURVIVED, NO_TESTS}]
    shown = subprocess.run([sys.executable, "-c", SHOW, *left], cwd=copy, check=True, capture_output=True, text=True)
    for mutant, difference in zip(left, json.loads(shown.stdout), strict=True):
        print(f"  {mutant.rpartition('.')[2]}: {_fate(codes[mutant])}")
        print("\n".join(f"    {line}" for line in difference.splitlines() if _changed(line)))
    return counts["untried"] == 0 and bool(codes)


def _fate(code: int | None) -> str:
    if code == SURVIVED:
        return "survived"
    if code == NO_TESTS:
        return "in code that no test reaches"
    return "killed" if code in KILLED else "untried"


def _changed(line: str) -> bool:
    return line[:1] in {"+", "-", "@"} and not line.startswith(("+++", "---"))


if __name__ == "__main__":
    sys.exit(main())
