"""Do tables and chats import, and does hostile content end in exit 4 with a place?"""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from plumbline.cli import main as cli
from plumbline.errors import ConfigurationError, ExitCode
from plumbline.evidence.bundle import load
from plumbline.importers.assemble import Choices, assemble
from plumbline.importers.base import Origin
from plumbline.importers.mapping import leaves, value_at
from plumbline.importers.ragas import literal
from plumbline.importers.registry import KINDS, importer

STATED = ("--lang", "en", "--behavior", "answer")
MAPPED = ("--map", "prompt=Question", "--map", "response=Answer", "--map", "expected=Reference")


@pytest.fixture
def place(tmp_path, capsys):
    class Place:
        out = tmp_path / "b"

        def run(self, kind, data, *options):
            path = tmp_path / {"csv": "t.csv", "chat": "c.jsonl", "ragas": "r.csv", "deepeval": "d.json"}[kind]
            path.write_bytes(data if isinstance(data, bytes) else data.encode())
            return cli.main(["import", kind, str(path), "--out", str(self.out), *options])

        def refused(self, kind, data, *options):
            assert self.run(kind, data, *options) == ExitCode.CONFIGURATION
            assert not self.out.exists()
            return capsys.readouterr().err

        def bundle(self, kind, data, *options):
            assert self.run(kind, data, *options) == ExitCode.PASS, capsys.readouterr().err
            return load(self.out)

    return Place()


class TestTable:
    def test_columns_by_name_and_by_map(self, place):
        table = (
            "\ufeffQuestion,Answer,Reference,lang,Kind,load_bearing,Passages,note\r\n"
            '"How\nmuch?",12,"It costs 12.",de,answer,true,"[""One."", ""Two.""]",n\r\n'
            "\r\n"
            "Will I win?,,,en,refuse,,[1] A passage.,\r\n"
        )
        bundle = place.bundle("csv", table, *MAPPED, "--map", "behavior=Kind", "--map", "retrieved=Passages")
        one, two = bundle.items
        assert (one.prompt, one.lang, one.load_bearing, one.expected) == ("How\nmuch?", "de", True, "It costs 12.")
        assert [bundle.sources[identity].text for identity in (*one.sources, *two.sources)] == [
            "One.",
            "Two.",
            "[1] A passage.",
        ]
        assert [bundle.responses[item.id].response for item in bundle.items] == ["12", None]
        assert bundle.manifest.recording["import"]["unmapped"] == {"note": 1}

    def test_without_answers_it_is_a_question_set(self, place):
        assert place.bundle("csv", "prompt,expected\nWhat?,That.\n", *STATED).responses is None

    def test_an_error_column_silences(self, place):
        table = "prompt,expected,response,error\nA?,a,something,429\nB?,b,said,\n"
        bundle = place.bundle("csv", table, *STATED)
        assert [bundle.responses[item.id].response for item in bundle.items] == [None, "said"]

    def test_all_that_is_missing_is_listed_at_once(self, place):
        told = place.refused("csv", "prompt,expected,response\nA?,,x\n,b,y\n", "--behavior", "answer")
        assert "lang: missing in 2 of 2 rows (t.csv:2, t.csv:3)" in told
        assert "expected: missing in 1 of 2 rows (t.csv:2)" in told
        assert "prompt: missing in 1 of 2 rows (t.csv:3)" in told

    @pytest.mark.parametrize(
        ("table", "told"),
        [
            ("", "t.csv: it is empty"),
            ("prompt,prompt\n", "t.csv:1: the column 'prompt' stands twice"),
            ("prompt,\n", "t.csv:1: a column without a name"),
            ("prompt\n", "t.csv: it holds no question"),
            ("prompt,expected\nA?\n", "t.csv:2: 1 cells"),
            ('prompt,expected\n"A?,b\n', "t.csv:2: not valid CSV"),
            (b"prompt\nA\xff\n", "t.csv:2: not UTF-8"),
            ("prompt,expected\nA\0?,b\n", "t.csv:2"),
            ("prompt,expected,id\nA?,b,x\nB?,c,x\n", "t.csv:3: the id 'x' stands already at t.csv:2"),
            ("prompt,expected,id\nA?,b,x\nA?,b,x\n", "t.csv:3: the id 'x' stands already at t.csv:2"),
            ("prompt,expected\nA?,b\nA?,c\n", "t.csv:3: the same question stands already at t.csv:2"),
            ("prompt,expected,id\nA?,b,x\u202ey\n", "t.csv:2: id"),
            ("prompt,expected,behavior\nA?,b,maybe\n", "t.csv:2: behavior: 'maybe'"),
            ("prompt,expected,load_bearing\nA?,b,perhaps\n", "t.csv:2: load_bearing"),
            ('prompt,expected,forbidden\nA?,b,"["" ""]"\n', "t.csv:2: forbidden[0]"),
            ('prompt,expected,forbidden\nA?,b,"[""x\\ud800""]"\n', "t.csv:2: forbidden[0]: half of a surrogate"),
            ("prompt,expected\n" + "a" * (17 * 2**20) + ",b\n", "t.csv:2: not valid CSV"),
        ],
    )
    def test_what_is_refused(self, table, told, place):
        assert told in place.refused("csv", table, *STATED)

    def test_the_same_question_asked_twice_is_two_passes(self, place):
        bundle = place.bundle("csv", "prompt,expected,response\nA?,b,one\nA?,b,two\n", *STATED)
        assert bundle.responses[bundle.items[0].id].passes == ["one", "two"]

    def test_ids_follow_from_the_question_alone(self, place, tmp_path):
        first = place.bundle("csv", "prompt,expected\nA?,b\nB?,c\n", *STATED)
        place.out = tmp_path / "c"
        assert [item.id for item in place.bundle("csv", "prompt,expected\nB?,x\n", *STATED).items] == [
            first.items[1].id
        ]

    @pytest.mark.parametrize(
        "words",
        [("--map", "prompt"), ("--map", "prompt="), ("--map", "answer=x"), ("--name", " "), ("--lang", "e\nn")],
    )
    def test_usage(self, words, place):
        with pytest.raises(SystemExit) as leaving:
            place.run("csv", "prompt\nA?\n", *words)
        assert leaving.value.code == ExitCode.USAGE

    def test_a_map_that_names_nothing(self, place):
        told = place.refused("csv", "Question,expected\nA?,b\n", *STATED, "--map", "prompt=Qestion")
        assert "--map prompt='Qestion'" in told
        assert "did you mean 'Question'?" in told

    def test_a_field_mapped_twice(self, place):
        words = ("--map", "prompt=a", "--map", "prompt=b")
        assert "named twice" in place.refused("csv", "a,b\nc,d\n", *words)

    def test_only_where_there_is_one_target(self, place):
        assert "--only 'x'" in place.refused("csv", "prompt,expected\nA?,b\n", *STATED, "--only", "x")

    def test_nothing_is_written_over_anything(self, place):
        for make in (place.out.mkdir, lambda: place.out.symlink_to("nowhere"), place.out.touch):
            make()
            assert place.run("csv", "prompt,expected\nA?,b\n", *STATED) == ExitCode.CONFIGURATION
            place.out.rmdir() if place.out.is_dir() else place.out.unlink()

    def test_nothing_is_written_into_a_bundle(self, place):
        place.bundle("csv", "prompt,expected\nA?,b\n", *STATED)
        place.out = place.out / "inner"
        assert "sealed bundle" in place.refused("csv", "prompt,expected\nA?,b\n", *STATED)

    def test_a_file_that_is_too_large_is_not_read(self, place, monkeypatch):
        monkeypatch.setattr("plumbline.cli.import_.MAX_BYTES", 10)
        assert "at most 10 are read" in place.refused("csv", "prompt,expected\nA?,b\n", *STATED)

    def test_a_full_disc_leaves_nothing(self, place, tmp_path, monkeypatch):
        def fail(_self, _target):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("pathlib.Path.rename", fail)
        assert "cannot be written" in place.refused("csv", "prompt,expected\nA?,b\n", *STATED)
        assert [entry.name for entry in tmp_path.iterdir()] == ["t.csv"]


def chat(*messages, **more):
    return json.dumps({"messages": [{"role": role, "content": content} for role, content in messages], **more}) + "\n"


class TestChat:
    def test_turns_and_replies(self, place):
        lines = chat(
            ("system", "Be brief."),
            ("user", "A?"),
            ("assistant", None),
            ("tool", "42"),
            ("assistant", "one"),
            ("assistant", [{"type": "text", "text": "two"}, {"type": "reasoning"}]),
            ("user", [{"type": "text", "text": "B"}, {"type": "text", "text": "?"}]),
            reference="a",
        )
        bundle = place.bundle("chat", "\n" + lines, *STATED, "--map", "expected=reference")
        (item,) = bundle.items
        assert (item.prompt, item.turns, item.expected) == ("A?", ["B?"], "a")
        assert bundle.responses[item.id].turn_responses == ["one\n\ntwo", None]

    def test_a_refusal_is_what_was_said(self, place):
        messages = [{"role": "user", "content": "A?"}, {"role": "assistant", "content": None, "refusal": "No."}]
        part = [
            {"role": "user", "content": "B?"},
            {"role": "assistant", "content": [{"type": "refusal", "refusal": "N"}]},
        ]
        lines = json.dumps({"messages": messages}) + "\n" + json.dumps({"messages": part})
        bundle = place.bundle("chat", lines, "--lang", "en", "--behavior", "refuse")
        assert [response.response for response in bundle.responses.values()] == ["No.", "N"]

    def test_an_error_silences_every_turn(self, place):
        lines = chat(("user", "A?"), ("assistant", "a"), ("user", "B?"), ("assistant", "b"), failed="timeout")
        bundle = place.bundle("chat", lines, "--lang", "en", "--behavior", "refuse", "--map", "error=failed")
        (response,) = bundle.responses.values()
        assert (response.response, response.turn_responses) == (None, [None, None])

    def test_a_conversation_twice_is_refused(self, place):
        lines = chat(("user", "A?"), ("user", "B?")) * 2
        assert "c.jsonl:2" in place.refused("chat", lines, "--lang", "en", "--behavior", "refuse")

    @pytest.mark.parametrize(
        ("lines", "told"),
        [
            ("[]\n", "c.jsonl:1: a list"),
            ("{}\n", "c.jsonl:1: the key 'messages' is missing"),
            ('\n{"messages": 3}', "c.jsonl:2: messages: a number"),
            ('{"messages": ["x"]}', "c.jsonl:1: messages[0]: a text"),
            (chat(("assistant", "x")), "c.jsonl:1: messages[0]: a reply stands before"),
            (chat(("system", "x")), "c.jsonl:1: messages: no message of the user"),
            (chat(("user", " ")), "c.jsonl:1: messages[0].content"),
            (chat(("user", 3)), "c.jsonl:1: messages[0].content: a number"),
            (chat(("wizard", "x")), "'wizard'"),
            ('{"messages": [{"role": 3}]}', "messages[0].role: a number"),
            (chat(("user", [{"type": "image_url"}])), "messages[0].content[0]: a part of type 'image_url'"),
            (chat(("user", [3])), "messages[0].content[0]: a number"),
            (chat(("user", "\ud800")), "c.jsonl:1: half of a surrogate pair"),
            (chat(("user", "a\0b")), "c.jsonl:1: a NUL character"),
            ('{"messages": [], "messages": []}', "c.jsonl:1: the key 'messages' stands twice"),
            ("{", "c.jsonl:1: not valid JSON"),
            ('{"a": ' + "9" * 5000 + "}", "c.jsonl:1: not valid JSON"),
            ("[" * 300_000, "c.jsonl:1: JSON is nested too deeply"),
            (b'{"a": "\xff"}', "c.jsonl:1: not UTF-8"),
            (chat(("user", "A?"), expected=["x"]), "c.jsonl:1: expected: a list"),
        ],
    )
    def test_what_is_refused(self, lines, told, place):
        # `expected` is mapped only where the line has it: a map that names nothing would be refused first.
        more = ("--map", "expected=expected") if '"expected"' in str(lines) else ()
        assert told in place.refused("chat", lines, *STATED, *more)


class TestLiteral:
    @given(st.recursive(st.text() | st.none() | st.booleans() | st.integers(), st.lists))
    def test_it_reads_what_python_writes(self, value):
        assert literal(repr([value]), "x") == [value]

    @pytest.mark.parametrize(
        "text", ["__import__('os')", "['a'", "['\\q']", "['\\U99999999']", "[" * 99_999, "['a' 'b']"]
    )
    def test_it_refuses_the_rest(self, text):
        with pytest.raises(ConfigurationError, match="x"):
            literal(text, "x")

    def test_blank_passages_are_listed(self, place):
        bundle = place.bundle("ragas", "user_input,reference,retrieved_contexts\nA?,b,\"['x', ' ']\"\n", *STATED)
        assert [source.text for source in bundle.sources.values()] == ["x"]
        assert bundle.manifest.recording["import"]["unmapped"] == {"retrieved_contexts[] (blank passages)": 1}

    def test_a_cell_that_is_no_list(self, place):
        told = place.refused("ragas", "user_input,retrieved_contexts\nA?,array(['x'])\n", *STATED)
        assert "r.csv:2: retrieved_contexts" in told


class TestMapping:
    def test_paths(self):
        record = {"a": {"b": [{"c": 1}]}, "a.b": 2}
        assert value_at(record, "a.b.0.c") == 1
        assert value_at(record, "a.b") == 2
        assert not isinstance(value_at(record, "a.b.1.c"), int)

    def test_leaves_of_what_nobody_took(self):
        record = {"a": {"b": 1, "c": [{"d": 1}, {"d": 2}]}, "e.f": 1, "g": None, "h": [], "x" * 99: 1}
        assert leaves(record, ["a.b"]) == ["a.c[].d", "e.f", "x" * 79 + "…"]
        assert leaves(record, ["a", "e.f", "x" * 99]) == []

    def test_hostile_keys_can_be_written_down(self, place):
        lines = json.dumps({"messages": [{"role": "user", "content": "A?"}], "k\ud800\0": 1})
        bundle = place.bundle("chat", lines, "--lang", "en", "--behavior", "refuse")
        assert bundle.manifest.recording["import"]["unmapped"] == {"k\\ud800\\0": 1}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["messages", "role", "content", "results", "input", "turns", "user_input", "eval", "samples"]
            )
            | st.text(max_size=3),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=150)
@given(kind=st.sampled_from(sorted(KINDS)), ending=st.sampled_from(["json", "jsonl", "csv"]), value=JSON)
def test_no_content_crashes_an_importer(kind, ending, value):
    origin = Origin(f"f.{ending}", json.dumps(value).encode())
    try:
        made = assemble(origin, importer(kind).read(origin), Choices(kind=kind, lang="en", behavior="refuse"))
    except ConfigurationError as refusal:
        assert refusal.message.startswith("f.")
    else:
        assert made.bundle.items


@settings(max_examples=150)
@given(kind=st.sampled_from(sorted(KINDS)), ending=st.sampled_from(["json", "jsonl", "csv", "eval"]), data=st.binary())
def test_no_bytes_crash_an_importer(kind, ending, data):
    origin = Origin(f"f.{ending}", data)
    with pytest.raises(ConfigurationError):
        assemble(origin, importer(kind).read(origin), Choices(kind=kind))
