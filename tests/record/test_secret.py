from __future__ import annotations

import base64
import json
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plumbline.errors import ConfigurationError
from plumbline.record.secret import Secrets, looks_secret, registered
from plumbline.report.sinks import visible

CANARY = 'k3y "with" ümlaut/and+more'


def with_secret(value=CANARY):
    secrets = Secrets({"TOKEN": value})
    secrets.resolve({"env": "TOKEN"}, key="adapter.headers.Authorization")
    return secrets


def test_a_name_stands_for_the_value():
    secrets = Secrets({"TOKEN": "abcd1234"})
    assert secrets.resolve({"env": "TOKEN"}, key="k") == "abcd1234"
    assert secrets.resolve({"env": "TOKEN", "prefix": "Bearer "}, key="k") == "Bearer abcd1234"
    assert secrets.resolve("plain", key="k") == "plain"
    assert secrets.mask("it is abcd1234!") == "it is [masked: TOKEN]!"


@pytest.mark.parametrize(
    ("value", "environ", "told"),
    [
        ({"env": "TOKEN"}, {}, "TOKEN is not set"),
        ({"env": "TOKEN"}, {"TOKEN": " "}, "TOKEN is empty"),
        ({"env": "TOKEN"}, {"TOKEN": "abc"}, "fewer than 4"),
        ({"env": "TOKEN"}, {"TOKEN": "abcd\r\nX: y"}, "control character"),
        ({"env": "A=B"}, {}, "name of an environment variable"),
        ({"env": 3}, {}, "name of an environment variable"),
        ({"env": "TOKEN", "prefix": 1}, {}, "k.prefix"),
        ({"env": "TOKEN", "defualt": "x"}, {}, "unknown key 'defualt'"),
        ({"env": "TOKEN", "prefix": "a\nb"}, {"TOKEN": "abcd"}, "control character"),
        ("a\nb", {}, "control character"),
        (7, {}, "must be a string"),
    ],
)
def test_what_is_refused(value, environ, told):
    with pytest.raises(ConfigurationError) as caught:
        Secrets(environ).resolve(value, key="k")
    assert told in caught.value.message
    assert not any(len(secret) > 3 and secret in caught.value.message for secret in environ.values())


def test_several_lines_where_they_may_be():
    pem = "-----BEGIN-----\nabcdefghij\n-----END-----"
    secrets = Secrets({"PEM": pem})
    assert secrets.resolve({"env": "PEM"}, key="k", one_line=False) == pem
    assert "abcdefghij" not in secrets.mask("one line of it: abcdefghij")
    with pytest.raises(ConfigurationError):
        secrets.resolve("a\0b", key="k", one_line=False)


@pytest.mark.parametrize(
    "form",
    [
        CANARY,
        json.dumps(CANARY)[1:-1],
        json.dumps(CANARY, ensure_ascii=False)[1:-1],
        quote(CANARY),
        quote(CANARY, safe=""),
        quote_plus(CANARY),
        repr(CANARY)[1:-1],
        visible(CANARY),
    ],
)
def test_escaped_forms_are_masked_too(form):
    secrets = with_secret()
    assert secrets.mask(f"<{form}>") == "<[masked: TOKEN]>"
    assert secrets.found_in(f"<{form}>") == "TOKEN"


def test_what_follows_the_scheme_is_masked_alone():
    assert with_secret("Bearer abcdefgh").mask("token abcdefgh") == "token [masked: TOKEN]"


def test_a_longer_value_is_masked_as_a_whole():
    secrets = Secrets({"A": "abcd", "B": "abcdefgh"})
    for name in "AB":
        secrets.resolve({"env": name}, key="k")
    assert secrets.mask("abcdefgh abcd") == "[masked: B] [masked: A]"


def test_a_quote_is_masked_before_it_is_cut():
    shown = with_secret("abcdefgh").quote("x" * 38 + "abcdefgh\n", 45)
    assert "abc" not in shown
    assert "\n" not in shown


def test_nothing_registered_changes_nothing():
    assert Secrets({}).mask("text") == "text"
    assert Secrets({}).found_in("text") is None


def test_the_recorders_second_look_finds_secrets_anywhere():
    table = {
        "headers": {"X": {"env": "ONE"}, "Api_Key": "literal-key", "Authorization": "Bearer {prompt}"},
        "list": [{"deep": {"env": "TWO"}}, {"env": "UNSET"}],
        "password": "abc",
    }
    secrets, warnings = registered(table, {"ONE": "one-value", "TWO": "two-value"})
    assert secrets.mask("one-value two-value literal-key") == "[masked: ONE] [masked: TWO] [masked: Api_Key]"
    assert sorted(warning.split()[0] for warning in warnings) == ["adapter.headers.Api_Key", "adapter.password"]


@pytest.mark.parametrize("name", ["Authorization", "X-API-Key", "api_key", "APIKEY", "access_token", "DB_PASSWORD"])
def test_names_of_credentials(name):
    assert looks_secret(name)


def test_other_names():
    assert not looks_secret("Content-Type")


@given(st.text(min_size=4).filter(lambda text: len(text.strip()) >= 4), st.text(), st.text())
@settings(deadline=None)
def test_no_value_survives(secret, before, after):
    secrets = Secrets({})
    secrets.add(secret, "T")
    masked = secrets.mask(before + secret + after)
    assert "[masked: T]" in masked
    assert secrets.mask(secret) == "[masked: T]"


SLASHED = "s3cr3t/T0ken+Value=="


@pytest.mark.parametrize(
    "form",
    [
        SLASHED.replace("/", "\\/"),
        SLASHED.replace("/", "\\u002F").replace("+", "\\u002B").replace("=", "\\u003d"),
        SLASHED.replace("/", "\\\\u002f"),
        quote(SLASHED, safe="").replace("%2F", "%2f").replace("%3D", "%3d"),
        quote(quote(SLASHED, safe=""), safe=""),
        SLASHED.replace("/", "&#x2F;").replace("+", "&#43;").replace("=", "&#x3d;"),
        repr(SLASHED.replace("/", "\x2f").encode())[2:-1],
    ],
)
def test_what_other_serialisers_make_of_it_is_masked_too(form):
    secrets = with_secret(SLASHED)
    assert secrets.mask(f"<{form}>") == "<[masked: TOKEN]>"
    assert secrets.found_in(f"<{form}>") == "TOKEN"


@pytest.mark.parametrize("before", ["", "u", "us", "user:"])
@pytest.mark.parametrize("after", ["", "&", "&b", "&bc"])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_base64_of_something_that_holds_it_is_found(before, after, encode):
    secrets = with_secret(SLASHED)
    coded = encode(f"{before}{SLASHED}{after}".encode()).decode()
    assert secrets.found_in(f"Basic {coded}") == "TOKEN"
    # What is left beside it are the characters that also belong to what stands around the value.
    left = secrets.mask(coded).replace("[masked: TOKEN]", "")
    assert len(left) < len(coded) - len(SLASHED)


@pytest.mark.parametrize("length", range(4, len(SLASHED)))
def test_half_a_value_at_the_edge_of_what_was_cut_is_masked(length):
    secrets = with_secret(SLASHED)
    assert secrets.mask_part(f"<> {SLASHED[:length]}") == "<> [masked: TOKEN]"
    assert secrets.mask_part(f"{SLASHED[-length:]} <>") == "[masked: TOKEN] <>"
    assert secrets.quote(f"<> {SLASHED[:length]}") == "<> [masked: TOKEN]"


def test_half_a_value_that_was_escaped_is_masked():
    secrets = with_secret(SLASHED)
    assert secrets.mask_part("<> s3cr3t\\u002FT0ken\\u00") == "<> [masked: TOKEN]"
    assert secrets.mask_part("<> s3cr3t%2fT0") == "<> [masked: TOKEN]"
    assert secrets.mask_part("cr3t\\u002FT0ken+Value\\u003D= <>") == "[masked: TOKEN] <>"


def test_a_text_that_was_not_cut_within_a_value_stays_as_it_is():
    secrets = with_secret(SLASHED)
    for text in ("", "s3c", "a text", "s3cr3t is a word", "the last Value=="):
        assert secrets.mask_part(text) == text


def test_many_backslashes_are_no_riddle():
    secrets = with_secret("a" + "\\" * 60 + "b")
    assert secrets.found_in("a" + "\\" * 200 + "c") is None
    assert secrets.found_in("a" + "\\" * 120 + "b") == "TOKEN"


def test_what_stands_beside_an_env_is_looked_at_too():
    table = {"headers": {"env": "staging", "Authorization": {"env": "ONE"}, "X-Api-Key": "a-literal"}}
    secrets, warnings = registered(table, {"ONE": "one-value"})
    assert secrets.mask("one-value a-literal") == "[masked: ONE] [masked: X-Api-Key]"
    assert len(warnings) == 1
