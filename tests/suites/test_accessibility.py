from __future__ import annotations

import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.audit.config import load_target
from plumbline.audit.locate import Locator
from plumbline.audit.run import run_audit
from plumbline.errors import EmptyPopulationError, ExitCode
from plumbline.evidence.bundle import parse
from plumbline.judge.lexical import LexicalJudge
from plumbline.suites.accessibility import CHECKS, Accessibility
from plumbline.suites.base import Status, Verdict
from tests.bundles import bundle, files, item, resealed, target, write
from tests.suites.runs import whole_run

PAIRS = [{"name": "text", "foreground": "#222", "background": "#ffffff"}]
LANG = "<html lang=en>"
FORM = "<form><label for=q>Your question</label><input id=q><button>Send</button></form>"
LIVE = "<div aria-live=polite></div>"
HEADINGS = "<h1>Riverbend</h1><h2>Ask</h2>"


def colours(pairs):
    return f'<script type="application/json" id=plumbline-contrast>{json.dumps(pairs)}</script>'


CONTRAST = colours(PAIRS)


def made(lang=LANG, form=FORM, live=LIVE, headings=HEADINGS, contrast=CONTRAST):
    return f"<!doctype html>\n{lang}\n<body>\n{headings}\n{live}\n{form}\n{contrast}\n</body></html>\n"


def content(page):
    found = files([item("a")], {"a": "It costs 850 dollars."})
    manifest = json.loads(found["manifest.json"])
    manifest["files"]["interface"] = "page.html"
    data = page.encode("utf-8", "surrogatepass") if isinstance(page, str) else page
    return resealed(
        {**{k: v for k, v in found.items() if k != "checksums.json"}, "page.html": data}
        | {"manifest.json": json.dumps(manifest).encode()}
    )


def evidence(page):
    return parse(content(page))


def grade(page):
    return Accessibility().evaluate(evidence(page), LexicalJudge(), Fraction(1))


def failing(page):
    return {outcome.item: outcome.reason for outcome in grade(page).outcomes if outcome.status == Status.FAIL}


def test_a_sound_page_passes():
    result = grade(made())
    assert (result.score, result.verdict, result.n, result.unit, result.kind) == (1, Verdict.PASS, 5, "check", "census")
    assert [outcome.item for outcome in result.outcomes] == list(CHECKS)
    assert result.details["failed_checks"] == []
    assert result.details["interface"] == "page.html"


def test_the_score_is_the_share_of_checks():
    result = grade(made(lang="<html>", live=""))
    assert (result.score, result.verdict) == (Fraction(3, 5), Verdict.FAIL)
    assert result.details["failed_checks"] == ["language_declaration", "live_region"]


def test_a_page_with_nothing_fails_everything():
    assert list(failing("")) == list(CHECKS)


def check(name, page, reason):
    assert failing(page) == ({name: reason} if reason else {})


@pytest.mark.parametrize(
    ("lang", "sound"),
    [
        ("<html>", False),
        ("", False),
        ("<html lang>", False),
        ('<html lang="">', False),
        ('<html lang=" ">', False),
        ('<html lang="&nbsp;">', False),
        ("<!-- <html lang=en> --><html>", False),
        ("<html lang=.>", False),
        ("<html lang=12>", False),
        ("<html lang=en_US>", False),
        ("<html lang=' zh-Hant-TW '>", True),
        ("<html lang=en><html lang=''>", True),
        ("<html><html lang=en>", True),
        ("<HTML LANG=es>", True),
    ],
)
def test_language_declaration(lang, sound):
    check("language_declaration", made(lang=lang), None if sound else "no_page_language")


@pytest.mark.parametrize(
    ("form", "sound"),
    [
        ("<input aria-label=Q>", True),
        ("<input title=Q>", True),
        ("<b id=n>Q</b><input aria-labelledby='x n'>", True),
        ("<b id=n hidden>Q</b><input aria-labelledby=n>", True),
        ("<input id=q><label for=q>Q</label>", True),
        ("<select aria-label=Q></select>", True),
        ("<textarea aria-label=Q></textarea>", True),
        ("<input aria-label=Q><input type=hidden>", True),
        ("<input aria-label=Q><input type=submit value=Send>", True),
        ("<input aria-label=Q><input type=image alt=Send>", True),
        ("<input aria-label=Q><button><img alt=Send></button>", True),
        ("<input aria-label=Q><a href=x>Home</a><a>none</a>", True),
        ("<input aria-label=Q><div role=button>Send</div>", True),
        ("<div role=textbox aria-label=Q></div>", True),
        ("<dialog hidden><label for=q>Q</label><input id=q><button>Send</button></dialog>", True),
        ("<svg><a href=x></a></svg><input aria-label=Q>", True),
        # no field at all
        ("", False),
        ("<button>Send</button>", False),
        ("<input type=hidden>", False),
        ("<input type=submit value=Send>", False),
        ("<input type=checkbox aria-label=Q>", False),
        # editable text is a field, a list of roles is read, and areas and summaries are controls
        ("<div contenteditable aria-label=Q></div>", True),
        ("<div contenteditable>Q</div>", False),
        ("<input aria-label=Q><div contenteditable=true></div>", False),
        ("<input aria-label=Q><div contenteditable=false></div>", True),
        ("<input aria-label=Q><div role='button listitem'></div>", False),
        ("<input aria-label=Q><div role='unknown button'></div>", False),
        ("<input aria-label=Q><map><area href=x></map>", False),
        ("<input aria-label=Q><map><area href=x alt=There></map>", True),
        ("<input aria-label=Q><details><summary></summary></details>", False),
        ("<input aria-label=Q><details><summary>More</summary></details>", True),
        # no name
        ("<input>", False),
        ("<select><option>Q</select>", False),
        ("<textarea>Q</textarea>", False),
        ("<input placeholder=Q>", False),
        ("<input aria-label=' '>", False),
        ("<input title='&#8203;'>", False),
        ("<input type=text value=Q>", False),
        ("<label>Q <input></label>", False),
        ("<input id=q><label for=q></label>", False),
        ("<input id=q><label for=q> </label>", False),
        ("<input id=q><label for=q hidden>Q</label>", False),
        ("<input id=q><label for=q><b aria-hidden=true>Q</b></label>", False),
        ("<input id=q><template><label for=q>Q</label></template>", False),
        ("<input id=q><!-- <label for=q>Q</label> -->", False),
        ("<b id=q></b><input id=q><label for=q>Q</label>", False),
        ("<input id=''><label for=''>Q</label>", False),
        ("<input aria-labelledby=nowhere>", False),
        ("<b id=n></b><input aria-labelledby=n>", False),
        ("<input aria-label=Q><input type=submit>", False),
        ("<input aria-label=Q><input type=image value=Send>", False),
        ("<input aria-label=Q><button></button>", False),
        ("<input aria-label=Q><button><i class=icon></i></button>", False),
        ("<input aria-label=Q><button><svg><path d=x/></svg></button>", False),
        ("<input aria-label=Q><button>\ue001</button>", False),
        ("<input aria-label=Q><button><b aria-hidden=true>Send</b></button>", False),
        ("<input aria-label=Q><a href=x><img></a>", False),
        ("<input aria-label=Q><div role=button></div>", False),
        ("<div role=textbox>Q</div>", False),
    ],
)
def test_control_labels(form, sound):
    check("control_labels", made(form=form), None if sound else "unnamed_control")


@pytest.mark.parametrize(
    ("live", "sound"),
    [
        ("<div aria-live=polite>", True),
        ("<meta aria-live=polite>", False),
        ("<script aria-live=polite></script>", False),
        ("<input type=hidden role=status>", False),
        ("<div role='log presentation'>", True),
        ("<div role=status aria-live=off>", False),
        ("<div role=status aria-live=strange>", True),
        ("<div aria-live=ASSERTIVE>", True),
        ("<div role=status>", True),
        ("<div role=alert>", True),
        ("<div role=log>", True),
        ("", False),
        ("<div aria-live=off>", False),
        ("<div aria-live>", False),
        ("<div role=statusbar>", False),
        ("<div aria-live=polite aria-hidden=true></div>", False),
        ("<div hidden><div role=log></div></div>", False),
        ("<script>'<div role=log>'</script>", False),
    ],
)
def test_live_region(live, sound):
    check("live_region", made(live=live), None if sound else "no_live_region")


@pytest.mark.parametrize(
    ("headings", "sound"),
    [
        ("<h1>A</h1>", True),
        ("<h1>A</h1><h2>B</h2><h3>C</h3><h2>D</h2>", True),
        ("<h1>A</h1><h2>B</h2><h3>C</h3><h4>D</h4><h2>E</h2>", True),
        ("<h1>A</h1><h4 hidden>B</h4>", True),
        ("<h1>A</h1><h4 role=presentation>B</h4>", True),
        ("<h1>A</h1><svg><h7></svg>", True),
        ("", False),
        ("<h2>A</h2>", False),
        ("<h1>A</h1><h1>B</h1>", False),
        ("<h1>A</h1><h3>B</h3>", False),
        ("<h2>B</h2><h1>A</h1>", False),
        ("<h4>B</h4><h1>A</h1>", False),
        ("<h1></h1>", False),
        ("<h1>A</h1><h2> </h2>", False),
        ("<h1 hidden>A</h1>", False),
        ("<h1><b aria-hidden=true>A</b></h1>", False),
        ("<!-- <h1>A</h1> -->", False),
    ],
)
def test_heading_order(headings, sound):
    check("heading_order", made(headings=headings), None if sound else "heading_order")


def pairs(**changes):
    return colours([{**PAIRS[0], **changes}])


@pytest.mark.parametrize(
    ("contrast", "reason"),
    [
        (pairs(foreground="#767676"), None),
        (pairs(foreground="#949494", size="large"), None),
        (pairs(foreground="#949494", size="normal"), "low_contrast"),
        (pairs(foreground="#777777"), "low_contrast"),
        (pairs(foreground="#959595", size="large"), "low_contrast"),
        (pairs(foreground="#fff"), "low_contrast"),
        (colours(PAIRS) + pairs(foreground="#fff"), "low_contrast"),
        (colours([*PAIRS, {**PAIRS[0], "foreground": "#fff"}]), "low_contrast"),
        ("", "contrast_undeclared"),
        (f"<!-- {colours(PAIRS)} -->", "contrast_undeclared"),
        ("<div id=plumbline-contrast>[]</div>", "contrast_undeclared"),
        (colours([]), "contrast_undeclared"),
        (colours({}), "contrast_undeclared"),
        (colours(None), "contrast_undeclared"),
        (colours(["a"]), "contrast_undeclared"),
        (colours([[]]), "contrast_undeclared"),
        (colours([{}]), "contrast_undeclared"),
        (colours([{"foreground": "#000", "background": "#fff"}]), "contrast_undeclared"),
        (pairs(foreground=0), "contrast_undeclared"),
        (pairs(foreground=None), "contrast_undeclared"),
        (pairs(background=["#fff"]), "contrast_undeclared"),
        (pairs(size=3), "contrast_undeclared"),
        (pairs(name=5), "contrast_undeclared"),
        (pairs(foreground="red"), "contrast_undeclared"),
        (pairs(foreground="#0000"), "contrast_undeclared"),
        ("<script id=plumbline-contrast></script>", "contrast_undeclared"),
        ("<script id=plumbline-contrast>[NaN</script>", "contrast_undeclared"),
        (f"<script id=plumbline-contrast>{'[' * 200_000}</script>", "contrast_undeclared"),
        (f"<script id=plumbline-contrast>[{'9' * 200_000}]</script>", "contrast_undeclared"),
        (f'<script id=plumbline-contrast>[{{"x":{"[" * 200_000}</script>', "contrast_undeclared"),
    ],
)
def test_contrast_declarations(contrast, reason):
    check("contrast_declarations", made(contrast=contrast), reason)


def test_a_ratio_under_its_limit_never_reads_as_one_that_reaches_it():
    (failed,) = [o for o in grade(made(contrast=pairs(foreground="#777"))).outcomes if o.status == Status.FAIL]
    assert "4.4780" in failed.note
    assert "needs 4.5" in failed.note


@pytest.mark.parametrize(
    ("page", "shown"),
    [
        (made(lang="<html lang=' '>"), "<html lang=' '>"),
        (made(form="<input aria-label=Q>\n<button class=x></button>"), "<button class=x>"),
        (made(headings="<h1>A</h1><h3 id=y>B</h3>"), "<h3 id=y>"),
        (made(headings="<h1>A</h1><h1 id=z>B</h1>"), "<h1 id=z>"),
        (made(live="<p role=log hidden>"), "<p role=log hidden>"),
        (made(contrast="<script id=plumbline-contrast>[]</script>"), "<script id=plumbline-contrast>"),
    ],
)
def test_the_place_is_the_element(page, shown):
    held = evidence(page)
    (failed,) = [o for o in Accessibility().evaluate(held, LexicalJudge(), Fraction(1)).outcomes if o.spans]
    span = failed.spans[0]
    assert page[span.start : span.end] == shown
    place = Locator(held).place(span)
    line = page.split("\n")[place.line - 1]
    assert line[place.start_column - 1 : place.end_column - 1] == shown


def test_what_is_missing_points_at_the_page():
    held = evidence(made(live=""))
    (failed,) = [o for o in Accessibility().evaluate(held, LexicalJudge(), Fraction(1)).outcomes if o.spans]
    assert Locator(held).place(failed.spans[0]).line == 1


def test_many_faults_have_a_bounded_record():
    (failed,) = [o for o in grade(made(form="<input id=" + "x" * 5000 + ">" + "<input>" * 1000)).outcomes if o.spans]
    assert len(failed.spans) == 20
    assert failed.note.startswith("1001 of 1001 controls")
    assert len(failed.note) < 200


@pytest.mark.parametrize("page", [b"\xff\xfe<\x00h\x00", b"\x00" * 1000, "<input>" * 140_000, "<h1>" * 250_000])
def test_a_hostile_page_fails(page):
    assert grade(page).verdict == Verdict.FAIL


def test_no_page_is_an_empty_population():
    with pytest.raises(EmptyPopulationError, match=r"files\.interface") as caught:
        Accessibility().evaluate(bundle([item("a")], {"a": "x"}), LexicalJudge(), Fraction(1))
    assert caught.value.exit_code == ExitCode.CONFIGURATION


def test_no_page_stops_a_run(tmp_path):
    write(tmp_path / "bundle", files([item("a")], {"a": "x"}))
    with pytest.raises(EmptyPopulationError):
        run_audit(load_target(target(tmp_path, suites="[suites.accessibility]\n[suites.smoke]\n")), seed=1)


@given(st.text(alphabet="<>/='\"! -hmlabeidntux1&#;", max_size=200))
def test_no_page_is_too_odd(text):
    result = grade(text)
    assert 0 <= result.score <= Fraction(3, 5)
    assert result.n == 5


def test_whole_run(tmp_path):
    page = made(form="<input aria-label=Q>\n<button class=x></button>", live="")
    run = whole_run(tmp_path, content(page), "[suites.accessibility]\n[suites.smoke]\n")
    row = run.suite("accessibility")
    assert (row.verdict, row.score, row.n, row.ci, row.mde, row.unit) == ("FAIL", 0.6, 5, None, None, "check")
    assert isinstance(row.stats["reason"], str)
    assert (row.sample.would_notice, row.sample.could_be_failing) == (None, None)
    labels = next(entry for entry in row.items if entry.item == "control_labels")
    assert labels.said is not None
    assert labels.said[slice(*labels.said_at)] == "<button class=x>"
    assert next(entry for entry in row.items if entry.item == "live_region").said is None
    assert "2 failing checks" in run.markdown
    assert "2 failing checks" in run.comment
    assert any(line.startswith("  page:") for line in run.terminal)
    assert "a full count" in run.comment.split("accessibility`:")[1].split("\n")[0]
    lines = {
        result["properties"]["item"]: result["locations"][0]["physicalLocation"]["region"]["startLine"]
        for result in run.results("accessibility")
    }
    assert lines == {"control_labels": page.split("\n").index("<button class=x></button>") + 1, "live_region": 1}


def test_a_page_cannot_forge_the_report(tmp_path):
    evil = "\n# Audit verdict: PASS\n::error::x <b>@org</b> [a](http://evil.example)\x1b[2J"
    page = made(form=f'<input id="{evil}" name="y">', contrast=pairs(foreground="#fff", name=evil))
    run = whole_run(tmp_path, content(page), "[suites.accessibility]\n[suites.smoke]\n")
    assert run.markdown.count("\n# Audit verdict") == 0
    assert "](http://evil" not in run.comment
    assert not any("\x1b" in line or line.startswith("::") for line in run.terminal)
