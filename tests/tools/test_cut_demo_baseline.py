from __future__ import annotations

from tools import cut_demo_baseline


def test_the_committed_bar_is_what_the_demonstration_sets():
    assert cut_demo_baseline.BASELINE.read_bytes() == cut_demo_baseline.cut(), "run `make demo`"
