"""docs/suites.md says of every suite what the code does: its floor, its reasons, and nothing that is not there."""

import re
from pathlib import Path

import pytest

from plumbline.suites.base import REASONS
from plumbline.suites.registry import IMPLEMENTED, create

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/suites.md").read_text()
README = (ROOT / "README.md").read_text()
SECTIONS = {part.split("\n")[0]: part for part in PAGE.split("\n## ")[1:]}
HEADINGS = ("Asks", "Scores", "Fails outright", "Reasons", "Cannot see", "To mend")


def test_every_suite_has_a_section_and_no_other_has_one():
    assert [name for name in SECTIONS if name != "What holds of all of them"] == sorted(IMPLEMENTED)


@pytest.mark.parametrize("suite_id", sorted(IMPLEMENTED))
def test_a_section_says_all_of_it(suite_id):
    section = SECTIONS[suite_id]
    assert [section.index(f"* **{heading}**") for heading in HEADINGS] == sorted(
        section.index(f"* **{heading}**") for heading in HEADINGS
    )
    source = (ROOT / f"src/plumbline/suites/{suite_id}.py").read_text()
    told = set(re.findall(r"`([a-z_]+)`", section.split("* **Reasons**")[1].split("* **Cannot see**")[0]))
    assert told - {"citation_validity"} <= set(REASONS)
    # What a suite's own module spells is told; what it takes from a shared module is told as well.
    assert {reason for reason in REASONS if f'"{reason}"' in source} <= told


def test_every_reason_is_told_somewhere():
    told = set(re.findall(r"`([a-z_]+)`", PAGE))
    assert set(REASONS) <= told


@pytest.mark.parametrize("page", [PAGE, README], ids=["suites.md", "README.md"])
@pytest.mark.parametrize("suite_id", sorted(IMPLEMENTED))
def test_tables_name_the_floor(suite_id, page):
    (row,) = [line for line in page.splitlines() if re.match(rf"\| \[?`{suite_id}`", line)]
    assert row.rstrip(" |").split("|")[-1].strip() == f"{float(create(suite_id).default_floor):.2f}"
