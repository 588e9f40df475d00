"""Exit code 5 is for Plumbline's own faults: whatever the inputs hold, a command ends with 0, 1, 3 or 4."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plumbline.cli.main import main
from plumbline.errors import ExitCode
from tests.bundles import files, item, refuse, resealed, target, write

TEXT = st.text(max_size=12) | st.sampled_from(
    ["", " ", "850", "I can't help", "::error::", "\x1b[31m", "\ud800", "[src-1]"]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
BUNDLE = files(
    [
        item("a", load_bearing=True, sources=["s"], answering_sources=["s"], fact_id="f", group="g"),
        item("b", lang="es", translation={"of": "a", "review": "unreviewed"}, turns=["and then?"]),
        refuse("r", forbidden=["x"], forbidden_claims=["y"], adversarial=True),
    ],
    {"a": "It costs 900 dollars [s].", "b": None, "r": "I can't help with that."},
    sources=[{"id": "s", "text": "A passage.", "title": "t", "url": "https://county.example/"}],
    manifest={"version": "1", "synthetic": True, "recording": {"recorded_at": "2026-01-01T00:00:00+00:00"}},
)
CONFIG = {
    "target": {"name": "t"},
    "dataset": {"path": "bundle"},
    "suites": {"smoke": {"floor": 0.5}, "accuracy": {"enabled": True}, "refusal": {}},
    "baseline": {"path": "baseline.json"},
}
ALLOWED = {ExitCode.PASS, ExitCode.FAIL, ExitCode.INTEGRITY, ExitCode.CONFIGURATION}


def paths(value, here=()):
    """Every place in a JSON value."""
    yield here
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from paths(inner, (*here, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from paths(inner, (*here, index))


@st.composite
def mutated(draw, value):
    """A JSON value with one place replaced, removed or added to."""
    value = json.loads(json.dumps(value))
    place = draw(st.sampled_from(list(paths(value))))
    if not place:
        return draw(JSON)
    parent = value
    for key in place[:-1]:
        parent = parent[key]
    match draw(st.sampled_from(["replace", "remove", "add"])):
        case "replace":
            parent[place[-1]] = draw(JSON)
        case "remove":
            del parent[place[-1]]
        case "add" if isinstance(parent, dict):
            parent[draw(TEXT)] = draw(JSON)
    return value


def dumps(value):
    return json.dumps(value, ensure_ascii=True).encode()


@st.composite
def mutated_bundle(draw):
    """The bundle with one record changed, under a fitting seal or the old one."""
    content = dict(BUNDLE)
    name = draw(st.sampled_from([key for key in content if key != "checksums.json"]))
    if name == "manifest.json":
        content[name] = dumps(draw(mutated(json.loads(content[name]))))
    else:
        lines = content[name].splitlines()
        index = draw(st.integers(0, len(lines) - 1))
        lines[index] = dumps(draw(mutated(json.loads(lines[index]))))
        content[name] = b"\n".join(lines)
    return resealed(content) if draw(st.booleans()) else content


def audit(folder: Path, *words: str) -> int:
    return main(["audit", "--config", str(folder / "target.toml"), "--out", str(folder / "out"), *words])


@pytest.fixture(scope="module")
def baseline(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bar")
    write(folder / "bundle", BUNDLE)
    target(folder)
    assert audit(folder) == ExitCode.FAIL
    report = next(folder.glob("out/*/report.json"))
    assert main(["baseline", "--from", str(report), "--out", str(folder / "b.json")]) == ExitCode.PASS
    return json.loads((folder / "b.json").read_text()), json.loads(report.read_text())


def toml(value):
    """A TOML inline value; what TOML cannot say is written down wrongly on purpose."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(str(key))} = {toml(inner)}" for key, inner in value.items()) + "}"
    return json.dumps(value)


@given(mutated_bundle())
@settings(max_examples=250, deadline=None)
def test_any_bundle(content):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder / "bundle", content)
        target(folder)
        assert audit(folder, "--sarif", str(folder / "f.sarif")) in ALLOWED


@given(mutated(CONFIG))
@settings(max_examples=250, deadline=None)
def test_any_configuration(config):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder / "bundle", BUNDLE)
        text = (
            "\n".join(f"{json.dumps(key)} = {toml(inner)}" for key, inner in config.items())
            if isinstance(config, dict)
            else ""
        )
        (folder / "target.toml").write_bytes(text.encode("utf-8", "surrogatepass"))
        assert audit(folder) in ALLOWED


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_any_baseline_and_any_report(baseline, data):
    bar, report = baseline
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder / "bundle", BUNDLE)
        target(folder)
        (folder / "b.json").write_bytes(dumps(data.draw(mutated(bar))))
        assert audit(folder, "--baseline", str(folder / "b.json")) in ALLOWED
        (folder / "report.json").write_bytes(dumps(data.draw(mutated(report))))
        assert main(["verify", str(folder / "report.json")]) in {
            ExitCode.PASS,
            ExitCode.INTEGRITY,
            ExitCode.CONFIGURATION,
        }


@pytest.mark.parametrize(
    "data", [b"", b"\x00", b"\xff\xfe", b"[" * 200_000, b'{"a":' * 200_000, b"9" * 5000, b"NaN", b"-"]
)
@pytest.mark.parametrize("name", ["manifest.json", "items.jsonl", "responses.jsonl", "sources.jsonl", "checksums.json"])
def test_any_bytes_in_any_file(tmp_path, name, data):
    content = {**BUNDLE, name: data}
    write(tmp_path / "bundle", content if name == "checksums.json" else resealed(content))
    target(tmp_path)
    expected = ExitCode.INTEGRITY if name == "checksums.json" else ExitCode.CONFIGURATION
    found = audit(tmp_path)
    # Without any response the run still has a verdict: every item is silent.
    assert found == (ExitCode.FAIL if (name, data) == ("responses.jsonl", b"") else expected)
