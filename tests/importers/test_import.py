"""Do files that other tools really wrote become sealed bundles, with nothing guessed and nothing dropped?"""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from plumbline._version import __version__
from plumbline.cli import main as cli
from plumbline.errors import ExitCode
from plumbline.evidence.bundle import load
from plumbline.importers.registry import KINDS, importer

FILES = Path(__file__).parent / "files"
FARE, DOGS = "How much is a crossing?", "May dogs travel?"
STATED = ("--lang", "en", "--behavior", "answer")
CASES = {
    "promptfoo.json": ("promptfoo", *STATED, "--only", "echo-a", "--map", "expected=vars.reference"),
    "promptfoo-repeat.json": ("promptfoo", *STATED, "--map", "expected=vars.reference"),
    "inspect.json": ("inspect", *STATED),
    "inspect.eval": ("inspect", *STATED),
    "inspect-broken.json": ("inspect", *STATED),
    "deepeval-goldens.json": ("deepeval", *STATED),
    "deepeval-goldens.jsonl": ("deepeval", *STATED),
    "deepeval-goldens.csv": ("deepeval", *STATED),
    "deepeval-run.json": ("deepeval", *STATED),
    "deepeval-conversations.json": ("deepeval", *STATED, "--map", "expected=expected_outcome"),
    "deepeval-conversations.jsonl": ("deepeval", *STATED, "--map", "expected=expected_outcome"),
    "deepeval-conversations.csv": ("deepeval", *STATED, "--map", "expected=expected_outcome"),
    "ragas.jsonl": ("ragas", *STATED),
    "ragas.csv": ("ragas", *STATED),
    "ragas-conversations.jsonl": ("ragas", *STATED),
    "ragas-conversations.csv": ("ragas", *STATED),
}


def run(*words):
    return cli.main([str(word) for word in words])


def imported(place, name, *more):
    kind, *options = CASES[name]
    assert run("import", kind, FILES / name, "--out", place, *options, *more) == ExitCode.PASS
    return load(place)


def said(bundle):
    return [(item.prompt, bundle.responses[item.id].response) for item in bundle.items]


def account(bundle):
    return bundle.manifest.recording["import"]


@pytest.mark.parametrize("name", CASES)
class TestEveryFile:
    def test_it_makes_a_valid_bundle_that_names_its_origin(self, name, tmp_path, capsys):
        bundle = imported(tmp_path / "b", name)
        assert run("validate", tmp_path / "b") == ExitCode.PASS
        assert capsys.readouterr().out.splitlines()[-1].split() == ["integrity:", "OK"]
        assert bundle.manifest.recording["mode"] == "import"
        data = (FILES / name).read_bytes()
        file = {"name": name, "sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
        assert account(bundle)["file"] == file
        assert account(bundle)["harness_version"] == __version__

    def test_the_same_bytes_make_the_same_bundle(self, name, tmp_path):
        imported(tmp_path / "a", name)
        imported(tmp_path / "b", name)
        for file in (tmp_path / "a").iterdir():
            assert file.read_bytes() == (tmp_path / "b" / file.name).read_bytes()

    def test_unmapped_keys_are_printed_and_in_the_manifest(self, name, tmp_path, capsys):
        unmapped = account(imported(tmp_path / "b", name))["unmapped"]
        printed = [line.split(maxsplit=1)[1] for line in capsys.readouterr().out.splitlines() if "unmapped:" in line]
        assert printed == [f"{key} ({count})" for key, count in unmapped.items()]

    def test_without_language_and_behaviour_it_is_refused(self, name, tmp_path, capsys):
        kind, *options = CASES[name]
        left = options[4:]
        assert run("import", kind, FILES / name, "--out", tmp_path / "b", *left) == ExitCode.CONFIGURATION
        told = capsys.readouterr().err
        assert "lang: missing in" in told
        assert "behavior: missing in" in told
        assert not (tmp_path / "b").exists()
        assert list(tmp_path.iterdir()) == []


class TestPromptfoo:
    def test_several_providers_are_refused_and_listed(self, tmp_path, capsys):
        code = run("import", "promptfoo", FILES / "promptfoo.json", "--out", tmp_path / "b", *STATED)
        assert code == ExitCode.CONFIGURATION
        told = capsys.readouterr().err
        assert "'echo-a', 'closed-port'" in told
        assert "--only" in told

    def test_what_an_assertion_found_is_no_error_of_the_target(self, tmp_path):
        assert said(imported(tmp_path / "b", "promptfoo.json")) == [(FARE, FARE), (DOGS, DOGS)]

    def test_an_error_of_the_provider_is_silence(self, tmp_path, capsys):
        kind, *options = CASES["promptfoo.json"]
        options[options.index("echo-a")] = "closed-port"
        assert run("import", kind, FILES / "promptfoo.json", "--out", tmp_path / "b", *options) == ExitCode.PASS
        assert said(load(tmp_path / "b")) == [(FARE, None), (DOGS, None)]
        assert "0 (2 items stayed without an answer)" in capsys.readouterr().out

    @pytest.mark.parametrize("key", ["failureReason", "response.error"])
    def test_what_a_failed_call_left_behind_is_no_answer(self, key, tmp_path):
        document = json.loads((FILES / "promptfoo-repeat.json").read_text())
        result = document["results"]["results"][0]
        assert result["prompt"]["raw"] == DOGS
        if key == "failureReason":
            result[key] = 2
        else:
            result["response"]["error"] = "broke off"
        (tmp_path / "p.json").write_text(json.dumps(document))
        kind, *options = CASES["promptfoo-repeat.json"]
        assert run("import", kind, tmp_path / "p.json", "--out", tmp_path / "b", *options) == ExitCode.PASS
        passes = [response.passes for response in load(tmp_path / "b").responses.values()]
        assert passes == [[FARE, FARE], [None, DOGS]]

    def test_a_provider_that_is_not_there(self, tmp_path, capsys):
        words = ("import", "promptfoo", FILES / "promptfoo.json", "--out", tmp_path / "b", "--only", "echo")
        assert run(*words) == ExitCode.CONFIGURATION
        assert "'echo-a', 'closed-port'" in capsys.readouterr().err

    def test_a_question_that_only_others_were_asked(self, tmp_path, capsys):
        document = json.loads((FILES / "promptfoo.json").read_text())
        found = document["results"]["results"]
        document["results"]["results"] = [r for r in found if r["provider"]["label"] != "echo-a" or r["testIdx"] == 0]
        (tmp_path / "promptfoo.json").write_text(json.dumps(document))
        kind, *options = CASES["promptfoo.json"]
        code = run("import", kind, tmp_path / "promptfoo.json", "--out", tmp_path / "b", *options)
        assert code == ExitCode.CONFIGURATION
        assert "results.results[2]: 1 questions were asked of others" in capsys.readouterr().err

    def test_several_prompts_are_variants_too(self, tmp_path, capsys):
        document = json.loads((FILES / "promptfoo-repeat.json").read_text())
        document["results"]["results"][0]["prompt"]["label"] = "polite"
        (tmp_path / "p.json").write_text(json.dumps(document))
        assert run("import", "promptfoo", tmp_path / "p.json", "--out", tmp_path / "b", *STATED) == 4
        told = capsys.readouterr().err
        assert "'echo-a / plain'" in told
        assert "'echo-a / polite'" in told

    def test_repeats_are_passes(self, tmp_path, capsys):
        bundle = imported(tmp_path / "b", "promptfoo-repeat.json")
        assert [bundle.responses[item.id].passes for item in bundle.items] == [[FARE, FARE], [DOGS, DOGS]]
        assert "2 items were asked more than once" in capsys.readouterr().out

    def test_what_the_file_says_of_itself(self, tmp_path):
        told = account(imported(tmp_path / "b", "promptfoo.json"))["file_says"]
        assert told["promptfoo"] == "0.121.20"
        assert told["timestamp"].startswith("2026-")

    @pytest.mark.parametrize(
        ("change", "place"),
        [
            (lambda d: d.update(results=[]), "p.json: results:"),
            (lambda d: d["results"].update(results={}), "results.results: an object"),
            (lambda d: d["results"]["results"].__setitem__(0, 3), "results.results[0]: a number"),
            (lambda d: d["results"]["results"][0].update(provider=None), "results.results[0].provider"),
            (lambda d: d["results"]["results"][0]["prompt"].update(raw=[1]), "results.results[0]: prompt.raw: a list"),
            (lambda d: d["results"]["results"][0]["response"].update(output={}), "response.output: an object"),
            (lambda d: d["results"].update(results=[]), "p.json: it holds no question"),
        ],
    )
    def test_wrong_types_are_refused_by_key(self, change, place, tmp_path, capsys):
        document = json.loads((FILES / "promptfoo-repeat.json").read_text())
        change(document)
        (tmp_path / "p.json").write_text(json.dumps(document))
        kind, *options = CASES["promptfoo-repeat.json"]
        assert run("import", kind, tmp_path / "p.json", "--out", tmp_path / "b", *options) == ExitCode.CONFIGURATION
        assert place in capsys.readouterr().err


class TestDeepEval:
    @pytest.mark.parametrize("ending", ["json", "jsonl", "csv"])
    def test_every_form_of_a_dataset_reads_alike(self, ending, tmp_path):
        bundle = imported(tmp_path / "b", f"deepeval-goldens.{ending}")
        assert said(bundle) == [(FARE, "A crossing costs 12 crowns."), (DOGS, None)]
        first = bundle.items[0]
        texts = [bundle.sources[identity].text for identity in first.sources]
        assert texts == ["A crossing costs 12 crowns for one person.", "Dogs travel free."]
        assert first.answering_sources == first.sources[:1]
        assert [passage.text for passage in bundle.responses[first.id].retrieved] == texts
        assert account(bundle)["unmapped"] == {"additional_metadata.lang": 2}

    @pytest.mark.parametrize("ending", ["json", "jsonl", "csv"])
    def test_conversations_become_turns(self, ending, tmp_path):
        bundle = imported(tmp_path / "b", f"deepeval-conversations.{ending}")
        (item,) = bundle.items
        assert (item.prompt, item.turns) == (DOGS, ["And cats?"])
        assert bundle.responses[item.id].turn_responses == ["Dogs travel free.", "Cats too."]
        assert bundle.responses[item.id].response == "Cats too."

    def test_a_run_keeps_what_was_said(self, tmp_path):
        assert said(imported(tmp_path / "b", "deepeval-run.json")) == [
            (FARE, "A crossing costs 12 crowns."),
            (DOGS, "No."),
        ]

    def test_goldens_that_nobody_was_asked_are_a_question_set(self, tmp_path, capsys):
        goldens = json.loads((FILES / "deepeval-goldens.json").read_text())
        for golden in goldens:
            golden["actual_output"] = None
        (tmp_path / "g.json").write_text(json.dumps(goldens))
        assert run("import", "deepeval", tmp_path / "g.json", "--out", tmp_path / "b", *STATED) == ExitCode.PASS
        assert load(tmp_path / "b").responses is None
        assert "question set" in capsys.readouterr().out

    def test_something_else(self, tmp_path, capsys):
        (tmp_path / "g.json").write_text('{"goldens": []}')
        assert run("import", "deepeval", tmp_path / "g.json", "--out", tmp_path / "b", *STATED) == 4
        assert "'testCases'" in capsys.readouterr().err

    def test_dialogues_of_a_run(self, tmp_path):
        turns = [{"role": "user", "content": DOGS}, {"role": "assistant", "content": "Yes."}]
        run_ = {"testCases": [], "conversationalTestCases": [{"turns": turns, "name": "x"}]}
        (tmp_path / "r.json").write_text(json.dumps(run_))
        refusing = ("--lang", "en", "--behavior", "refuse")
        assert run("import", "deepeval", tmp_path / "r.json", "--out", tmp_path / "b", *refusing) == ExitCode.PASS
        assert said(load(tmp_path / "b")) == [(DOGS, "Yes.")]


class TestRagas:
    def test_both_forms_read_alike(self, tmp_path):
        lines, table = imported(tmp_path / "a", "ragas.jsonl"), imported(tmp_path / "b", "ragas.csv")
        assert lines.items == table.items
        assert lines.responses == table.responses
        assert lines.sources == table.sources
        assert said(table)[1] == (DOGS, 'It\'s free, "of course".')
        assert "Dogs'\n travel free." in {source.text for source in table.sources.values()}

    def test_dialogues_of_both_forms(self, tmp_path):
        lines = imported(tmp_path / "a", "ragas-conversations.jsonl")
        table = imported(tmp_path / "b", "ragas-conversations.csv")
        assert (lines.items, lines.responses) == (table.items, table.responses)
        assert lines.items[0].turns == ["And cats?"]

    def test_a_reference_passage_of_a_refusal_is_listed(self, tmp_path):
        words = ("--lang", "en", "--behavior", "refuse")
        assert run("import", "ragas", FILES / "ragas.jsonl", "--out", tmp_path / "b", *words) == ExitCode.PASS
        bundle = load(tmp_path / "b")
        assert bundle.items[0].answering_sources is None
        assert account(bundle)["unmapped"] == {"reference_contexts (of an item that expects a refusal)": 2}

    def test_a_line_without_a_question(self, tmp_path, capsys):
        (tmp_path / "r.jsonl").write_text('{"response": "x"}\n')
        assert run("import", "ragas", tmp_path / "r.jsonl", "--out", tmp_path / "b", *STATED) == 4
        assert "r.jsonl:1: the key 'user_input' is missing" in capsys.readouterr().err


def test_a_copy_under_another_name_differs_in_name_only(tmp_path):
    shutil.copy(FILES / "ragas.csv", tmp_path / "other.csv")
    assert run("import", "ragas", tmp_path / "other.csv", "--out", tmp_path / "b", *STATED, "--name", "ferry") == 0
    bundle = load(tmp_path / "b")
    assert bundle.name == "ferry"
    assert bundle.items == imported(tmp_path / "a", "ragas.csv").items


def test_every_kind_says_what_it_reads():
    assert all(importer(kind).SUMMARY for kind in KINDS)
