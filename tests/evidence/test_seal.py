"""Does the seal hold against every change, and does each refusal say what was found?"""

import hashlib
import json
import os
import socket
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.errors import BundleError, ConfigurationError, ExitCode, IntegrityError
from plumbline.evidence import seal as subject
from plumbline.evidence.bundle import load, parse
from plumbline.evidence.files import write_atomically
from plumbline.evidence.seal import (
    CHECKSUMS,
    bundle_sha256,
    digests,
    fault_in_name,
    is_digest,
    read_checksums,
    read_inventory,
    recorded_hash,
    render_checksums,
    seal,
    verify_inventory,
)
from tests import bundles

DEMO = Path(__file__).resolve().parents[2] / "datasets" / "tidewater-demo"
SMALL = bundles.files([bundles.item("a")], {"a": "It costs 850 dollars a year."})
TINY = bundles.resealed(
    {
        "manifest.json": b'{"format":"plumbline-bundle","format_version":1,"files":{"items":"i"}}',
        "i": b'{"id":"a","lang":"en","behavior":"refuse","prompt":"?"}',
    }
)


def _write(folder, files):
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def _edit_seal(**changes):
    document = json.loads(SMALL[CHECKSUMS]) | changes
    return {**SMALL, CHECKSUMS: json.dumps(document, indent=2).encode()}


@pytest.fixture
def folder(tmp_path):
    return _write(tmp_path / "bundle", SMALL)


# The form that the specification gives, computed here by hand.


def test_the_dataset_hash_is_that_of_the_sorted_lines():
    sums = {name: hashlib.sha256(data).hexdigest() for name, data in SMALL.items() if name != CHECKSUMS}
    lines = b"".join(f"{name}={sums[name]}\n".encode() for name in sorted(sums))
    document = json.loads(SMALL[CHECKSUMS])
    assert document == {
        "format": "plumbline-checksums",
        "format_version": 1,
        "algorithm": "sha256",
        "files": sums,
        "bundle_sha256": hashlib.sha256(lines).hexdigest(),
    }
    assert parse(SMALL).sha256 == document["bundle_sha256"]
    assert parse(SMALL).dataset_id == document["bundle_sha256"][:12]


def test_files_at_any_depth_are_sealed_by_their_posix_path(tmp_path):
    _write(tmp_path, {"a/b/c.txt": b"deep", ".hidden": b"h", f"a/{CHECKSUMS}": b"inner"})
    seal(tmp_path)
    listed = json.loads((tmp_path / CHECKSUMS).read_bytes())["files"]
    assert list(listed) == [".hidden", "a/b/c.txt", f"a/{CHECKSUMS}"]
    verify_inventory(read_inventory(tmp_path))


def test_sealing_says_what_was_and_what_is(folder):
    old = json.loads(SMALL[CHECKSUMS])["bundle_sha256"]
    (folder / "responses.jsonl").write_bytes(b"\n")
    before, now = seal(folder)
    assert before == old
    assert now == json.loads((folder / CHECKSUMS).read_bytes())["bundle_sha256"] != old
    assert seal(folder) == (now, now)
    (folder / CHECKSUMS).write_bytes(b"rubbish")
    assert seal(folder) == (None, now)
    (folder / CHECKSUMS).unlink()
    assert seal(folder) == (None, now)


def test_sealing_twice_gives_the_same_bytes(folder):
    seal(folder)
    first = read_inventory(folder)
    seal(folder)
    assert read_inventory(folder) == first


def test_what_cannot_be_verified_has_no_recorded_hash():
    assert recorded_hash(SMALL) == json.loads(SMALL[CHECKSUMS])["bundle_sha256"]
    assert recorded_hash({}) is None


# Every difference between the files and the seal.


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"responses.jsonl": None}, "listed but missing: responses.jsonl"),
        ({"extra.txt": b""}, "present but not listed: extra.txt"),
        ({"deep/er/extra": b""}, "present but not listed: deep/er/extra"),
        ({"items.jsonl": SMALL["items.jsonl"] + b"\n"}, "content mismatch: items.jsonl"),
        ({CHECKSUMS: None}, "there is no seal"),
    ],
)
def test_a_missing_extra_or_changed_file_is_refused_by_name(tmp_path, change, named):
    files = {name: data for name, data in (SMALL | change).items() if data is not None}
    with pytest.raises(IntegrityError) as refusal:
        load(_write(tmp_path, files))
    assert refusal.value.exit_code == ExitCode.INTEGRITY
    assert named in refusal.value.message
    assert "plumbline seal" in refusal.value.remedy


def test_all_differences_are_named_together():
    files = {**SMALL, "extra.txt": b"", "items.jsonl": b"other"}
    del files["responses.jsonl"]
    with pytest.raises(IntegrityError) as refusal:
        verify_inventory(files)
    for line in ("missing: responses.jsonl", "not listed: extra.txt", "mismatch: items.jsonl"):
        assert line in refusal.value.message


def test_a_long_list_of_differences_is_cut_and_counted():
    with pytest.raises(IntegrityError, match="and 5 more"):
        verify_inventory({**SMALL, **{f"x{number:02}": b"" for number in range(25)}})


def test_a_dataset_hash_that_is_not_that_of_the_list_is_refused():
    with pytest.raises(IntegrityError, match="bundle_sha256 is not the hash"):
        verify_inventory(_edit_seal(bundle_sha256="0" * 64))


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"format": "plumbline-bundle"}, "'plumbline-bundle' version 1"),
        ({"format_version": 2}, "version 2"),
        ({"format_version": True}, "format_version"),
        ({"format_version": 1.0}, "format_version"),
        ({"algorithm": "md5"}, "'md5'"),
        ({"files": []}, "files"),
        ({"files": {"a": 1}}, "files"),
        ({"files": {"items.jsonl": "A" * 64}}, "items.jsonl is not 64 lowercase hex"),
        ({"files": {"items.jsonl": "a" * 63}}, "items.jsonl is not 64 lowercase hex"),
        ({"files": {"items.jsonl": "a" * 63 + "\n"}}, "items.jsonl is not 64 lowercase hex"),
        ({"files": {CHECKSUMS: "a" * 64}}, "cannot cover itself"),
        ({"files": {"../x": "a" * 64}}, "not plainly inside"),
        ({"files": {"a=b\nc": "a" * 64}}, "line break"),
        ({"bundle_sha256": "G" * 64}, "bundle_sha256 is not 64 lowercase hex"),
        ({"bundle_sha256": None}, "bundle_sha256"),
        ({"algoritm": "sha256"}, "did you mean 'algorithm'"),
    ],
)
def test_a_seal_that_the_format_does_not_allow_is_refused(changes, named):
    with pytest.raises(IntegrityError) as refusal:
        verify_inventory(_edit_seal(**changes))
    assert refusal.value.message.startswith(CHECKSUMS)
    assert named in refusal.value.message


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b"null", b"\xff", b"\xef\xbb\xbf" + SMALL[CHECKSUMS], b'{"files": ' + b"[" * 100_000]
)
def test_a_seal_that_cannot_be_read_is_refused(data):
    with pytest.raises(IntegrityError, match=CHECKSUMS):
        verify_inventory({**SMALL, CHECKSUMS: data})


def test_a_key_that_stands_twice_in_a_seal_is_refused():
    data = SMALL[CHECKSUMS].replace(b'"algorithm"', b'"format": "plumbline-checksums", "algorithm"')
    with pytest.raises(IntegrityError, match="'format' stands twice"):
        read_checksums({CHECKSUMS: data})


# Names.


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("", "empty"),
        ("/etc/passwd", "absolute"),
        ("a\\b", "backslash"),
        ("a\nb", "line break"),
        ("a\rb", "line break"),
        ("a\0b", "control"),
        ("\x1b[31m", "control"),
        ("a\x7f", "control"),
        ("a\x85b", "control"),
        ("a\u2028b", "line break"),
        ("a\u2029b", "line break"),
        ("../a", "inside"),
        ("a/../b", "inside"),
        ("./a", "inside"),
        ("a//b", "inside"),
        ("a/", "inside"),
        (".", "inside"),
        ("..", "inside"),
        ("\udcff", "UTF-8"),
    ],
)
def test_a_name_no_seal_may_hold_is_refused(name, fault):
    assert fault in fault_in_name(name)


@pytest.mark.parametrize(
    "name", ["a", "a b", ".hidden", "a/b/c", "a=b", "ünï/日本", "a\u00a0b", "..a", "a..", "-rf", "a:b"]
)
def test_other_names_are_fine(name, tmp_path):
    assert fault_in_name(name) is None
    _write(tmp_path, {name: b"x"})
    seal(tmp_path)
    assert name in verify_inventory(read_inventory(tmp_path)).files


@pytest.mark.parametrize("name", ["a\nb", "back\\slash", "e\x1bc", "u\u2028x", os.fsdecode(b"\xff")])
def test_sealing_a_folder_with_such_a_name_writes_nothing(folder, name):
    (folder / name).write_bytes(b"x")
    before = (folder / CHECKSUMS).read_bytes()
    for attempt in (seal, load):
        with pytest.raises(IntegrityError) as refusal:
            attempt(folder)
        assert name not in refusal.value.message
    assert (folder / CHECKSUMS).read_bytes() == before


def test_a_line_break_in_a_name_cannot_make_one_file_hash_like_two():
    one, two = "a" * 64, "b" * 64
    forged = {f"x={one}\ny": two}
    assert bundle_sha256(forged) == bundle_sha256({"x": one, "y": two})
    document = json.loads(render_checksums(forged))
    with pytest.raises(IntegrityError, match="line break"):
        read_checksums({CHECKSUMS: json.dumps(document, indent=2).encode()})


# What is not a plain file.


@pytest.mark.parametrize("target", ["items.jsonl", "nowhere", "/etc", "."])
@pytest.mark.parametrize("where", ["link", "deep/link", CHECKSUMS])
def test_symbolic_links_are_refused_wherever_they_point(folder, target, where):
    (folder / "deep").mkdir()
    (folder / where).unlink(missing_ok=True)
    (folder / where).symlink_to(target)
    for attempt in (seal, load):
        with pytest.raises(IntegrityError, match="symbolic link") as refusal:
            attempt(folder)
        assert where in refusal.value.message


def test_a_link_to_a_whole_bundle_is_the_users_own_way_of_naming_it(folder, tmp_path):
    (tmp_path / "alias").symlink_to(folder)
    assert load(tmp_path / "alias").dataset_id == load(folder).dataset_id


def test_pipes_and_sockets_are_refused_and_not_waited_for(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for kind in ("pipe", "socket"):
        folder = _write(tmp_path / kind, SMALL)
        if kind == "pipe":
            os.mkfifo(folder / "odd")
        else:
            with socket.socket(socket.AF_UNIX) as listener:
                listener.bind(f"{kind}/odd")
        for attempt in (seal, load):
            with pytest.raises(IntegrityError, match="odd: not a regular file"):
                attempt(folder)


def test_a_pipe_that_takes_a_files_place_after_the_listing_is_refused(tmp_path, monkeypatch):
    _write(tmp_path, SMALL)
    real = os.open

    def swap(path, flags, *rest):
        if str(path).endswith("items.jsonl"):
            Path(path).unlink()
            os.mkfifo(path)
        return real(path, flags, *rest)

    monkeypatch.setattr(subject.os, "open", swap)
    with pytest.raises(IntegrityError, match="not a regular file"):
        read_inventory(tmp_path)


def test_a_link_that_takes_a_files_place_after_the_listing_is_not_followed(tmp_path, monkeypatch):
    folder = _write(tmp_path / "bundle", SMALL)
    (tmp_path / "secret").write_bytes(SMALL["items.jsonl"])
    real = os.open

    def swap(path, flags, *rest):
        if str(path).endswith("items.jsonl"):
            Path(path).unlink()
            Path(path).symlink_to(tmp_path / "secret")
        return real(path, flags, *rest)

    monkeypatch.setattr(subject.os, "open", swap)
    with pytest.raises(ConfigurationError, match="cannot be read"):
        read_inventory(folder)


def test_a_tree_deeper_than_the_interpreters_stack_is_read(tmp_path):
    _write(tmp_path, SMALL)
    place = tmp_path
    for _ in range(1500):
        place = place / "d"
        place.mkdir()
    (place / "x").write_bytes(b"")
    with pytest.raises(IntegrityError, match="present but not listed: d/d/d"):
        load(tmp_path)
    seal(tmp_path)
    assert load(tmp_path).name == "test"
    # pytest removes old folders by recursion, which such a depth would break.
    while place != tmp_path:
        for file in place.iterdir():
            file.unlink()
        place.rmdir()
        place = place.parent


def test_empty_folders_are_no_evidence(folder):
    (folder / "empty" / "er").mkdir(parents=True)
    assert load(folder).name == "test"


# Places.


@pytest.mark.parametrize("attempt", [seal, load])
def test_a_folder_that_is_not_there_is_a_configuration_error(tmp_path, attempt):
    (tmp_path / "file").write_bytes(b"")
    for place in (tmp_path / "nowhere", tmp_path / "file", tmp_path / "nul\0"):
        with pytest.raises(ConfigurationError) as refusal:
            attempt(place)
        assert refusal.value.exit_code == ExitCode.CONFIGURATION


def test_a_folder_that_cannot_be_listed_is_a_configuration_error(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(subject.os, "scandir", refuse)
    with pytest.raises(ConfigurationError, match="Permission denied"):
        read_inventory(tmp_path)


def test_an_empty_folder_is_not_sealed(tmp_path):
    with pytest.raises(ConfigurationError, match="empty folder"):
        seal(tmp_path)
    (tmp_path / CHECKSUMS).write_bytes(b"{}")
    with pytest.raises(ConfigurationError, match="empty folder"):
        seal(tmp_path)
    assert (tmp_path / CHECKSUMS).read_bytes() == b"{}"


def test_a_failed_write_leaves_nothing_behind(tmp_path):
    (tmp_path / "x").mkdir()
    with pytest.raises(ConfigurationError, match="no regular file"):
        write_atomically(tmp_path / "x", b"data")
    with pytest.raises(ConfigurationError, match="cannot be written"):
        write_atomically(tmp_path / "nowhere" / "x", b"data")
    with pytest.raises(ConfigurationError, match="not the name of a file"):
        write_atomically(Path("/"), b"data")
    with pytest.raises(ConfigurationError, match="cannot be written"):
        write_atomically(tmp_path / ("x" * 300), b"data")
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_a_write_that_breaks_off_leaves_nothing_behind(tmp_path, monkeypatch):
    def full(*_words):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(ConfigurationError, match="No space left"):
        write_atomically(tmp_path / "x", b"data")
    assert list(tmp_path.iterdir()) == []


def test_links_and_devices_are_not_replaced_by_files(tmp_path):
    victim = tmp_path / "victim"
    victim.write_bytes(b"mine")
    (tmp_path / "x").symlink_to(victim)
    with pytest.raises(ConfigurationError, match="no regular file"):
        write_atomically(tmp_path / "x", b"data")
    assert victim.read_bytes() == b"mine"


def test_an_unreadable_file_is_named(tmp_path, monkeypatch):
    folder = _write(tmp_path, SMALL)
    real = os.open

    def deny(path, *words):
        if str(path).endswith("items.jsonl"):
            raise PermissionError(13, "Permission denied")
        return real(path, *words)

    monkeypatch.setattr("plumbline.evidence.files.os.open", deny)
    with pytest.raises(ConfigurationError, match=r"items\.jsonl: cannot be read"):
        load(folder)


def test_white_space_that_json_does_not_know_is_no_blank(tmp_path):
    for blank in (b"\x0b", b"\x0c", b"\xc2\xa0"):
        content = {name: data for name, data in SMALL.items() if name != CHECKSUMS}
        content["responses.jsonl"] = blank + content["responses.jsonl"]
        with pytest.raises(BundleError, match=r"responses\.jsonl:1: not valid JSON"):
            load(_write(tmp_path / blank.hex(), bundles.resealed(content)))


# Line endings.


def test_converted_files_are_recognised_in_both_directions(tmp_path):
    unix = bundles.resealed({name: data + b"\n" for name, data in SMALL.items() if name != CHECKSUMS})
    plain = {name: data for name, data in unix.items() if name != CHECKSUMS}
    windows = {name: data.replace(b"\n", b"\r\n") for name, data in plain.items()}
    for sealed, stored in ((plain, windows), (windows, plain)):
        with pytest.raises(IntegrityError) as refusal:
            load(_write(tmp_path, {**stored, CHECKSUMS: bundles.resealed(sealed)[CHECKSUMS]}))
        assert "content mismatch: items.jsonl (its line endings were converted)" in refusal.value.message
        assert ".gitattributes" in refusal.value.remedy
        assert "-text" in refusal.value.remedy


def test_a_checkout_that_converts_everything_converts_the_seal_too_and_is_recognised(tmp_path):
    windows = {name: data.replace(b"\n", b"\r\n") for name, data in SMALL.items()}
    with pytest.raises(IntegrityError) as refusal:
        load(_write(tmp_path, windows))
    assert refusal.value.message == f"{CHECKSUMS}: its line endings were converted"
    assert ".gitattributes" in refusal.value.remedy


def test_another_change_is_not_taken_for_line_endings():
    with pytest.raises(IntegrityError) as refusal:
        verify_inventory({**SMALL, "items.jsonl": SMALL["items.jsonl"].replace(b"850", b"851\r\n")})
    assert "line endings" not in refusal.value.message


# Single bytes.


def test_every_value_of_every_byte_of_a_seal_is_seen():
    data = TINY[CHECKSUMS]
    for place, original in enumerate(data):
        for value in range(256):
            if value != original:
                changed = data[:place] + bytes([value]) + data[place + 1 :]
                with pytest.raises(IntegrityError):
                    parse({**TINY, CHECKSUMS: changed})


def test_every_bit_of_every_file_of_a_small_bundle_is_seen():
    for name, data in SMALL.items():
        for place in range(len(data)):
            for bit in range(8):
                changed = bytearray(data)
                changed[place] ^= 1 << bit
                with pytest.raises(IntegrityError) as refusal:
                    parse({**SMALL, name: bytes(changed)})
                assert name in refusal.value.message or name == CHECKSUMS


def test_a_sample_of_the_bytes_of_the_demonstration_is_seen():
    files = read_inventory(DEMO)
    verify_inventory(files)
    for name, data in files.items():
        for place in range(0, len(data), max(1, len(data) // 60)):
            changed = bytearray(data)
            changed[place] ^= 0x01
            with pytest.raises(IntegrityError):
                verify_inventory({**files, name: bytes(changed)})


@given(place=st.integers(0, len(SMALL[CHECKSUMS]) - 1), inserted=st.sampled_from([b" ", b"\t", b"\n", b"\r", b"\n\n"]))
def test_white_space_put_into_a_seal_is_seen(place, inserted):
    data = SMALL[CHECKSUMS]
    with pytest.raises(IntegrityError):
        parse({**SMALL, CHECKSUMS: data[:place] + inserted + data[place:]})


@pytest.mark.parametrize("indent", [None, 0, 1, 2, 3, 4, "\t"])
@pytest.mark.parametrize("separators", [None, (",", ":")])
@pytest.mark.parametrize("plain", [True, False])
@pytest.mark.parametrize("end", ["", "\n"])
def test_a_seal_that_any_serialiser_wrote_evenly_is_accepted(indent, separators, plain, end):
    files = bundles.resealed({name: data for name, data in (SMALL | {"ünï": b""}).items() if name != CHECKSUMS})
    text = json.dumps(json.loads(files[CHECKSUMS]), indent=indent, separators=separators, ensure_ascii=plain) + end
    assert parse({**files, CHECKSUMS: text.encode()}).name == "test"


@given(st.text(max_size=70))
def test_only_lowercase_hex_is_a_digest(text):
    assert is_digest(text) == (len(text) == 64 and all(char in "0123456789abcdef" for char in text))


@given(st.dictionaries(st.text("abc/=.é", min_size=1, max_size=6), st.binary(max_size=4), max_size=5))
def test_a_seal_fits_exactly_what_it_was_made_of(files):
    files = {name: data for name, data in files.items() if fault_in_name(name) is None}
    sealed = {**files, CHECKSUMS: render_checksums(digests(files))}
    assert verify_inventory(sealed).files == digests(files)
    with pytest.raises(IntegrityError):
        verify_inventory({**sealed, "another": b""})
