from __future__ import annotations

from fractions import Fraction

import pytest

from plumbline.audit.config import load_target
from plumbline.audit.judges import _items_by_key, make_judge, wanted
from plumbline.audit.run import run_audit
from plumbline.errors import ConfigurationError, EmptyPopulationError, ExitCode
from plumbline.evidence.bundle import load
from plumbline.judge.lexical import LexicalJudge, judge_config_sha256
from plumbline.judge.model import DELEGATED_TO_LEXICAL, NOTICE
from tests.bundles import files, item, refuse, resealed, target, write
from tests.models import ANSWERS, ITEMS, NOWHERE, judged, model_target

SUITES = "[suites.smoke]\n[suites.accuracy]\n"


@pytest.fixture
def folder(tmp_path):
    write(tmp_path / "bundle", files(ITEMS, ANSWERS))
    return tmp_path


def scored(folder, **more):
    config = model_target(folder, **more)
    return run_audit(load_target(config), seed=1)


def test_lexical_is_the_default(folder):
    made = load_target(target(folder))
    assert made.model is None
    assert type(make_judge(made, offline_only=True)) is LexicalJudge


def test_scores_come_from_the_cache_and_everything_else_does_not(folder):
    judged(model_target(folder), {"a": "0.9", "b": "0.75"})
    run = scored(folder, suites="[suites.accuracy]\nfloor = 0.8\n[suites.smoke]\n[suites.refusal]\n")
    results = {entry.result.suite: entry.result for entry in run.suites}
    assert results["accuracy"].score == Fraction(33, 40)
    assert results["refusal"].score == 1
    assert (run.judge.kind, run.judge.deterministic) == ("model", False)
    assert NOTICE in run.warnings


def test_an_exact_score_meets_its_floor(folder):
    judged(model_target(folder), {"a": "0.7", "b": "0.7"})
    assert scored(folder, suites="[suites.accuracy]\nfloor = 0.7\n[suites.smoke]\n").verdict == "PASS"
    judged(model_target(folder), {"a": "0.7", "b": "0.699999"})
    assert scored(folder, suites="[suites.accuracy]\nfloor = 0.7\n[suites.smoke]\n").verdict == "FAIL"


def test_every_missing_judgment_is_named_and_none_is_zero(folder):
    judged(model_target(folder), {})
    with pytest.raises(ConfigurationError) as caught:
        scored(folder, suites=SUITES)
    assert caught.value.exit_code == ExitCode.CONFIGURATION
    assert "2 judgments are missing" in caught.value.message
    assert "a, b" in caught.value.message
    assert "judge record" in caught.value.remedy


def test_one_missing_judgment(folder):
    judged(model_target(folder), {"a": "1"})
    with pytest.raises(ConfigurationError, match=r"1 judgments are missing from the cache, for the items b$"):
        scored(folder, suites=SUITES)


def test_another_refusal_of_a_suite_stays_what_it_is(folder):
    write(folder / "bundle", files([refuse("r")], {"r": "No."}))
    judged(model_target(folder), {})
    with pytest.raises(EmptyPopulationError):
        scored(folder, suites="[suites.accuracy]\n")


def test_silence_is_zero_and_nobody_is_asked(folder):
    items = [item("a"), item("s"), item("n"), item("p")]
    write(folder / "bundle", files(items, {"a": "It is 850.", "s": "", "n": None, "p": "[src-1] ... !"}))
    config = model_target(folder, suites="[suites.accuracy]\nfloor = 0.2\n[suites.smoke]\nfloor = 0.2\n")
    judged(config, {"a": "1"})
    made = load_target(config)
    assert wanted(made, run_audit(made, seed=1).bundle, make_judge(made, offline_only=True).judgments) == {}
    accuracy = run_audit(made, seed=1).suites[0].result
    assert [outcome.score for outcome in accuracy.outcomes] == [1, 0, 0, 0]


def test_a_cache_that_is_not_there(folder):
    with pytest.raises(ConfigurationError, match=r"judgments\.json: there is no judgment cache"):
        scored(folder, suites=SUITES)


@pytest.mark.parametrize("judge", ['body = { q = "{expected} {actual}" }', ""])
def test_a_cache_of_another_prompt_or_model(folder, judge):
    config = model_target(folder)
    judged(config, {"a": "1", "b": "1"})
    config = model_target(folder, judge=judge)
    if not judge:
        config.write_text(config.read_text().replace("grader-1", "grader-2"))
    with pytest.raises(ConfigurationError, match="answer another question"):
        run_audit(load_target(config), seed=1)


def test_live_is_refused_where_only_offline_will_do(folder):
    config = model_target(folder, judge='mode = "live"')
    judged(config, {"a": "1", "b": "1"})
    with pytest.raises(ConfigurationError) as caught:
        run_audit(load_target(config), seed=1)
    assert 'mode is "live"' in caught.value.message
    run = run_audit(load_target(config), seed=1, offline_only=False)
    # Live or cached, the same judgments graded it, so the two may be compared.
    assert run.judge_config_sha256 == scored(folder, suites=SUITES).judge_config_sha256


def config_of(folder, scores, **more):
    config = model_target(folder, **more)
    judged(config, scores)
    return make_judge(load_target(config), offline_only=True)


def test_the_judge_hash_holds_what_was_decided_and_how_it_was_asked(folder):
    scores = {"a": "1", "b": "0.5"}
    before = judge_config_sha256(config_of(folder, scores))
    assert judge_config_sha256(config_of(folder, {**scores, "b": "0.6"})) != before
    assert judge_config_sha256(config_of(folder, scores, judge='headers = { "X-Tier" = "b" }')) != before
    assert judge_config_sha256(config_of(folder, scores, judge='response_pointer = "score"')) != before
    assert judge_config_sha256(config_of(folder, scores, endpoint=NOWHERE + "2")) != before
    assert judge_config_sha256(config_of(folder, scores, judge='refusal_markers = { en = ["ask the desk"] }')) != before
    # How patiently it was asked decides nothing, and its query may hold what nobody should read.
    for same in ("retries = 3", "timeout_seconds = 2.5", "max_response_bytes = 9", "retry_delay_seconds = 0"):
        assert judge_config_sha256(config_of(folder, scores, judge=same)) == before
    assert judge_config_sha256(config_of(folder, scores, endpoint=NOWHERE + "?api-version=3")) == before


def test_config_and_description(folder):
    judge = config_of(folder, {"a": "1", "b": "0.5"}, endpoint=NOWHERE + "?version=canary")
    config, told = judge.config(), judge.describe()
    assert (config["kind"], config["deterministic"], config["model"]) == ("model", False, "grader-1")
    assert config["model_decides"] == ["answer_score"]
    assert config["delegated_to_lexical"] == list(DELEGATED_TO_LEXICAL)
    assert config["lexical"] == LexicalJudge().config()
    assert (config["endpoint"], config["judgment_count"]) == (NOWHERE, 2)
    assert told["judgments_sha256"] == config["judgments_sha256"] == judge.judgments.sha256
    assert (told["notice"], told["endpoint"], told["judgments"]) == (NOTICE, NOWHERE, 2)
    assert "canary" not in str(config) + str(told)


def test_nobody_can_be_asked_for_a_lexical_judge(folder):
    made = load_target(target(folder))
    with pytest.raises(ConfigurationError, match="lexical"):
        wanted(made, None, None)


def test_the_items_of_every_recorded_text_are_known(folder):
    # A suite may ask about other texts of a record than the first; then its items are named all the same.
    content = files([item("a", turns=["and?"])], {"a": "It is 850."})
    lines = content["responses.jsonl"].replace(
        b'"response": "It is 850."',
        b'"response": "It is 850.", "turn_responses": ["It is 850.", "No more."], "passes": ["It is 850.", "850!"]',
    )

    content.pop("checksums.json")
    write(folder / "bundle", resealed({**content, "responses.jsonl": lines}))
    config = model_target(folder, suites=SUITES)
    judged(config, {})
    made = load_target(config)
    named = _items_by_key(load(made.dataset), make_judge(made, offline_only=True))
    assert list(named.values()) == [["a"]] * 3


GOOD = 'kind = "model"\nmodel = "m"\nendpoint = "https://models.example/v1"\ncache = "c.json"\n'


@pytest.mark.parametrize(
    ("table", "fact"),
    [
        ('kind = "model"\n', "'judge.model' is missing"),
        ('kind = "model"\nmodel = "m"\n', "'judge.endpoint' is missing"),
        (GOOD.replace("cache", "#"), "'judge.cache' is missing"),
        (GOOD + "temperature = 0\n", "unknown key 'judge.temperature'"),
        (GOOD + "timeout_second = 3\n", "did you mean 'timeout_seconds'"),
        ('model = "m"\n', "unknown key 'judge.model'"),
        ('kind = "lexical"\ncache = "c"\n', "unknown key 'judge.cache'"),
        ("kind = 3\n", "judge"),
        (GOOD.replace('"m"', '" "'), "judge.model"),
        (GOOD.replace('"m"', '"m\\n"'), "judge.model"),
        (GOOD.replace('"m"', "3"), "judge.model"),
        (GOOD.replace("c.json", " "), "judge.cache is empty"),
        (GOOD.replace("c.json", "\\u0000"), "judge.cache"),
        (GOOD + 'mode = "auto"\n', "judge.mode"),
        (GOOD + 'method = "GET"\n', "judge.method"),
        (GOOD.replace("https", "ftp"), "judge.endpoint"),
        (GOOD.replace("https", "file"), "judge.endpoint"),
        (GOOD.replace("models.example", "user:pw@models.example"), "judge.endpoint"),
        (GOOD.replace("models.example", "mod\\nels.example"), "judge.endpoint"),
        (GOOD.replace("models.example", "mödels.example"), "judge.endpoint"),
        (GOOD.replace("/v1", "/v1#top"), "judge.endpoint"),
        (GOOD.replace("/v1", "/v1?api_key=x"), "credential in its query"),
        (GOOD.replace("/v1", "/v1?sig&Token=x"), "credential in its query"),
        (GOOD + 'headers = { Authorization = "Bearer x" }\n', "judge.headers.Authorization looks like a credential"),
        (GOOD + 'headers = { X_API_Key = "x" }\n', "judge.headers.X_API_Key looks like a credential"),
        (GOOD + 'headers = { "X Y" = "x" }\n', "judge.headers: not the name"),
        (GOOD + 'headers = { Host = "x" }\n', "judge.headers.Host: not the name"),
        (GOOD + 'headers = { "X-A" = "x\\r\\nY: z" }\n', "judge.headers.X-A must be printable"),
        (GOOD + 'headers = { "X-A" = 3 }\n', "judge.headers"),
        (GOOD + 'headers = { "X-A" = { env = "A B" } }\n', "judge.headers.X-A.env"),
        (GOOD + 'headers = { "X-A" = { env = "A", prefix = "\\n" } }\n', "judge.headers.X-A.prefix"),
        (GOOD + 'headers = { "X-A" = { environment = "A" } }\n', "environment"),
        (GOOD.replace("https", "http") + 'headers = { "X-A" = { env = "A" } }\n', "plain http"),
        (GOOD + 'response_pointer = "a..b"\n', "judge.response_pointer"),
        (GOOD + 'response_pointer = ""\n', "judge.response_pointer"),
        (GOOD + 'body = { a = "{expected}" }\n', "judge.body: {actual} is used nowhere"),
        (GOOD + 'body = { a = "{expected}{actual}", b = "{prompt}" }\n', "judge.body.b: unknown placeholder"),
        (GOOD + 'body = { a = "{expected}{actual}", b = 2026-01-01 }\n', "judge.body.b: not a value"),
        (GOOD + 'body = { a = "{expected}{actual}", b = nan }\n', "judge.body.b: not a value"),
        (GOOD + "body = 3\n", "judge.body"),
        (GOOD + "timeout_seconds = 0\n", "judge.timeout_seconds must be from 0.1 to 300"),
        (GOOD + "timeout_seconds = 300.1\n", "judge.timeout_seconds"),
        (GOOD + "timeout_seconds = nan\n", "judge.timeout_seconds"),
        (GOOD + "timeout_seconds = true\n", "judge.timeout_seconds"),
        (GOOD + 'timeout_seconds = "3"\n', "judge.timeout_seconds"),
        (GOOD + "max_response_bytes = 0\n", "judge.max_response_bytes"),
        (GOOD + "max_response_bytes = 1.5\n", "judge.max_response_bytes"),
        (GOOD + "max_response_bytes = 8388609\n", "judge.max_response_bytes"),
        (GOOD + "retries = 6\n", "judge.retries"),
        (GOOD + "retries = -1\n", "judge.retries"),
        (GOOD + "retry_delay_seconds = 61\n", "judge.retry_delay_seconds"),
        (GOOD + 'languages = { xx = { words = ["Two Words"] } }\n', "judge.languages.xx"),
    ],
)
def test_tables_that_are_refused(tmp_path, table, fact):
    with pytest.raises(ConfigurationError) as caught:
        load_target(target(tmp_path, more=f"[judge]\n{table}"))
    assert fact in caught.value.message
    assert caught.value.message.startswith("target.toml: ")


@pytest.mark.parametrize(
    "table",
    [
        GOOD,
        GOOD.replace("https://models.example", "http://models.example"),
        GOOD.replace("https://models.example/v1", "http://localhost:80") + 'headers = { "X-A" = { env = "A" } }\n',
        GOOD.replace("https://models.example", "http://[::1]:80") + 'headers = { "X-A" = { env = "A" } }\n',
        GOOD + 'headers = { Authorization = { env = "KEY", prefix = "Bearer " }, "X-A" = "b" }\n',
        GOOD + "timeout_seconds = 0.1\nmax_response_bytes = 1\nretries = 5\nretry_delay_seconds = 0.5\n",
    ],
)
def test_tables_that_are_taken(tmp_path, table):
    assert load_target(target(tmp_path, more=f"[judge]\n{table}")).model is not None
