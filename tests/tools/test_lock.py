"""Which wheels may stand in a lock, and is one written as the launcher reads it?"""

import pytest
from tools.lock import render, supported

from plumbline.launch.environment import read_lock


@pytest.mark.parametrize(
    ("wheel", "expected"),
    [
        ("a-1-py3-none-any.whl", True),
        ("a-1-py2.py3-none-any.whl", True),
        ("a-1-py2-none-any.whl", False),
        ("a-1-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl", True),
        ("a-1-cp314-cp314-musllinux_1_2_aarch64.whl", True),
        ("a-1-cp310-cp310-manylinux_2_17_x86_64.whl", False),
        ("a-1-cp315-cp315-manylinux_2_17_x86_64.whl", False),
        ("a-1-cp38-abi3-manylinux_2_17_x86_64.whl", True),
        ("a-1-cp315-abi3-manylinux_2_17_x86_64.whl", False),
        ("a-1-cp312-cp312-macosx_11_0_arm64.whl", True),
        ("a-1-cp312-cp312-macosx_10_13_universal2.whl", True),
        ("a-1-cp312-cp312-win_amd64.whl", True),
        ("a-1-cp312-cp312-win32.whl", False),
        ("a-1-cp312-cp312-manylinux_2_17_s390x.whl", False),
        ("a-1-pp311-pypy311_pp73-manylinux_2_17_x86_64.whl", False),
        ("a-1-1-cp312-cp312-win_arm64.whl", True),
    ],
)
def test_which_wheels_are_listed(wheel: str, expected: bool) -> None:
    assert supported(wheel) is expected


def entry(name: str, *wheels: tuple[str, str], marker: str = "python_full_version >= '3.11'") -> dict[str, object]:
    listed = [{"url": f"https://example.com/{file}", "hashes": {"sha256": digest * 64}} for file, digest in wheels]
    return {"name": name, "version": "1", "marker": marker, "wheels": listed, "sdist": {"url": "x"}}


def test_the_launcher_reads_what_is_written() -> None:
    text = render(
        [
            entry(
                "b", ("b-1-py3-none-any.whl", "b"), marker="python_full_version >= '3.11' and sys_platform == 'win32'"
            ),
            entry("a", ("a-1-cp312-cp312-win_amd64.whl", "2"), ("a-1-cp39-cp39-win_amd64.whl", "9")),
            entry("pbr", ("pbr-1-py3-none-any.whl", "c")),
        ]
    )
    lock = read_lock(text)
    assert lock.keys() == {"a", "b"}
    assert (lock["a"].everywhere, lock["b"].everywhere) == (True, False)
    assert lock["a"].hashes == {"2" * 64}
    assert "example.com" not in text


def test_a_package_without_a_wheel_stops_it() -> None:
    with pytest.raises(SystemExit, match="no wheel"):
        render([entry("a", ("a-1-cp39-cp39-win_amd64.whl", "9"))])
