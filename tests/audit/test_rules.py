from __future__ import annotations

import pytest

from plumbline.audit.config import load_target
from plumbline.audit.rules import shared_words
from plumbline.audit.run import run_audit
from plumbline.errors import ConfigurationError
from plumbline.judge.language import SHIPPED, Profile
from plumbline.judge.lexical import LexicalJudge
from plumbline.report.build import build
from plumbline.report.markdown import report_markdown
from tests.bundles import files, item, target, write


def rules(tmp_path, more):
    return load_target(target(tmp_path, more=more)).rules


def test_a_declared_language_replaces_the_shipped_profile(tmp_path):
    found = rules(tmp_path, '[judge.languages.es]\nwords = ["hola"]\n[judge.languages.fa]\nscript = ["0600-06FF"]\n')
    assert found.profiles["es"] == Profile(words=frozenset({"hola"}))
    assert found.profiles["fa"] == Profile(script=((0x600, 0x6FF),))
    assert found.profiles["en"] == SHIPPED["en"]


@pytest.mark.parametrize(
    ("table", "named"),
    [
        ("[judge.languages.pt]\n", "neither words nor a script"),
        ('[judge.languages.pt]\nwords = ["d\'água"]\n', "judge.languages.pt.words"),
        ('[judge.languages.pt]\nwords = ["Ola"]\n', "'Ola'"),
        ('[judge.languages.pt]\nscript = ["600-6FF"]\n', "judge.languages.pt.script"),
        ('[judge.languages.pt]\nscript = ["06FF-0600"]\n', "empty range"),
        ('[judge.languages.pt]\nscript = ["0600-FFFFFF"]\n', "beyond Unicode"),
        ('[judge.languages.pt]\nword = ["ola"]\n', "did you mean 'words'"),
        ('[judge.languages.pt]\nscript = ["0000-10FFFF"]\n', "holds surrogates"),
        ('[judge.languages.pt]\nscript = ["D800-DFFF"]\n', "holds surrogates"),
        ('[judge.refusal_markers]\nen = ["of the"]\n', "only words that every text has"),
        ('[judge.languages.""]\nwords = ["ola"]\n', "blank language tag"),
        ('[judge.refusal_markers]\nen = ["only"]\n', "judge.refusal_markers.en"),
        ('[judge.refusal_markers]\nen = ["..."]\n', "fewer than 2 words"),
    ],
)
def test_a_table_that_could_not_mean_what_it_says_is_refused(tmp_path, table, named):
    with pytest.raises(ConfigurationError) as refusal:
        rules(tmp_path, table)
    assert named in str(refusal.value)


def test_a_services_own_wording_is_a_refusal(tmp_path):
    said = "I can only answer questions about published fares."
    assert LexicalJudge().features(said).refusal is None
    found = rules(tmp_path, '[judge.refusal_markers]\nen = ["I can only answer questions"]\n')
    assert LexicalJudge(found).features(said).refusal == (0, 27)


def test_profiles_that_share_words_are_warned_about():
    (warning,) = shared_words({**SHIPPED, "pt": Profile(words=frozenset({"para", "voce"}))})
    assert "es and pt share the words para" in warning
    assert not shared_words(SHIPPED)


def test_what_a_target_adds_to_the_judge_is_on_the_report(tmp_path):
    more = '[judge.languages.pt]\nwords = ["ola"]\n[judge.refusal_markers]\nen = ["I can only answer questions"]\n'
    write(tmp_path / "bundle", files([item("a")], {"a": "It costs 850 dollars."}))
    report = build(run_audit(load_target(target(tmp_path, more=more)), seed=1))
    assert report.judge.languages == ["ar", "en", "es", "pt"]
    assert report.judge.declared_languages == ["pt"]
    assert report.judge.declared_refusal_markers == ["i can only answer questions"]
    text = report_markdown(report)
    assert "| Refusal phrases added by the target | `i can only answer questions` |" in text
    assert "| Languages declared by the target | `pt` |" in text
