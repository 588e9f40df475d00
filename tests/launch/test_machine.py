"""Does anything that leads into the audited repository count as the machine's?"""

from pathlib import Path

import pytest

from plumbline.errors import ConfigurationError
from plumbline.launch.machine import chosen, is_outside, program, search_path


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    made = tmp_path / "workspace"
    (made / "bin").mkdir(parents=True)
    tool = made / "bin" / "tool"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    return made


def test_a_link_that_leads_into_the_workspace_is_inside(workspace: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "tool").symlink_to(workspace / "bin" / "tool")
    (outside / "folder").symlink_to("../workspace/bin")
    (outside / "loop").symlink_to("loop")
    # Where it ends is outside, but the repository decides where.
    (workspace / "way").symlink_to("/usr/bin/env")
    (outside / "through").symlink_to(workspace / "way")
    (outside / "fine").symlink_to("/usr/bin/env")
    for name in ("tool", "folder/tool", "loop", "through"):
        assert not is_outside(outside / name, workspace), name
    assert is_outside(outside / "fine", workspace)
    assert not is_outside(Path("relative"), workspace)
    path = search_path({"PATH": f"{outside / 'folder'}::bin:{outside}"}, workspace)
    assert path == str(outside)
    with pytest.raises(ConfigurationError, match="tool was not found"):
        program("tool", path, workspace)
    assert program("fine", path, workspace) == str(outside / "fine")


def test_variables_that_name_a_path_in_the_workspace_are_dropped(workspace: Path) -> None:
    given = {"HOME": str(workspace), "SSL_CERT_FILE": "ca.pem", "https_proxy": "http://proxy:1", "TERM": ""}
    names = ("HOME", "SSL_CERT_FILE", "https_proxy", "TERM")
    assert chosen(given, names, workspace) == {"https_proxy": "http://proxy:1"}
