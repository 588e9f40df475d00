import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plumbline.errors import InternalError
from plumbline.github.outputs import random_word, write_outputs, write_summary


def as_the_runner_reads(text):
    """The documented file format: a name, a delimiter, lines, the delimiter alone on its line."""
    values, lines = {}, text.split("\n")
    assert lines.pop() == ""
    while lines:
        name, delimiter = re.fullmatch(r"([^=<]+)<<(.+)", lines.pop(0)).groups()
        end = lines.index(delimiter)
        values[name] = "\n".join(lines[:end])
        lines = lines[end + 1 :]
    return values


@settings(deadline=None)
@given(st.dictionaries(st.from_regex(r"\A[a-z][a-z-]{0,9}\Z"), st.text(st.characters(exclude_categories=("Cs",)))))
def test_every_value_comes_back_as_it_was(tmp_path_factory, values):
    path = tmp_path_factory.mktemp("out") / "output"
    write_outputs(path, values)
    if values:
        assert as_the_runner_reads(path.read_bytes().decode()) == values


def test_a_value_cannot_become_an_output(tmp_path):
    path = tmp_path / "output"
    write_outputs(path, {"reason": "x\nverdict=PASS\nverdict<<EOF\nPASS\nEOF\n", "verdict": "FAIL"})
    assert as_the_runner_reads(path.read_text("utf-8"))["verdict"] == "FAIL"


def test_what_the_file_holds_stays(tmp_path):
    path = tmp_path / "output"
    write_outputs(path, {"a": "1"})
    write_outputs(path, {"b": "2"})
    assert as_the_runner_reads(path.read_text("utf-8")) == {"a": "1", "b": "2"}


@pytest.mark.parametrize("value", ["guess", "x guess y", "a\nguess\nverdict<<E"])
def test_a_value_that_holds_its_delimiter_is_refused(tmp_path, value):
    path = tmp_path / "output"
    with pytest.raises(InternalError, match="reason"):
        write_outputs(path, {"verdict": "FAIL", "reason": value}, word=lambda: "guess")
    assert not path.exists()


@pytest.mark.parametrize("name", ["", "a b", "a=b", "a\nb", "1a", "a<<b"])
def test_a_name_that_is_none_is_refused(tmp_path, name):
    with pytest.raises(InternalError):
        write_outputs(tmp_path / "output", {name: "x"})


def test_no_two_words_are_alike():
    assert len({random_word() for _ in range(100)}) == 100


def test_the_first_summary_that_fits_is_written_whole(tmp_path):
    path = tmp_path / "summary"
    # Two bytes a character.
    long, short = "\N{LATIN SMALL LETTER E WITH ACUTE}" * 51, "short"
    result = write_summary(path, iter([long, short]), budget=100)
    assert (result.status, result.reason) == ("written", "shortened to fit")
    assert path.read_text("utf-8") == "short\n"


def test_the_budget_is_exact_and_counts_what_is_there(tmp_path):
    path = tmp_path / "summary"
    assert write_summary(path, ["x" * 59 + "\n"], budget=100).status == "written"
    assert write_summary(path, ["x" * 40], budget=100).status == "failed"
    result = write_summary(path, ["x" * 39], budget=100)
    assert (result.status, result.reason) == ("written", "")
    assert path.stat().st_size == 100


def test_a_summary_that_never_fits_is_a_status(tmp_path):
    path = tmp_path / "summary"
    result = write_summary(path, ["x" * 200, "y" * 150], budget=100)
    assert result.status == "failed"
    assert "100" in result.reason
    assert not path.exists()
    path.write_bytes(b"x" * 200)
    assert "0 bytes" in write_summary(path, ["y"], budget=100).reason


def test_a_summary_of_twenty_thousand_items_stays_below_one_mebibyte(tmp_path):
    path = tmp_path / "summary"
    rows = ["| item | row |\n" * number for number in (200_000, 20_000, 10)]
    assert write_summary(path, rows).status == "written"
    assert path.stat().st_size == 20_000 * len("| item | row |\n")


def test_a_place_that_cannot_be_written_is_a_status(tmp_path):
    assert write_summary(tmp_path, ["x"]).status == "failed"


def test_a_rendering_that_fails_is_a_status(tmp_path):
    def texts():
        yield 1 / 0

    assert write_summary(tmp_path / "summary", texts()).status == "failed"


def test_half_a_character_does_no_harm(tmp_path):
    write_outputs(tmp_path / "output", {"a": "\ud800"})
    assert write_summary(tmp_path / "summary", ["\ud800"]).status == "written"
