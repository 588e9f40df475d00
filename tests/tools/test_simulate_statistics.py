"""Do the intervals hold what the committed proof says they do?"""

import pytest

from plumbline.statistics.bounds import Bounds
from tools import simulate_statistics as tool

ROWS = set(tool.PROOF.read_text(encoding="utf-8").splitlines())
HARD = 93
"""Percent: the coverage that no cell may be below."""


@pytest.mark.parametrize(
    ("cells", "form"),
    [
        (tool.coverage, "{:.1f} / {:.1f}"),
        (tool.power, "{:.1f} ({:.3f}) / {:.1f}"),
        (tool.gaps, None),
    ],
)
def test_the_smallest_designs_are_counted_anew(cells, form):
    # Every cell has its own random numbers, so a part of the grid must give the lines of the whole.
    rows = cells(counts=(20,))
    assert rows
    for row in rows:
        mine = form or ("{:.1f} / {:.1f} ({:.3f})" if len(row.cells[0]) > 1 else "{:.1f}")
        assert tool.line(row, mine) in ROWS, "run `python -m tools.simulate_statistics`"


def test_the_proof_claims_no_less_than_it_shows():
    text = tool.PROOF.read_text(encoding="utf-8")
    shares, powers = [], []
    for section in text.split("## ")[1:]:
        designs = 3 if section.startswith("Coverage") else 2
        for line in section.splitlines():
            cells = line.strip("| ").split(" | ")
            if cells[0].isdigit():
                found = powers if section.startswith("Power") else shares
                found += [float(cell.split(" ")[0]) for cell in cells[designs:]]
    assert len(shares) > 200
    assert min(shares) >= HARD
    # Four times in five, within three points and the noise of a simulation; more where little is known.
    assert min(powers) >= 75


def test_the_twin_is_held_to_the_real_thing(monkeypatch):
    monkeypatch.setattr(tool, "bounds", lambda _: Bounds(0.1, 0.2))
    with pytest.raises(SystemExit, match="the vector twin says"):
        tool.coverage(samples=5, counts=(20,))
