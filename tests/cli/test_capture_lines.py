"""What a capture found is said in words that fit the number."""

from pathlib import Path

import pytest

from plumbline.capture.contrast import Contrast
from plumbline.capture.page import Rendering
from plumbline.cli import capture


@pytest.mark.parametrize(("number", "texts", "rules"), [(1, "1 text", "1 rule"), (2, "2 texts", "2 rules")])
def test_one_text_is_no_texts(number, texts, rules, capsys):
    contrast = Contrast(pairs=[{}] * number, texts=number, unknown={"a frame": number}, disabled=0)
    shown = Rendering(
        html="",
        axe={"violations": [{}] * number},
        contrast=contrast,
        browser="a browser",
        refused=number,
        own_blocks=0,
    )
    capture._tell(Path("folder"), shown, None, "0" * 64)
    told = capsys.readouterr()
    assert f"{texts} without a pair: a frame" in told.out
    assert f"of {texts}\n" in told.out
    assert f"({rules} violated, 0 undecided)" in told.out
    assert f"refused: {number};" in told.err
