"""Does mutation testing name modules and tests that there are?"""

import re

import pytest

from tools import mutants


@pytest.mark.parametrize("name", sorted(mutants.OWN_TESTS))
def test_a_module_and_its_tests_exist(name):
    assert name in mutants.modules()
    for test in mutants.OWN_TESTS[name]:
        assert (mutants.ROOT / test).is_file()


def test_every_module_that_decides_a_verdict_has_tests():
    modules = mutants.modules()
    assert {"audit/verdict", "judge/text", "suites/base", "statistics/gap"} <= {*modules}
    assert not [name for name in modules if name.endswith("__init__")]
    assert all((mutants.ROOT / test).exists() for name in modules for test in mutants.tests_of(name))


@pytest.mark.parametrize(
    ("line", "alone"),
    [
        ('            remedy="Record the item again.",', True),
        ('        raise ValueError("a sample needs at least one item")', True),
        ('        return "there is no such item"', True),
        ('        return "PASS"', False),
        ('    if outcome.status == "no such thing":', False),
        ('            note="two words", hard=True,', False),
        ('        raise ValueError(f"not {x}", y)', False),
    ],
)
def test_only_a_sentence_is_left_alone(line, alone):
    assert any(re.search(pattern, line) for pattern in mutants.PROSE) == alone
