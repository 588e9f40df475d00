"""Is sealed content either a bundle that can be graded or refused with what stands where?"""

import gc
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.errors import BundleError, ConfigurationError, ExitCode, IntegrityError, PlumblineError
from plumbline.evidence.bundle import load, parse, unprintable
from plumbline.evidence.seal import CHECKSUMS, read_inventory
from tests import bundles
from tests.evidence.test_schema import JSON
from tests.evidence.test_seal import DEMO

SOURCES = [{"id": "s", "text": "It costs 850 dollars."}, {"id": "t", "text": "Other words."}]


def _parts(**changes):
    """The unsealed files of a good bundle, some replaced; None leaves one out."""
    files = bundles.files(
        [bundles.item("a", sources=["s"]), bundles.refuse("b")], {"a": "850", "b": "no"}, sources=SOURCES
    )
    names = {
        "items": "items.jsonl",
        "responses": "responses.jsonl",
        "sources": "sources.jsonl",
        "manifest": "manifest.json",
    }
    edited = {**files, **{names[key]: value for key, value in changes.items()}}
    return {name: data for name, data in edited.items() if data is not None and name != CHECKSUMS}


def _parse(**changes):
    return parse(bundles.resealed(_parts(**changes)))


def _manifest(**changes):
    document = json.loads(_parts()["manifest.json"]) | changes
    return json.dumps({key: value for key, value in document.items() if value is not ...}).encode()


def _items(*changes):
    return bundles.json_lines([{**bundles.item(f"i{number}"), **change} for number, change in enumerate(changes)])


def _refused(named, **changes):
    with pytest.raises(BundleError) as refusal:
        _parse(**changes)
    assert refusal.value.exit_code == ExitCode.CONFIGURATION
    assert named in refusal.value.message
    return refusal.value.message


# What a bundle is.


def test_records_know_their_lines_and_files():
    items = b"\n" + bundles.json_lines([bundles.item("x")]) + b"\n\n" + bundles.json_lines([bundles.item("y")])
    responses = bundles.json_lines([{"id": "y", "response": "two"}]) + b"\n" + b'{"id": "x", "response": null}'
    bundle = _parse(items=items, responses=responses)
    assert [item.id for item in bundle.items] == ["x", "y"]
    assert bundle.lines["items"] == {"x": 2, "y": 5}
    assert bundle.lines["responses"] == {"y": 1, "x": 3}
    assert bundle.lines["sources"] == {"s": 1, "t": 2}
    assert bundle.file_of("responses") == "responses.jsonl"
    assert bundle.contents["items"] == items


def test_a_missing_response_and_null_are_silence():
    bundle = _parse(responses=b'{"id": "a", "response": null}\n')
    assert bundle.response_text("a") == bundle.response_text("b") == ""
    assert bundle.responses is not None


def test_a_question_set_has_no_responses_and_no_sources():
    files = {"items": "items.jsonl"}
    bundle = _parse(manifest=_manifest(files=files), items=_items({}), responses=None, sources=None)
    assert bundle.responses is None
    assert bundle.sources == {}
    assert bundle.response_text("i0") == ""


def test_files_may_stand_in_folders_and_be_named_with_dots():
    files = {"items": "./deep/../deep/items.jsonl", "interface": "page.html"}
    parts = {"manifest.json": _manifest(files=files), "deep/items.jsonl": _items({}), "page.html": b"\xff<html>"}
    bundle = parse(bundles.resealed(parts))
    assert bundle.contents["interface"] == b"\xff<html>"
    assert bundle.file_of("items") == "deep/items.jsonl"


def test_a_bundle_without_a_name_is_called_unnamed():
    assert _parse(manifest=_manifest(name=...)).name == "unnamed"
    assert _parse().name == "test"


def test_the_seal_is_looked_at_before_anything_is_read():
    with pytest.raises(IntegrityError):
        parse({**bundles.resealed(_parts()), "items.jsonl": b"rubbish"})


def test_what_was_hashed_is_what_is_parsed(tmp_path):
    for name, data in bundles.resealed(_parts()).items():
        (tmp_path / name).write_bytes(data)
    inventory = read_inventory(tmp_path)
    (tmp_path / "items.jsonl").write_bytes(b"changed behind its back")
    assert [item.id for item in parse(inventory).items] == ["a", "b"]


@pytest.mark.parametrize("on", [True, False])
def test_the_collector_is_left_as_it_was(on):
    was = gc.isenabled()
    try:
        (gc.enable if on else gc.disable)()
        _parse()
        assert gc.isenabled() is on
        with pytest.raises(BundleError):
            _parse(items=b"rubbish")
        assert gc.isenabled() is on
    finally:
        (gc.enable if was else gc.disable)()


# The manifest.


def test_without_a_manifest_there_is_no_bundle():
    _refused("manifest.json: the bundle has no manifest", manifest=None)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"format": "plumbline-checksums"}, "'plumbline-checksums' is not 'plumbline-bundle'"),
        ({"format_version": 2}, "format_version 2 is not 1"),
        ({"format_version": 0}, "format_version 0 is not 1"),
        ({"name": " "}, "the name is blank"),
        ({"nmae": "x"}, "did you mean 'name'"),
        ({"files": {"items": "nowhere.jsonl"}}, "files.items names 'nowhere.jsonl'"),
        ({"files": {"items": "../items.jsonl"}}, "files.items names '../items.jsonl'"),
        ({"files": {"items": "/etc/passwd"}}, "files.items names '/etc/passwd'"),
        ({"files": {"items": ""}}, "files.items"),
        ({"files": {"items": "."}}, "files.items"),
        ({"files": {"items": "checksums.json"}}, "files.items names 'checksums.json'"),
        ({"files": {"items": "items.jsonl", "responses": "x\ny"}}, "files.responses names 'x\\ny'"),
        ({"files": {"items": "items.jsonl", "sources": "nul\0"}}, "files.sources"),
        ({"files": {"items": "items.jsonl", "interface": "page.html"}}, "files.interface names 'page.html'"),
        ({"recording": {"n": 2**53}}, "'recording' holds an integer"),
        ({"recording": {"n": [{"m": -(2**53)}]}}, "'recording' holds an integer"),
        ({"recording": {"n": 2**70}}, "recording"),
    ],
)
def test_a_manifest_that_says_something_else_is_refused(changes, named):
    assert _refused(named, manifest=_manifest(**changes)).startswith("manifest.json: ")


def test_a_recording_is_kept_as_it_is():
    recording = {"recorded_at": "2026-01-02", "n": 2**53 - 1, "deep": [[{"a": [None, True, -0.5]}]]}
    assert _parse(manifest=_manifest(recording=recording)).manifest.recording == recording


@pytest.mark.parametrize(("depth", "kept"), [(30, True), (31, False), (900, False), (100_000, False)])
def test_a_recording_has_a_depth_that_does_not_depend_on_the_stack(depth, kept):
    data = _manifest(recording={"x": "here"}).replace(b'"here"', b"[" * depth + b"1" + b"]" * depth)
    if kept:
        assert _parse(manifest=data).manifest.recording is not None
    else:
        assert "nested" in _refused("manifest.json", manifest=data)


# Items.


def test_a_bundle_without_items_is_refused():
    _refused("items.jsonl: the bundle has no items", items=b"\n\n")


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"id": ""}, "the id is blank"),
        ({"id": " \t"}, "the id is blank"),
        ({"id": "a\nb"}, "cannot be printed"),
        ({"id": "a\u202eb"}, "cannot be printed"),
        ({"lang": " "}, "'lang' is blank"),
        ({"prompt": "\n"}, "'prompt' is blank"),
        ({"expected": ...}, "'expected'"),
        ({"expected": None}, "'expected'"),
        ({"expected": " "}, "'expected'"),
        ({"answering_sources": []}, "'answering_sources' is empty"),
        ({"behavior": "refuse", "answering_sources": ["s"]}, "a refuse item cannot declare"),
        ({"forbidden": ["x", " "]}, "blank string"),
        ({"forbidden_claims": [""]}, "blank string"),
        ({"sources": ["s", "gone"]}, "'gone' is not in the corpus"),
        ({"sources": ["s"], "answering_sources": ["gone"]}, "'gone' is not in the corpus"),
        ({"translation": {"of": "gone", "review": "unreviewed"}}, "'gone', which is no item"),
        ({"id": "i0"}, "'i0' stands already in line 1"),
        ({"cluster": " "}, "'cluster' is blank"),
        ({"turns": ["and then?", " "]}, "a turn in 'turns' is blank"),
    ],
)
def test_an_item_that_cannot_be_graded_is_refused_with_its_line(change, named):
    lines = bundles.json_lines(
        [bundles.item("i0"), {k: v for k, v in (bundles.item("i1") | change).items() if v is not ...}]
    )
    assert _refused(named, items=lines, responses=b"").startswith("items.jsonl:2: ")


def test_a_refuse_item_needs_no_reference():
    bundle = _parse(items=bundles.json_lines([bundles.refuse("a")]), responses=b"")
    assert bundle.items[0].expected is None


def test_a_translation_may_name_an_item_further_down():
    bundle = _parse(items=_items({"translation": {"of": "i1", "review": "sme_reviewed"}}, {}), responses=b"")
    assert bundle.items[0].translation.of == "i1"


# Responses and sources.


@pytest.mark.parametrize(
    ("line", "named"),
    [
        (b'{"id": "gone", "response": "x"}', "unknown item 'gone'"),
        (b'{"id": "a", "response": "x"}', "'a' stands already in line 1"),
        (b'{"id": "", "response": "x"}', "the id is blank"),
        (b'{"id": "a"}', "'response' is missing"),
        (b'{"id": "b", "response": "x", "passes": []}', "the first of 'passes'"),
        (b'{"id": "b", "response": "x", "passes": ["y", "x"]}', "the first of 'passes'"),
        (b'{"id": "b", "response": "x", "turn_responses": ["x", "y"]}', "2 entries, and the item asks 1 turns"),
        (b"7", "object"),
    ],
)
def test_a_response_that_answers_nothing_is_refused_with_its_line(line, named):
    data = b'{"id": "a", "response": "x"}\n' + line
    assert _refused(named, responses=data).startswith("responses.jsonl:2: ")


@pytest.mark.parametrize(
    ("line", "named"),
    [
        (b'{"id": "s", "text": "again"}', "'s' stands already in line 1"),
        (b'{"id": " ", "text": "x"}', "the id is blank"),
        (b'{"id": "u", "text": " "}', "blank passage"),
        (b'{"id": "u"}', "'text' is missing"),
    ],
)
def test_a_passage_that_could_support_anything_is_refused_with_its_line(line, named):
    data = b'{"id": "s", "text": "It costs 850 dollars."}\n' + line
    assert _refused(named, sources=data).startswith("sources.jsonl:2: ")


def test_an_item_of_a_bundle_without_a_corpus_cannot_name_a_passage():
    _refused("'s' is not in the corpus", manifest=_manifest(files={"items": "items.jsonl"}))


@pytest.mark.parametrize("name", ["a", "ünï", "日本", "a b", "a\u00a0b", "🙂"])
def test_a_name_that_can_be_seen_is_fine(name):
    assert not unprintable(name)


# Fuzz.

ROLES = st.sampled_from(["manifest", "items", "responses", "sources"])
RECORDS = {
    "manifest": json.loads(_parts()["manifest.json"]),
    "items": bundles.item("a", sources=["s"]),
    "responses": {"id": "a", "response": "850"},
    "sources": SOURCES[0],
}
KEYS = st.sampled_from(
    ["id", "lang", "behavior", "prompt", "expected", "load_bearing", "fact_id", "group", "translation", "forbidden",
     "forbidden_claims", "sources", "answering_sources", "adversarial", "turns", "response", "turn_responses", "text",
     "title", "url", "format", "format_version", "files", "name", "version", "synthetic", "description", "recording"]
)  # fmt: skip


def _is_refusal_or_bundle(files):
    try:
        parse(files)
    except PlumblineError as refusal:
        assert refusal.exit_code in {ExitCode.INTEGRITY, ExitCode.CONFIGURATION}
        assert refusal.message.encode(errors="surrogatepass")


@given(role=ROLES, data=st.binary(max_size=80), sealed=st.booleans())
def test_arbitrary_bytes_in_any_file_are_three_or_four(role, data, sealed):
    files = _parts(**{role: data})
    _is_refusal_or_bundle(bundles.resealed(files) if sealed else {**bundles.resealed(_parts()), **files})


@given(data=st.binary(max_size=80) | JSON.map(lambda value: json.dumps(value).encode()))
def test_an_arbitrary_seal_is_three(data):
    with pytest.raises(IntegrityError):
        parse({**bundles.resealed(_parts()), CHECKSUMS: data})


@given(role=ROLES, changes=st.dictionaries(KEYS, JSON, max_size=3), plain=st.booleans())
def test_arbitrary_values_in_sealed_records_are_read_or_four(role, changes, plain):
    text = json.dumps(RECORDS[role] | changes, ensure_ascii=plain).encode(errors="surrogatepass")
    _is_refusal_or_bundle(bundles.resealed(_parts(**{role: text})))


@given(st.dictionaries(st.text(max_size=6), st.binary(max_size=20), max_size=4))
def test_arbitrary_files_are_three_or_four(files):
    _is_refusal_or_bundle(files)
    _is_refusal_or_bundle({**bundles.resealed(_parts()), **files})


@given(st.lists(st.tuples(st.integers(0, 10**6), st.binary(min_size=1, max_size=3)), min_size=1, max_size=4))
def test_arbitrary_edits_of_the_sealed_demonstration_are_refused(edits):
    files = {name: bytearray(data) for name, data in read_inventory(DEMO).items()}
    names = sorted(files)
    for place, data in edits:
        target = files[names[place % len(names)]]
        target[place % len(target) : place % len(target) + 1] = data
    changed = {name: bytes(data) for name, data in files.items()}
    if changed == read_inventory(DEMO):
        parse(changed)
    else:
        with pytest.raises(IntegrityError):
            parse(changed)


def test_the_demonstration_loads():
    assert load(DEMO).manifest.synthetic


def test_a_folder_is_needed(tmp_path):
    with pytest.raises(ConfigurationError):
        load(tmp_path / "nowhere")
