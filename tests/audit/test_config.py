from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from plumbline.audit.config import load_target
from plumbline.errors import ConfigurationError, ExitCode, PlumblineError

BASE = '[target]\nname = "t"\n[dataset]\npath = "bundle"\n'


def load(tmp_path, text):
    path = tmp_path / "target.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return load_target(path)


def test_defaults(tmp_path):
    target = load(
        tmp_path, BASE + "[suites.smoke]\n[suites.accuracy]\nfloor = 0.7\n[suites.refusal]\nenabled = false\n"
    )
    assert [(entry.suite.id, entry.floor) for entry in target.suites] == [
        ("accuracy", Fraction(7, 10)),
        ("smoke", Fraction(1)),
    ]
    assert (tuple(target.disabled), target.dataset, target.baseline) == (("refusal",), tmp_path / "bundle", None)


def test_paths_are_beside_the_file(tmp_path):
    target = load(tmp_path, BASE + '[suites.smoke]\n[baseline]\npath = "../b.json"\n')
    assert target.baseline == tmp_path / "../b.json"


def test_the_adapter_table_is_recordings_business(tmp_path):
    assert load(tmp_path, BASE + '[suites.smoke]\n[adapter]\nkind = "x"\n').name == "t"


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        (BASE, "suites"),
        (BASE + "[suites]\n", "no suite is enabled"),
        (BASE + "[suites.smoke]\nenabled = false\n", "no suite is enabled"),
        (BASE + "[suites.smoke]\nflooor = 0.99\n", "'suites.smoke.flooor'; did you mean 'floor'"),
        (BASE + '[suites.smoke]\nenabled = "false"\n', "suites.smoke.enabled"),
        (BASE + '[suites.smoke]\ngap = "none"\n', "suites.smoke.gap declares a gap, and the suite is enabled"),
        (BASE + '[suites.smoke]\n[suites.refusal]\nenabled = false\nfix_belongs_in = " "\n', "refusal.fix_belongs_in"),
        (BASE + '[suites.smoke]\n[suites.refusal]\nenabled = false\ngap = "a\\nb"\n', "refusal.gap must be printable"),
        (BASE + '[suites.smoke]\nfloor_on = "upper"\n', "suites.smoke.floor_on"),
        (BASE + "[suites.smoke]\nenabled = 0\n", "suites.smoke.enabled"),
        (BASE + '[suites.smoke]\nfloor = "0.9"\n', "suites.smoke.floor"),
        (BASE + "[suites.smoke]\nfloor = true\n", "suites.smoke.floor"),
        (BASE + "[suites.smoke]\nfloor = 0\n", "floor is 0"),
        (BASE + "[suites.smoke]\nfloor = 0.0\n", "floor is 0"),
        (BASE + "[suites.smoke]\nfloor = -0.0\n", "floor is 0"),
        (BASE + "[suites.smoke]\nfloor = 1.01\n", "at most 1"),
        (BASE + "[suites.smoke]\nfloor = -0.5\n", "above 0"),
        (BASE + "[suites.smoke]\nfloor = nan\n", "not a number"),
        (BASE + "[suites.smoke]\nfloor = inf\n", "not a number"),
        (BASE + "[suites.smoke]\nfloor = 0.1234567\n", "more than 6 digits"),
        (BASE + "[suites.smoke]\nfloor = 1e-9\n", "more than 6 digits"),
        (BASE + "[suites.smoke]\nfloor = 1e99999\n", "at most 1"),
        (BASE + "[suites.smoke]\nfloor = 1e-2000000\n", "more than 6 digits"),
        (BASE + "[suites.smoke]\nfloor = 1e-999999999\n", "more than 6 digits"),
        (BASE + "[suites.smoke]\nfloor = 0.7500000000000000000000000000000000001\n", "more than 6 digits"),
        (BASE + "[suites.smoke]\nfloor = " + "9" * 5000 + "\n", ""),
        (BASE + "[suites.smoke]\n[suites.nosuch]\nenabled = false\n", "no such suite"),
        (BASE + "[suites]\nsmoke = 1\n", "suites"),
        (BASE + "[suites.smoke]\n[sutes.x]\n", "'sutes'; did you mean 'suites'"),
        (BASE + "[suites.smoke]\n[judge]\nkind = 'oracle'\n", "judge.kind"),
        (BASE + "[suites.smoke]\n[judge]\ntemperature = 0\n", "judge.temperature"),
        (BASE + "[suites.smoke]\n[baseline]\npath = ''\n", "baseline.path"),
        (BASE + "[suites.smoke]\n[baseline]\npth = 'x'\n", "baseline.pth"),
        ('[target]\nname = ""\n[dataset]\npath = "b"\n[suites.smoke]\n', "target.name"),
        ('[target]\nname = "a\\nb"\n[dataset]\npath = "b"\n[suites.smoke]\n', "target.name"),
        ('[target]\nname = "t"\nowner = "x"\n[dataset]\npath = "b"\n[suites.smoke]\n', "target.owner"),
        ('[target]\nname = "t"\n[dataset]\npath = ""\n[suites.smoke]\n', "dataset.path"),
        ('[target]\nname = "t"\n[dataset]\npath = "a\\u0000b"\n[suites.smoke]\n', "dataset.path"),
        ('[target]\nname = "t"\n[suites.smoke]\n', "dataset"),
        ("target = 3\n", "target"),
        ("[[[", "not valid TOML"),
        (b"\xff", "UTF-8"),
        ("x = " + "[" * 100_000, "TOML"),
    ],
)
def test_refusals_name_the_fault_and_are_exit_4(tmp_path, text, fact):
    with pytest.raises(ConfigurationError) as caught:
        load(tmp_path, text)
    assert caught.value.exit_code == ExitCode.CONFIGURATION
    assert fact in caught.value.message


@pytest.mark.parametrize(
    ("floor", "value"), [("0.75000000000", "3/4"), ("1.0", "1"), ("0.000001", "1/1000000"), ("5e-1", "1/2")]
)
def test_floors_are_taken_as_written(tmp_path, floor, value):
    target = load(tmp_path, BASE + f"[suites.smoke]\nfloor = {floor}\n")
    assert target.suites[0].floor == Fraction(value)


@pytest.mark.parametrize("path", [".", "missing.toml"])
def test_a_file_that_cannot_be_read(tmp_path, path):
    with pytest.raises(ConfigurationError, match=r"cannot be read|is not a file"):
        load_target(tmp_path / path)


TOML_TEXT = st.text(alphabet=st.sampled_from("[]{}=\"'.,\n #_-0123456789aefilnorstux\u00e9\0"), max_size=60)


@given(st.one_of(st.binary(max_size=80), TOML_TEXT.map(str.encode), TOML_TEXT.map(lambda t: (BASE + t).encode())))
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    max_examples=400,
    deadline=None,
)
def test_any_bytes_are_a_target_or_exit_4(tmp_path, data):
    try:
        target = load(tmp_path, data)
    except PlumblineError as error:
        assert error.exit_code == ExitCode.CONFIGURATION
    else:
        assert target.suites
