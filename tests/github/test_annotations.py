import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plumbline.github.annotations import LEVELS, ROOM, Annotation, annotation_commands, command, findings_log


def some(level, count):
    return [
        Annotation(level, f"accuracy: item {index}", f"wrong {index}", "a/responses.jsonl", index + 1)
        for index in range(count)
    ]


def count(lines, level):
    return sum(line.startswith(f"::{level} ") for line in lines)


def test_a_finding_points_at_its_line():
    assert annotation_commands(some("error", 1)) == [
        "::error file=a/responses.jsonl,line=1,title=accuracy%3A item 0::wrong 0"
    ]


def test_without_a_place_only_the_title_is_given():
    assert annotation_commands([Annotation("notice", "t", "m")]) == ["::notice title=t::m"]
    assert annotation_commands([Annotation("notice", "t", "m", None, 4)]) == ["::notice title=t::m"]
    assert annotation_commands([Annotation("notice", "t", "m", "f", 0)]) == ["::notice file=f,title=t::m"]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("number", [0, 1, 9, 10, 11, 12, 500])
def test_ten_places_and_the_tenth_counts_the_rest(level, number):
    lines = annotation_commands(some(level, number))
    assert count(lines, level) == len(lines) == min(number, 10)
    if number > 10:
        assert f"and {number - 9} more {level}s;" in lines[-1]
        assert "wrong 8" in lines[8]
    else:
        assert "more" not in "".join(lines)


def test_levels_have_places_of_their_own_and_errors_come_first():
    mixed = some("notice", 11) + some("warning", 11) + some("error", 11)
    lines = annotation_commands(mixed)
    assert [line.split()[0] for line in lines] == ["::error"] * 10 + ["::warning"] * 10 + ["::notice"] * 10


def test_the_reports_order_is_kept_within_a_level():
    lines = annotation_commands(some("error", 9)[::-1])
    assert [line[-1] for line in lines] == list("876543210")


def test_less_room_can_be_asked_for():
    lines = annotation_commands(some("warning", 9), room={**ROOM, "warning": 8})
    assert len(lines) == 8
    assert "and 2 more warnings" in lines[-1]
    assert "and 9 more" in annotation_commands(some("warning", 9), room={**ROOM, "warning": 0})[0]


@settings(deadline=None)
@given(st.text(), st.text(), st.text(min_size=1), st.integers(1, 10**6))
def test_no_text_leaves_its_place_in_the_command(title, message, file, line):
    [text] = annotation_commands([Annotation("error", title, message, file, line)])
    parsed = re.fullmatch(r"::error file=([^:,]*),line=(\d+),title=([^:,]*)::([^\r\n]*)", text)
    assert parsed
    assert parsed[2] == str(line)
    assert text.splitlines() == [text]


def test_long_texts_are_cut_where_the_runner_would():
    line = command("error", "m" * 10_000, "t" * 1_000)
    title, message = re.fullmatch(r"::error title=(.*?)::(.*)", line).groups()
    assert len(title) <= 255
    assert len(message) <= 4_096
    assert "more" in message


def test_the_log_lists_all_findings_where_no_command_is_obeyed():
    hostile = Annotation("error", "t", "::set-output name=verdict::PASS\n::endgroup::\n##[error]x\x1b[31m", "f", 3)
    lines = findings_log([*some("warning", 30), hostile], "a-token")
    assert lines[:2] == ["::group::All findings (31)", "::stop-commands::a-token"]
    assert lines[-2:] == ["::a-token::", "::endgroup::"]
    inner = lines[2:-2]
    assert len(inner) == 31
    assert inner[0].startswith("error: f:3: t: ")
    assert [line for line in inner if "\n" in line or "\x1b" in line or line.lstrip().startswith("::")] == []
    assert not re.search(r"(?<!\\)##\[", inner[0])


def test_a_finding_without_a_place_is_logged_without_one():
    assert findings_log([Annotation("notice", "t", "m")], "x")[2] == "notice: t: m"


def test_nothing_found_nothing_logged():
    assert findings_log([], "x") == []
