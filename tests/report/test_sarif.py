"""SARIF: what GitHub accepts and keeps, and identities that survive re-recording."""

import json
import re
from typing import Any

import jsonschema
import msgspec
import pytest

from plumbline.errors import ConfigurationError, InternalError
from plumbline.report.findings import findings
from plumbline.report.rules import catalogue
from plumbline.report.sarif import MAX_RESULTS, artifact_uri, refusal_sarif, sarif
from plumbline.suites.base import REASONS
from plumbline.suites.registry import IMPLEMENTED
from tests.multitool import schema
from tests.report.reports import (
    EVERY,
    held_out,
    hostile,
    make_report,
    many,
    one_wrong_number,
    place,
    smoke,
    suite,
    under_refusal,
    unverifiable,
    wrong_number,
)


def run_of(data: bytes) -> dict[str, Any]:
    log = json.loads(data)
    assert len(log["runs"]) == 1
    run: dict[str, Any] = log["runs"][0]
    return run


def run(report, **more) -> dict[str, Any]:
    return run_of(sarif(report, **{"root": "datasets/demo", **more}))


@pytest.fixture(scope="module")
def large() -> dict[str, Any]:
    return run(many())


@pytest.mark.parametrize("name", EVERY)
def test_fits_the_schema(name):
    validator = jsonschema.validators.validator_for(schema())(schema())
    assert [error.message for error in validator.iter_errors(json.loads(sarif(EVERY[name](), root="x")))] == []


@pytest.mark.parametrize("name", EVERY)
def test_the_same_report_gives_the_same_bytes(name):
    assert sarif(EVERY[name](), root="x") == sarif(EVERY[name](), root="./x/")


@pytest.mark.parametrize("name", EVERY)
def test_limits_of_code_scanning(name):
    check_limits(run(EVERY[name]()))


def test_limits_of_code_scanning_with_many_findings(large):
    check_limits(large)


def check_limits(found: dict[str, Any]) -> None:
    rules = found["tool"]["driver"]["rules"]
    assert len(found["results"]) <= 5000
    assert len({rule["id"] for rule in rules}) == len(rules) <= 25_000
    for rule in rules:
        assert 0 < len(rule["id"]) <= 255
        assert 0 < len(rule["name"]) <= 255
        assert 0 < len(rule["shortDescription"]["text"]) <= 1024
        assert 0 < len(rule["fullDescription"]["text"]) <= 1024
        assert rule["help"]["text"]
        assert rule["help"]["markdown"]
        assert len(rule["properties"]["tags"]) <= 10
        assert "security-severity" not in rule["properties"]
        assert rule["defaultConfiguration"]["level"] in {"error", "warning"}
    for result in found["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["kind"] == "fail"
        assert result["level"] in {"error", "warning"}
        assert 0 < len(result["message"]["text"]) <= 1500
        assert len(result["locations"]) == 1
        assert len(result.get("relatedLocations", [])) < 100
        for location in (*result["locations"], *result.get("relatedLocations", [])):
            where = location["physicalLocation"]
            region = where["region"]
            assert region["startLine"] == region["endLine"] >= 1
            assert 1 <= region["startColumn"] < region["endColumn"]
            assert re.fullmatch(r"(?:[A-Za-z0-9._~/-]|%[0-9A-F]{2})+", where["artifactLocation"]["uri"])
            assert not where["artifactLocation"]["uri"].startswith("/")
            assert where["artifactLocation"]["uriBaseId"] in found["originalUriBaseIds"]
    hashes = [(r["ruleId"], r["partialFingerprints"]["primaryLocationLineHash"]) for r in found["results"]]
    assert len(set(hashes)) == len(hashes)
    assert found["automationDetails"]["id"].endswith("/")
    assert found["columnKind"] == "utf16CodeUnits"


def test_the_place_of_a_wrong_number_is_the_number_itself():
    (result,) = run(one_wrong_number())["results"]
    assert result["ruleId"] == "accuracy"
    assert result["level"] == "error"
    where = result["locations"][0]["physicalLocation"]
    assert where["artifactLocation"]["uri"] == "datasets/demo/responses.jsonl"
    assert where["region"] == {"startLine": 17, "startColumn": 58, "endLine": 17, "endColumn": 59}
    (expected,) = result["relatedLocations"]
    assert expected["physicalLocation"]["artifactLocation"]["uri"] == "datasets/demo/items.jsonl"
    assert expected["message"]["text"] == "the reference states 5"
    assert expected["id"] == 1
    assert "states 8 instead" in result["message"]["text"]
    assert result["message"]["text"].endswith("[the item](1).")
    assert result["properties"] == {
        "suite": "accuracy",
        "item": "fare-day-pass-en",
        "reason": "missing_number",
        "hard": True,
        "itemScore": 0.8421,
        "score": 0.9312,
        "floor": 0.75,
        "suiteVerdict": "FAIL",
    }


def test_no_text_of_the_target_gets_into_the_file():
    report = make_report([suite(items=[wrong_number(said="the words of the target", wanted="the words of the item")])])
    assert b"the words of" not in sarif(report, root="x")


def test_a_passing_run_has_no_results_and_says_so():
    found = run(make_report())
    assert found["results"] == []
    assert found["properties"]["verdict"] == "PASS"
    assert found["invocations"] == [{"executionSuccessful": True, "exitCode": 0}]


def test_what_could_not_be_verified_is_a_warning_under_its_own_rule():
    results = run(unverifiable())["results"]
    assert {result["ruleId"] for result in results} == {"unverifiable/silent", "unverifiable/unreadable"}
    assert {result["level"] for result in results} == {"warning"}


def test_a_failed_item_of_a_suite_that_passed_is_a_written_out_warning():
    found = run(make_report([suite("refusal", [under_refusal("a")], score=0.95, floor=0.9), smoke()]))
    # The rule's own level is error: a result without a level would become one.
    assert found["tool"]["driver"]["rules"][found["results"][0]["ruleIndex"]]["defaultConfiguration"] == {
        "level": "error"
    }
    assert found["results"][0]["level"] == "warning"


def test_one_silent_item_is_one_alert_however_many_suites_hold_it_out():
    results = run(make_report([suite("accuracy", [held_out("q")]), suite("refusal", [held_out("q")])]))["results"]
    assert [result["properties"]["suites"] for result in results] == [["accuracy", "refusal"]]


def identities(report) -> dict[str, tuple[str, str]]:
    prints = {r["properties"]["item"]: r["partialFingerprints"] for r in run(report)["results"]}
    return {item: (p["plumblineItem/v1"], p["primaryLocationLineHash"]) for item, p in prints.items()}


def test_identity_survives_recording_anew_reordering_and_deletion():
    items = [wrong_number(f"i-{n}", where=[place(line=n + 1)]) for n in range(5)]
    moved = [
        wrong_number(f"i-{n}", said="other words", note="another number", where=[place(line=90 - n, start=7, end=9)])
        for n in reversed(range(1, 5))
    ]
    before, after = identities(make_report([suite(items=items)])), identities(make_report([suite(items=moved)]))
    assert len(set(before.values())) == 5
    assert after == {item: before[item] for item in after}


def test_the_same_item_under_two_suites_has_two_identities():
    report = make_report([suite(items=[wrong_number("a")]), suite("refusal", [under_refusal("a")])])
    prints = [result["partialFingerprints"]["primaryLocationLineHash"] for result in run(report)["results"]]
    assert len(set(prints)) == 2


def test_more_than_the_limit_is_said_in_a_result_and_a_notification(large):
    assert len(large["results"]) == MAX_RESULTS
    *kept, last = large["results"]
    expected = [finding.item.item for finding in findings(many())[: MAX_RESULTS - 1]]
    assert [result["properties"]["item"] for result in kept] == expected
    assert last["ruleId"] == "run/results-left-out"
    assert last["properties"]["leftOut"] == 20_500 - 4_999
    assert last["level"] == "error", "errors were left out, so it is one"
    assert "15,501 findings more" in last["message"]["text"]
    (notice,) = large["invocations"][0]["toolExecutionNotifications"]
    assert notice["message"] == last["message"]


def test_exactly_the_limit_needs_no_notice():
    report = make_report([suite(items=[wrong_number(f"{n}", hard=False) for n in range(5000)], score=0.1)])
    found = run(report)
    assert len(found["results"]) == 5000
    assert "toolExecutionNotifications" not in found["invocations"][0]


def test_many_places_of_one_item_are_cut():
    report = make_report([suite(items=[wrong_number(where=[place(line=n + 1) for n in range(3000)])])])
    (result,) = run(report)["results"]
    assert len(result["locations"]) + len(result["relatedLocations"]) == 100


def test_an_item_without_a_place_points_at_the_manifest():
    (result,) = run(make_report([suite(items=[wrong_number(where=[])])]))["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "datasets/demo/manifest.json"


def test_an_empty_region_gets_a_width():
    (result,) = run(make_report([suite(items=[wrong_number(where=[place(start=30, end=30)])])]))["results"]
    assert result["locations"][0]["physicalLocation"]["region"]["endColumn"] == 31


def test_every_file_has_the_same_rules():
    rules = [run(make())["tool"]["driver"]["rules"] for make in EVERY.values()]
    rules.append(run_of(refusal_sarif("X", "y", exit_code=4, file="target.toml"))["tool"]["driver"]["rules"])
    assert all(each == rules[0] for each in rules)
    ids = [rule["id"] for rule in rules[0]]
    assert ids == [rule.id for rule in catalogue()]
    assert set(IMPLEMENTED) < set(ids)
    assert {f"unverifiable/{key}" for key, reason in REASONS.items() if reason.unverifiable} < set(ids)


def test_a_finding_without_a_rule_is_our_own_fault():
    with pytest.raises(InternalError, match="no_such"):
        sarif(make_report([suite(items=[held_out("a", "no_such")])]), root="x")


def test_links_of_a_text_are_no_links_of_the_message():
    for result in run(hostile())["results"]:
        links = re.findall(r"(?<!\\)\[([^\]]*)(?<!\\)\]\(([^)]*)\)", result["message"]["text"])
        assert links in ([], [("the item", "1")])


@pytest.mark.parametrize("root", ["/abs", "..", "../x", "a/../..", "a\\b"])
def test_a_root_outside_the_repository_is_refused(root):
    with pytest.raises(ConfigurationError):
        sarif(make_report(), root=root)


@pytest.mark.parametrize("root", [".", "", "./"])
def test_a_bundle_at_the_root(root):
    (result,) = run(one_wrong_number(), root=root)["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "responses.jsonl"


def test_uris_are_percent_encoded():
    assert artifact_uri("a b/ñ:#?%/\U0001f600") == "a%20b/%C3%B1%3A%23%3F%25/%F0%9F%98%80"


def test_the_key_is_the_category():
    assert run(make_report(), key="nightly")["automationDetails"]["id"] == "plumbline/nightly/"


@pytest.mark.parametrize("exit_code", [3, 4, 5])
def test_a_refusal_points_at_the_file_to_blame(exit_code):
    data = refusal_sarif(
        "INTEGRITY REFUSAL", "x\x1b[0m" * 9999, exit_code=exit_code, file="a b/checksums.json", key="k"
    )
    found = run_of(data)
    (result,) = found["results"]
    assert result["ruleId"].startswith("run/")
    assert result["level"] == "error"
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "a%20b/checksums.json"
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == 1
    assert found["invocations"][0]["exitCode"] == exit_code
    assert found["invocations"][0]["executionSuccessful"] is False
    assert b"\x1b" not in data
    check_limits(found)


def test_nothing_null_is_written():
    assert b"null" not in sarif(one_wrong_number(), root="x").replace(b'"verdict": null', b"")
    assert b"null" not in sarif(hostile(), root="x")


def test_version_is_the_report_s_own():
    report = make_report()
    provenance = msgspec.structs.replace(report.provenance, harness_version="9.8.7")
    driver = run(msgspec.structs.replace(report, provenance=provenance))["tool"]["driver"]
    assert (driver["version"], driver["semanticVersion"]) == ("9.8.7", "9.8.7")
