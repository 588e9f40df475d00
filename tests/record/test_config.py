from __future__ import annotations

import datetime as dt

import pytest

from plumbline.audit.config import load_target
from plumbline.errors import ConfigurationError, ExitCode
from plumbline.record.adapters import registry
from plumbline.record.config import load_recording
from tests.bundles import item, refuse

GOOD = """
[target]
name = "t"
[adapter]
kind = "fake"
questions = "../questions"
"""


def load(tmp_path, text, environ=None, **more):
    path = tmp_path / "folder" / "target.toml"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return load_recording(path, environ or {}, **more)


@pytest.mark.usefixtures("fake")
class TestLoading:
    def test_paths_resolve_beside_the_file(self, tmp_path):
        config = load(tmp_path, GOOD + '[dataset]\npath = "out"\n')
        assert config.questions.resolve() == tmp_path / "questions"
        assert config.dataset == tmp_path / "folder" / "out"
        assert load(tmp_path, GOOD).dataset is None

    def test_a_question_set_may_be_given_instead(self, tmp_path):
        without = GOOD.replace('questions = "../questions"\n', "")
        assert load(tmp_path, without, questions=tmp_path / "x").questions == tmp_path / "x"
        assert load(tmp_path, GOOD, questions=tmp_path / "x").questions == tmp_path / "x"

    def test_defaults_are_the_specifications(self, tmp_path):
        settings = load(tmp_path, GOOD).settings
        assert (settings.max_items, settings.min_interval_seconds, settings.connections) == (250, 0, 1)
        assert settings.on_error == "abort"

    @pytest.mark.parametrize(
        ("text", "told"),
        [
            (GOOD + "timout_seconds = 3\n", "adapter.timout_seconds"),
            (GOOD + "conections = 3\n", "did you mean 'connections'?"),
            (GOOD + "max_items = 0\n", "adapter.max_items is 0; it must be from 1 to 100000"),
            (GOOD + "max_items = 100001\n", "adapter.max_items"),
            (GOOD + "max_items = 2.0\n", "adapter.max_items"),
            (GOOD + "max_items = true\n", "adapter.max_items"),
            (GOOD + "min_interval_seconds = 61\n", "adapter.min_interval_seconds"),
            (GOOD + "min_interval_seconds = -1\n", "adapter.min_interval_seconds"),
            (GOOD + "min_interval_seconds = nan\n", "adapter.min_interval_seconds"),
            (GOOD + "min_interval_seconds = inf\n", "adapter.min_interval_seconds"),
            (GOOD + 'min_interval_seconds = "1"\n', "adapter.min_interval_seconds"),
            (GOOD + "connections = 65\n", "adapter.connections"),
            (GOOD + "retries = 6\n", "adapter.retries"),
            (GOOD + 'on_error = "ignore"\n', "'abort' or 'record_empty'"),
            (GOOD.replace('"fake"', '"fak"'), "did you mean 'fake'?"),
            (GOOD.replace('"fake"', "5"), "adapter.kind"),
            (GOOD.replace('kind = "fake"\n', ""), "adapter.kind"),
            (GOOD.replace('questions = "../questions"\n', ""), "adapter.questions"),
            (GOOD.replace('"../questions"', '" "'), "adapter.questions"),
            (GOOD.replace('"../questions"', '"a\\u0000b"'), "adapter.questions"),
            (GOOD.replace('"t"', '" "'), "target.name"),
            (GOOD.replace('"t"', '"a\\nb"'), "target.name"),
            (GOOD.replace("[target]", "[targt]"), "did you mean 'target'?"),
            (GOOD.replace('name = "t"', "nam = 1"), "nam"),
            ('[target]\nname = "t"\n', "there is no [adapter]"),
            ('adapter = 3\n[target]\nname = "t"\n', "adapter must be a table"),
            ("[target", "not valid TOML"),
            (b"\xff", "not UTF-8"),
            ("a = " + "[" * 50_000, "TOML"),
        ],
    )
    def test_what_is_refused_names_file_and_key(self, tmp_path, text, told):
        with pytest.raises(ConfigurationError) as caught:
            load(tmp_path, text)
        assert "target.toml: " in caught.value.message
        assert told in caught.value.message

    def test_what_an_adapter_refuses_names_the_file_too(self, tmp_path, monkeypatch):
        def create(*_args, **_named):
            raise ConfigurationError("adapter.x: is wrong", remedy="Mend it.")

        monkeypatch.setattr("tests.record.fake_adapter.create", create)
        with pytest.raises(ConfigurationError) as caught:
            load(tmp_path, GOOD).adapter({})
        assert (caught.value.message, caught.value.remedy) == ("target.toml: adapter.x: is wrong", "Mend it.")

    def test_an_uninstalled_package_is_named(self, tmp_path, monkeypatch):
        monkeypatch.setitem(registry.ADAPTERS, "fake", "no_such_package.adapter")
        with pytest.raises(ConfigurationError, match="no_such_package") as caught:
            load(tmp_path, GOOD)
        assert caught.value.exit_code == ExitCode.CONFIGURATION


AUTHORISATION = """
[authorisation]
authorised_by = "the owner"
authorised_on = 2026-03-01
environment = "staging"
scope = "all of it"
"""


@pytest.mark.usefixtures("fake")
class TestAuthorisationTable:
    def load(self, tmp_path, text, today=dt.date(2026, 3, 1)):
        return load(tmp_path, GOOD + text, today=today).authorisation

    def test_is_kept_word_for_word(self, tmp_path):
        found = self.load(tmp_path, AUTHORISATION + 'reference = "TICKET-1"\n')
        assert found.stated() == {
            "authorised_by": "the owner",
            "authorised_on": "2026-03-01",
            "environment": "staging",
            "scope": "all of it",
            "reference": "TICKET-1",
        }

    def test_a_date_may_be_a_string(self, tmp_path):
        found = self.load(tmp_path, AUTHORISATION.replace("2026-03-01", '"2026-03-01"'))
        assert found.authorised_on == dt.date(2026, 3, 1)

    @pytest.mark.parametrize(
        ("old", "new", "key"),
        [
            ("2026-03-01", "2026-03-02", "authorised_on"),
            ("2026-03-01", "2026-03-01T00:00:00Z", "authorised_on"),
            ("2026-03-01", '"yesterday"', "authorised_on"),
            ("2026-03-01", "5", "authorised_on"),
            ('"the owner"', '"me"', "authorised_by"),
            ('"the owner"', '"???"', "authorised_by"),
            ('"all of it"', '"1234 -- 5"', "scope"),
            ("2026-03-01", "1999-12-31", "authorised_on"),
            ('"the owner"', '"  a  "', "authorised_by"),
            ('"the owner"', '"a\\u202eb c"', "authorised_by"),
            ('"all of it"', '""', "scope"),
            ('"staging"', '"prod"', "environment"),
            ('scope = "all of it"', "", "scope"),
            ("scope =", "scop =", "scop"),
            ("[authorisation]", '[authorisation]\nreference = "x"', "reference"),
        ],
    )
    def test_what_is_refused_names_the_key(self, tmp_path, old, new, key):
        with pytest.raises(ConfigurationError) as caught:
            self.load(tmp_path, AUTHORISATION.replace(old, new))
        assert f"authorisation.{key}" in caught.value.message

    def test_today_is_the_clocks_day(self, tmp_path):
        tomorrow = dt.datetime.now(dt.UTC).date() + dt.timedelta(days=2)
        with pytest.raises(ConfigurationError, match="in the future"):
            self.load(tmp_path, AUTHORISATION.replace("2026-03-01", tomorrow.isoformat()), today=None)


def test_an_audit_reads_neither_table(tmp_path):
    path = tmp_path / "target.toml"
    path.write_text(
        '[target]\nname = "t"\n[dataset]\npath = "x"\n[suites.smoke]\n'
        '[adapter]\nkind = "no such thing"\nnonsense = 1\n'
        "[authorisation]\nauthorised_on = 2999-01-01\nnonsense = true\n"
    )
    assert load_target(path).name == "t"


class TestPermission:
    def authorise(self, place, environment="staging"):
        place.config(more=AUTHORISATION.replace("staging", environment))

    @pytest.mark.parametrize(
        ("items", "told"),
        [
            ([refuse("a", adversarial=True)], "adversarial items"),
            ([item("a", forbidden=["the system prompt"])], "'forbidden'"),
            ([refuse("a", turns=["But please?"])], "several turns"),
            ([item("a", adversarial=True, turns=["And?"])], "several turns"),
        ],
    )
    def test_is_needed_before_anything_is_asked(self, place, fake, items, told):
        place.questions(items)
        code, _, err = place.run()
        assert code == ExitCode.CONFIGURATION
        assert told in err
        assert ": a" in err
        assert fake["adapter"].asked == []
        assert not place.hidden.exists()
        self.authorise(place)
        assert place.run()[0] == ExitCode.PASS

    def test_is_not_needed_for_ordinary_questions(self, place):
        place.questions([item("a", turns=["And?"], forbidden_claims=["x"]), refuse("b")])
        assert place.run()[0] == ExitCode.PASS

    def test_every_reason_is_told_at_once(self, place):
        place.config("max_items = 2000\n")
        many = [item(f"i{n}") for n in range(998)]
        place.questions([*many, *(refuse(f"a{n}", adversarial=True, forbidden=["x"], turns=["?"]) for n in range(5))])
        err = place.run()[2]
        for told in ("5 adversarial", "5 items with 'forbidden'", "5 items that press", "1008 calls", "and 2 more"):
            assert told in err

    def test_a_thousand_calls_need_none(self, place):
        place.config("max_items = 2000\n")
        place.questions([item(f"i{n}") for n in range(500)])
        assert place.run("--passes", 2)[0] == ExitCode.PASS
        place.questions([item(f"i{n}") for n in range(501)])
        assert place.run("--passes", 2, "--out", place.root / "more")[0] == ExitCode.CONFIGURATION

    def test_production_needs_a_typed_flag_whatever_is_asked(self, place, fake):
        self.authorise(place, "production")
        code, _, err = place.run()
        assert code == ExitCode.CONFIGURATION
        assert "--i-have-permission-to-test-production" in err
        assert fake["adapter"].asked == []
        assert place.run("--i-have-permission-to-test-production")[0] == ExitCode.PASS

    def test_the_flag_alone_is_no_permission(self, place):
        place.questions([refuse("a", adversarial=True)])
        assert place.run("--i-have-permission-to-test-production")[0] == ExitCode.CONFIGURATION

    def test_passes_that_the_journal_remembers_count(self, place, fake, monkeypatch):
        from tests.record.fake_adapter import failing

        fake["answer"] = lambda _question, _turn, text, count: failing("timeout") if count > 2 else text
        assert place.run("--passes", 9)[0] == ExitCode.CONFIGURATION
        monkeypatch.setattr("plumbline.record.authorisation.MANY_CALLS", 50)
        fake["answer"] = lambda _question, _turn, text, _count: text
        code, _, err = place.run("--resume")
        assert code == ExitCode.CONFIGURATION
        assert "63 calls" in err


def test_without_out_or_dataset_there_is_no_place(place):
    path = place.config()
    path.write_text(path.read_text().replace('[dataset]\npath = "out"\n', ""))
    code, _, err = place.run()
    assert code == ExitCode.CONFIGURATION
    assert "[dataset]" in err
