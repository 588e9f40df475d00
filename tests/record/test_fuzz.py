"""Whatever a configuration or a journal holds, reading it ends with a refusal or with none, and never with a crash."""

from __future__ import annotations

import datetime as dt
import os
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from plumbline.errors import ConfigurationError
from plumbline.record.adapters.base import Question
from plumbline.record.config import _resolved
from plumbline.record.journal import Entry, Journal
from plumbline.record.template import Template
from tests.record.test_resume import header

WORDS = ["", "{prompt}", "{x}", "$.a", "a..b", "echo", "\0", "NAME", "json", "lines"]
TEXT = st.text(max_size=8) | st.sampled_from(WORDS)
SCALAR = st.none() | st.booleans() | st.integers() | st.floats() | TEXT | st.dates() | st.datetimes()
VALUE = st.recursive(
    SCALAR, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3), max_leaves=5
)
GOOD = {
    "kind": "subprocess",
    "questions": "q",
    "command": ["echo", "{prompt}"],
    "workdir": ".",
    "env": {"A": {"env": "NAME"}},
    "mode": "once",
    "input": "json",
    "stdin": {"q": "{prompt}"},
    "output": "json",
    "response_pointer": "a",
    "citations_pointer": "$.c",
    "timeout_seconds": 1.0,
    "max_output_bytes": 10,
    "max_items": 3,
    "on_error": "abort",
}


@given(st.sampled_from(sorted(GOOD)), VALUE, st.dictionaries(TEXT, VALUE, max_size=2))
@settings(max_examples=300, deadline=None)
def test_an_adapter_table(key, value, more):
    table = {"target": {"name": "t"}, "adapter": {**GOOD, **more, key: value}}
    environ = {"PATH": os.environ["PATH"], "NAME": "a-secret"}
    try:
        config = _resolved(Path(tempfile.gettempdir()) / "t.toml", table, environ, None, dt.date(2026, 1, 1))
        adapter = config.adapter(environ)
    except ConfigurationError as fault:
        assert "a-secret" not in fault.message
        return
    assert adapter.describe()["request_sha256"]
    if key != "env":
        assert "a-secret" not in adapter.preview(Question("i", "en", "a-secret"))


@given(st.dictionaries(st.sampled_from(["authorised_by", "authorised_on", "environment", "scope", "x"]), VALUE))
@settings(max_examples=200, deadline=None)
def test_an_authorisation_table(table):
    tables = {"target": {"name": "t"}, "adapter": GOOD, "authorisation": table}
    try:
        found = _resolved(Path("t.toml"), tables, {}, None, dt.date(2026, 1, 1)).authorisation
    except ConfigurationError as fault:
        assert "authorisation" in fault.message
    else:
        assert found is not None


@given(VALUE)
def test_a_template(source):
    try:
        template = Template(source, key="k")
    except ConfigurationError as fault:
        assert fault.message.startswith("k")
    else:
        template.render(dict.fromkeys(template.names, "x"))


@given(st.binary(max_size=60), st.integers(0, 1000))
@settings(deadline=None)
def test_a_journal(junk, cut):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "j"
        with Journal.create(path, header()) as journal:
            journal.append([Entry(position=n, id=f"q{n}", number=1, response="x", calls=1) for n in range(3)])
        data = path.read_bytes()
        cut = min(cut, len(data))
        path.write_bytes(data[:cut] + junk)
        try:
            found = Journal.reopen(path)
        except ConfigurationError as fault:
            assert "j:" in fault.message
            return
        if found is not None:
            with found:
                # What was whole is there, and what comes next is written after it.
                whole = data[:cut].count(b"\n") - 1
                assert len(found) >= whole
                if (9, 1) not in found:
                    found.append([Entry(position=9, id="q9", number=1, response="next", calls=1)])
                    assert found.entry(9, 1).response == "next"
            with Journal.reopen(path) as again:
                assert (9, 1) in again
