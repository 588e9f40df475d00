"""What the documentation shows is what happens: its console blocks are run, its code is executed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).resolve().parents[2]
MAIN = ROOT / "src/plumbline/__main__.py"
DEMO = ROOT / "datasets/tidewater-demo"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(page: str, language: str, heading: str | None = None) -> list[str]:
    """The fenced blocks of a page, or of one of its sections, in one language."""
    text = (ROOT / page).read_text()
    if heading is not None:
        text = text.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    found = [body for tag, body in BLOCK.findall(text) if tag == language]
    assert found
    return found


def steps(block: str) -> list[tuple[str, str]]:
    """Pairs of command and expected output. A line that begins with `>` goes on with the command."""
    pairs: list[list[str]] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            pairs.append([line[2:], ""])
        elif line.startswith(">"):
            pairs[-1][0] += "\n" + line[1:].removeprefix(" ")
        else:
            pairs[-1][1] += line + "\n"
    return [(command, output) for command, output in pairs]


def matches(expected: str, found: str) -> bool:
    """Whether output is as shown; `…` stands for anything, alone on its line for any lines."""
    pattern = re.escape(expected).replace(re.escape("…\n"), "(?:.*\n)*").replace("…", ".*")
    return re.fullmatch(pattern, found) is not None


class Shell:
    """Runs commands one after another, as a reader's shell would."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.here, self.before = folder, ROOT, ROOT
        (folder / "bin").mkdir()
        gate = f'"{sys.executable}" -I -X utf8 "{MAIN}" gate --config examples/tidewater.toml --out "{folder}/out"'
        scripts = {
            "plumbline": f'"{sys.executable}" -I -X utf8 "{MAIN}" "$@"',
            # What it would install is what is being tested.
            "pip": "true",
            # The environments that the Makefile builds are tested by whoever types it; here its one line counts.
            "make": f'[ "$1" != gate ] || exec {gate}',
        }
        for name, line in scripts.items():
            script = folder / "bin" / name
            script.write_text(f"#!/bin/sh\n{line}\n")
            script.chmod(0o755)

    def run(self, command: str) -> str:
        """What a terminal shows, without the warnings about the demonstration itself."""
        found = subprocess.run(
            ["bash", "-c", f"{command}\npwd > '{self.folder}/here'"],
            cwd=self.here,
            env={
                **os.environ,
                "TMPDIR": str(self.folder),
                "OLDPWD": str(self.before),
                "PATH": f"{self.folder}/bin:{os.environ['PATH']}",
                "PYTHONUNBUFFERED": "1",
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        here = Path((self.folder / "here").read_text().strip())
        if here != self.here:
            self.here, self.before = here, self.here
        return "".join(line for line in found.stdout.splitlines(keepends=True) if not line.startswith("WARNING: item"))


def play(shell: Shell, bodies: list[str]) -> None:
    """Type console blocks into a shell and look at what it says."""
    for block in bodies:
        for command, expected in steps(block):
            shown = shell.run(command)
            assert matches(expected, shown), f"$ {command}\n{shown}"


@pytest.mark.parametrize("section", ["Evidence of your own", "Try to cheat it"])
def test_the_readme_is_run_as_shown(tmp_path, section):
    shell = Shell(tmp_path)
    play(shell, blocks("README.md", "console", section))
    assert shell.here.is_relative_to(tmp_path)
    assert (shell.here / "plumbline-audits").is_dir()


def test_the_first_command_says_what_the_readme_says(tmp_path):
    play(Shell(tmp_path), blocks("README.md", "console", "Two commands"))


PAGES = sorted(page.name for page in (ROOT / "docs").glob("*.md") if "\n```console\n" in page.read_text())


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_run_as_shown(tmp_path, page):
    checkout = tmp_path / "checkout"
    for name in ("datasets", "examples", "baselines"):
        shutil.copytree(ROOT / name, checkout / name, ignore=shutil.ignore_patterns("recorded", "__pycache__"))
    shell = Shell(tmp_path)
    shell.here = shell.before = checkout
    play(shell, blocks(f"docs/{page}", "console"))


def test_every_link_between_pages_leads_somewhere():
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), ROOT / "gate/README.md"]
    assert len(pages) > 10
    broken = []
    for page in pages:
        text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            path, _, heading = target.partition("#")
            if path.startswith(("http:", "https:")):
                continue
            found = (page.parent / path).resolve() if path else page
            if not found.exists() or (heading and heading not in anchors(found)):
                broken.append(f"{page.relative_to(ROOT)}: {target}")
    assert not broken


def anchors(page: Path) -> set[str]:
    """What the headings of a page are called in links, as GitHub makes it."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_readme_leads_to_every_page():
    readme = (ROOT / "README.md").read_text()
    assert [page.name for page in (ROOT / "docs").glob("*.md") if f"](docs/{page.name}" not in readme] == []


def test_a_bundle_can_be_checked_with_a_shell():
    (command,) = blocks("docs/formats.md", "sh")
    found = subprocess.run(["bash", "-c", command], cwd=DEMO, capture_output=True, text=True, check=True)
    assert found.stdout.split()[0] in (DEMO / "checksums.json").read_text()


def test_a_report_can_be_checked_without_plumbline(tmp_path):
    subprocess.run(
        [sys.executable, "-I", str(MAIN), "audit", "--config", str(ROOT / "examples/tidewater.toml"), "--out", "out"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    report = next(tmp_path.glob("out/*/report.json"))
    code = "\n".join(blocks("docs/formats.md", "python"))
    assert "plumbline" not in code
    subprocess.run([sys.executable, "-I", "-c", code], cwd=report.parent, check=True)
    report.write_text(report.read_text().replace("0.75", "0.76"))
    assert subprocess.run([sys.executable, "-I", "-c", code], cwd=report.parent, stderr=-3, check=False).returncode == 1
