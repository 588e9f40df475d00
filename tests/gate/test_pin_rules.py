"""Do the two readers of the pin, the runner's and the action's, accept and refuse the same files?"""

import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plumbline.errors import ConfigurationError
from plumbline.launch.pin import inside, parse_pin
from tests.launch.support import ROOT

GOOD = b"repo = https://example.com/org/plumbline.git\nref = " + b"a1" * 20 + b"\nconfig = plumbline/target.toml\n"

ACCEPTED = {
    "plain": GOOD,
    "carriage returns": GOOD.replace(b"\n", b"\r\n"),
    "no final line end": GOOD.rstrip(),
    "comments": b"# a\n\n  # b = c\n" + GOOD.replace(b"toml\n", b"toml # here\n"),
    "comment right behind a value": GOOD.replace(b"toml\n", b"toml# here\n"),
    "tabs and no blanks": GOOD.replace(b" = ", b"\t=").replace(b"config", b"\t config"),
    "equals sign in a value": GOOD.replace(b"target.toml", b"a=b.toml"),
    "blank in a path": GOOD.replace(b"target.toml", b"my target.toml"),
    "letters of the world": GOOD.replace(b"target.toml", "zïel.toml".encode()),
    "dots in names": GOOD.replace(b"target.toml", b"..target..toml"),
    "every key": GOOD + b"baseline = b.json\nout = here\nrequire_comparable_baseline = true\n",
    "false": GOOD + b"require_comparable_baseline = false\n",
    "ssh": GOOD.replace(b"https://", b"ssh://git@"),
    "file": GOOD.replace(b"https://example.com", b"file:///srv"),
    "long hash-like path": GOOD.replace(b"target.toml", b"x" * 200),
}

REFUSED = {
    "empty": b"",
    "only comments": b"# repo = https://example.com/a\n",
    "unknown key": GOOD + b"refs = x\n",
    "misspelt key": GOOD + b"require-comparable-baseline = true\n",
    "key in capitals": GOOD.replace(b"ref =", b"REF ="),
    "key with a blank": GOOD.replace(b"ref =", b"re f ="),
    "repeated key": GOOD + b"ref = " + b"b1" * 20 + b"\n",
    "repeated key, same value": GOOD + b"config = plumbline/target.toml\n",
    "no equals sign": GOOD + b"baseline\n",
    "no key": GOOD + b"= x\n",
    "empty value": GOOD + b"baseline =\n",
    "commented value": GOOD + b"baseline = # none\n",
    "missing ref": GOOD.replace(b"ref = ", b"# "),
    "branch": GOOD.replace(b"a1" * 20, b"main"),
    "short": GOOD.replace(b"a1" * 20, b"a1" * 19),
    "long": GOOD.replace(b"a1" * 20, b"a1" * 32),
    "capitals": GOOD.replace(b"a1" * 20, b"A1" * 20),
    "not hex": GOOD.replace(b"a1" * 20, b"g1" * 20),
    "quoted": GOOD.replace(b"a1" * 20, b'"' + b"a1" * 20 + b'"'),
    "http": GOOD.replace(b"https:", b"http:"),
    "git protocol": GOOD.replace(b"https:", b"git:"),
    "scp form": GOOD.replace(b"https://example.com/", b"git@example.com:"),
    "helper": GOOD.replace(b"https://", b"ext::sh -c "),
    "option": GOOD.replace(b"https://", b"--upload-pack="),
    "scheme alone": GOOD.replace(b"https://example.com/org/plumbline.git", b"https://"),
    "credentials": GOOD.replace(b"https://", b"https://user:secret@"),
    "blank in a URL": GOOD.replace(b"org/plumb", b"org /plumb"),
    "quote in a URL": GOOD.replace(b"org/plumb", b"org'/plumb"),
    "backslash in a URL": GOOD.replace(b"org/plumb", b"org\\plumb"),
    "accent in a URL": GOOD.replace(b"org", "örg".encode()),
    "absolute path": GOOD.replace(b"plumbline/target", b"/etc/target"),
    "home": GOOD.replace(b"plumbline/target", b"~/target"),
    "parent": GOOD.replace(b"plumbline/target", b"plumbline/../../target"),
    "git's own folder": GOOD + b"out = .git\n",
    "in git's own folder": GOOD.replace(b"plumbline/target", b"a/.GIT/target"),
    "a very long line": GOOD + b"#" + b" " * 80_000 + b"x\n",
    "parent alone": GOOD + b"out = ..\n",
    "backslash": GOOD.replace(b"plumbline/target", b"plumbline\\target"),
    "drive": GOOD.replace(b"plumbline/target", b"c:target"),
    "option-like path": GOOD.replace(b"plumbline/target", b"--target"),
    "yes": GOOD + b"require_comparable_baseline = yes\n",
    "True": GOOD + b"require_comparable_baseline = True\n",
    "1": GOOD + b"require_comparable_baseline = 1\n",
    "NUL": GOOD.replace(b"target", b"tar\0get"),
    "escape": GOOD + b"# \x1b[31m\n",
    "form feed": GOOD.replace(b"ref = ", b"ref =\x0c"),
    "carriage return inside": GOOD.replace(b"target", b"tar\rget"),
    "two carriage returns": GOOD.replace(b"\n", b"\r\r\n"),
    "byte order mark": b"\xef\xbb\xbf" + GOOD,
    "shell": GOOD + b"$(touch x) = y\n",
    "shell in a key": GOOD + b"a;touch x = y\n",
}

PIECES = [GOOD, *GOOD.splitlines(keepends=True), b"baseline", b"out", b"require_comparable_baseline", b"x", b"=",
          b" = ",
          b"\n", b"\r\n", b"\r", b"\t", b" ", b"#", b"true", b"false", b"..", b"/", b"\\", b":", b"-", b"~", b"'", b'"',
          b"$(x)", b"`x`", b"*", b"\xc3\xa9", b"\x00", b"\x7f", b"a/b.toml"]  # fmt: skip

SHELLS = [shell for shell in (["dash"], ["busybox", "sh"], ["bash", "--posix"]) if shutil.which(shell[0])]


def read_by_action(data: bytes) -> bool:
    try:
        parse_pin(data, "plumbline.pin")
    except ConfigurationError:
        return False
    return True


def read_by_runner(data: bytes, folder: Path, shell: list[str]) -> bool:
    """Whether the runner gets past the pin: the next thing it does is to look for a Python, and there is none."""
    (folder / "plumbline.pin").write_bytes(data)
    done = subprocess.run(
        [*shell, str(ROOT / "gate" / "plumbline-gate.sh")],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "PLUMBLINE_PYTHON": "/nonexistent/python"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 4
    assert "x" not in [path.name for path in folder.iterdir()]
    return "no Python" in done.stderr


@pytest.mark.parametrize("shell", SHELLS, ids=lambda shell: shell[0])
@pytest.mark.parametrize("name", ACCEPTED)
def test_accepted_by_both(name: str, shell: list[str], tmp_path: Path) -> None:
    assert read_by_action(ACCEPTED[name])
    assert read_by_runner(ACCEPTED[name], tmp_path, shell)


@pytest.mark.parametrize("shell", SHELLS, ids=lambda shell: shell[0])
@pytest.mark.parametrize("name", REFUSED)
def test_refused_by_both(name: str, shell: list[str], tmp_path: Path) -> None:
    assert not read_by_action(REFUSED[name])
    assert not read_by_runner(REFUSED[name], tmp_path, shell)


def test_the_template_is_a_pin_but_for_its_commit() -> None:
    template = (ROOT / "gate" / "plumbline.pin").read_bytes()
    with pytest.raises(ConfigurationError, match="still the template's"):
        parse_pin(template, "plumbline.pin")
    assert parse_pin(template.replace(b"0" * 40, b"1" * 40), "plumbline.pin").ref == "1" * 40


def test_values_are_taken_as_written() -> None:
    pin = parse_pin(ACCEPTED["every key"].replace(b"b.json", b" a  b.json \t"), "plumbline.pin")
    assert (pin.baseline, pin.out, pin.require_comparable_baseline) == ("a  b.json", "here", True)


def test_a_link_that_leads_out_is_refused(tmp_path: Path) -> None:
    (tmp_path / "repository").mkdir()
    (tmp_path / "repository" / "out").symlink_to(tmp_path)
    (tmp_path / "repository" / "in").symlink_to(tmp_path / "repository")
    with pytest.raises(ConfigurationError, match="symbolic link"):
        inside(tmp_path / "repository", "out/target.toml", "config")
    inside(tmp_path / "repository", "in/target.toml", "config")


@given(st.binary(max_size=400) | st.lists(st.sampled_from(PIECES), max_size=12).map(b"".join))
def test_whatever_the_bytes_the_pin_is_read_or_refused(data: bytes) -> None:
    try:
        pin = parse_pin(data, "plumbline.pin")
    except ConfigurationError:
        return
    assert len(pin.ref) == 40


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=10).map(b"".join))
def test_both_readers_agree_on_whatever_is_put_together(data: bytes) -> None:
    with TemporaryDirectory() as folder:
        assert read_by_action(data) == read_by_runner(data, Path(folder), ["dash"])
