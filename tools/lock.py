"""Which exact files may be installed, on every supported Python and platform?

Writes `requirements/*.txt`: pinned versions with the SHA-256 of their wheels. Only wheels are listed, so that nothing
is ever built from source where a gate runs, and only those for platforms the gate supports, so that the files stay
readable. No address is recorded: any index that serves the same bytes will do. Run by `make lock`.
"""

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
OLDEST = "3.11"
NEWEST = "3.14"

LOCKS: dict[str, list[str]] = {
    "gate": ["--extra", "terminal", "--extra", "sarif"],
    "action": ["--extra", "terminal", "--extra", "sarif", "--extra", "github", "--extra", "yaml"],
    "record": ["--extra", "record", "--extra", "import"],
    "dev": ["--all-extras", "requirements/dev.in"],
    "mutants": ["--all-extras", "requirements/dev.in", "requirements/mutants.in"],
}
"""Lock name to what it compiles besides the base dependencies of pyproject.toml."""

LEFT_OUT = {
    "pbr": "sarif-om names the tool it was built with as if it needed it; nothing in it imports it",
    "setuptools": "only pbr asks for it",
}
"""Packages that are resolved and not installed: less code where a gate runs."""

_PYTHONS = {f"cp3{minor}" for minor in range(int(OLDEST[2:]), int(NEWEST[2:]) + 1)}
_PLATFORM = re.compile(
    r"any|(manylinux|musllinux)\w*_(x86_64|aarch64)|macosx_\w+_(x86_64|arm64|universal2)|win_(amd64|arm64)"
)
_ALWAYS = f"python_full_version >= '{OLDEST}'"


def supported(wheel: str) -> bool:
    """Whether a wheel's file name fits a Python and a platform that the gate supports."""
    pythons, abis, platforms = (part.split(".") for part in wheel.removesuffix(".whl").split("-")[-3:])
    abi3 = "abi3" in abis and any(re.fullmatch(r"cp3\d*", tag) and _minor(tag) <= int(NEWEST[2:]) for tag in pythons)
    python = abi3 or "py3" in pythons or not _PYTHONS.isdisjoint(pythons)
    return python and any(_PLATFORM.fullmatch(platform) for platform in platforms)


def _minor(tag: str) -> int:
    return int(tag.removeprefix("cp3") or 0)


def compiled(name: str) -> list[dict[str, Any]]:
    """Ask uv which versions fit together on all supported Pythons."""
    with TemporaryDirectory() as folder:
        out = Path(folder) / "pylock.toml"
        subprocess.run(
            [
                "uv", "pip", "compile", "--quiet", "--no-header", "--universal", "--python-version", OLDEST,
                # One version for all Pythons where one exists: the same arithmetic everywhere.
                "--fork-strategy", "fewest", "--only-binary", ":all:", "--format", "pylock.toml",
                "pyproject.toml", *LOCKS[name], "--output-file", str(out),
            ],
            cwd=ROOT,
            check=True,
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        packages: list[dict[str, Any]] = tomllib.loads(out.read_text())["packages"]
        return packages


def render(packages: list[dict[str, Any]]) -> str:
    """The text of one lock."""
    lines = ["# Written by tools/lock.py (make lock). Wheels only; no file may be added by hand."]
    wanted = (package for package in packages if package["name"] not in LEFT_OUT)
    for package in sorted(wanted, key=lambda entry: (entry["name"], entry["version"])):
        marker = package.get("marker", _ALWAYS).removeprefix(f"{_ALWAYS} and ")
        condition = "" if marker == _ALWAYS else f" ; {marker}"
        hashes = sorted(
            wheel["hashes"]["sha256"] for wheel in package.get("wheels", []) if supported(_file_name(wheel))
        )
        if not hashes:
            sys.exit(f"{package['name']} {package['version']}: no wheel for any supported Python and platform")
        lines.append(f"{package['name']}=={package['version']}{condition} \\")
        lines.extend(f"    --hash=sha256:{digest} \\" for digest in hashes)
        lines[-1] = lines[-1].removesuffix(" \\")
    return "\n".join(lines) + "\n"


def _file_name(wheel: dict[str, Any]) -> str:
    name: str = wheel.get("name") or wheel["url"].rsplit("/", 1)[-1]
    return name


def main() -> int:
    """Write every lock."""
    for name in LOCKS:
        packages = compiled(name)
        path = ROOT / "requirements" / f"{name}.txt"
        path.write_text(render(packages))
        print(f"{path.relative_to(ROOT)}: {len(packages)} packages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
