"""Real children that misbehave."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from pathlib import Path

import pytest

from plumbline.errors import ConfigurationError
from plumbline.record.adapters import subprocess as adapter_module
from plumbline.record.adapters.base import CallError, Question
from plumbline.record.adapters.subprocess import Settings, create
from plumbline.record.config import read_settings

QUESTION = Question(item="fare.en", lang="en", prompt="How much?")
TALK = Question(item="fare.en", lang="en", prompt="How much?", turns=("And then?",))
HOUR = "import time; time.sleep(3600)"


@pytest.fixture
def make(tmp_path):
    made = []

    def build(code, environ=None, arguments=(), **keys):
        (tmp_path / "target.py").write_text(code)
        given = {"input": "text", "output": "text"} if not keys.keys() & {"stdin", "response_pointer", "input"} else {}
        table = {
            "kind": "subprocess",
            "questions": "q",
            "command": [sys.executable, "target.py", *arguments],
            **given,
            **keys,
        }
        settings = read_settings(Settings, table)
        made.append(create(settings, folder=tmp_path, environ=environ or {"PATH": os.environ["PATH"]}))
        return made[-1]

    yield build
    for adapter in made:
        adapter.close()


def ask(adapter, question=QUESTION):
    conversation = adapter.open(question)
    try:
        return [conversation.ask(text) for text in (question.prompt, *question.turns)]
    finally:
        conversation.close()


def fault(adapter, question=QUESTION):
    with pytest.raises(CallError) as caught:
        ask(adapter, question)
    return caught.value


def alive(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def gone(path):
    """Whether the process that wrote its number there is no more; waits a little, since a kill takes effect later."""
    pid = int(path.read_text())
    for _ in range(1000):
        if not alive(pid):
            return True
        time.sleep(0.01)
    return False


def appears(path):
    """Wait until a child has made a file."""
    for _ in range(6000):
        if path.exists():
            return
        time.sleep(0.01)
    pytest.fail(f"{path.name} did not appear")


class TestAsking:
    def test_text_in_and_text_out(self, make):
        (reply,) = ask(make("import sys; print('', sys.stdin.read().upper(), '')"))
        assert reply.text == "HOW MUCH?"
        assert reply.citations is None

    def test_json_in_and_json_out(self, make):
        code = (
            "import json, sys; q = json.load(sys.stdin); "
            "print(json.dumps({'a': [q], 'c': ['s1'], 'r': [{'id': 'p', 'text': 't'}]}))"
        )
        adapter = make(
            code,
            stdin={"q": "{prompt}", "at": "{lang} {item_id} {turn}"},
            response_pointer="a.0.at",
            citations_pointer="$.c[*]",
            retrieved_pointer="$.r[*]",
        )
        (reply,) = ask(adapter)
        assert reply.text == "en fare.en 1"
        assert reply.citations == ("s1",)
        assert (reply.retrieved[0].id, reply.retrieved[0].text) == ("p", "t")

    def test_an_argument_stays_one_argument(self, make):
        hostile = "; rm -rf / $(id) `id` \n --x 'a' \"b\" | cat {lang} %s *"
        adapter = make(
            "import json, sys; print(json.dumps(sys.argv[1:]))",
            arguments=["--q={prompt}", "{lang}"],
            input="none",
            output="text",
        )
        (reply,) = ask(adapter, Question("i", "en", hostile))
        assert json.loads(reply.text) == [f"--q={hostile}", "en"]

    def test_no_standard_input_is_an_end_and_not_a_wait(self, make):
        adapter = make("import sys; print(repr(sys.stdin.read()))", arguments=["{prompt}"], input="none", output="text")
        assert ask(adapter)[0].text == "''"

    def test_a_large_question_and_a_large_answer(self, make):
        (reply,) = ask(
            make("import sys; print(sys.stdin.read())", max_output_bytes=3_000_000, input="text", output="text"),
            Question("i", "en", "x" * 2_000_000),
        )
        assert len(reply.text) == 2_000_000

    def test_a_program_that_does_not_read_its_input(self, make):
        (reply,) = ask(make("print('fine')"), Question("i", "en", "x" * 2_000_000))
        assert reply.text == "fine"

    def test_an_empty_answer_within_json_is_an_answer(self, make):
        adapter = make('print(\'{"a": ""}\')', stdin={"q": "{prompt}"}, response_pointer="a")
        assert ask(adapter)[0].text == ""

    def test_several_at_once(self, make):
        adapter = make("import sys; print(sys.stdin.read())")
        found = []
        threads = [
            threading.Thread(target=lambda n=n: found.append(ask(adapter, Question("i", "en", str(n)))[0].text))
            for n in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(found) == [str(n) for n in range(8)]


class TestMisbehaving:
    def test_a_hang_is_killed(self, make, tmp_path):
        adapter = make(
            f"import os; open('pid', 'w').write(str(os.getpid())); {HOUR}",
            timeout_seconds=1.0,
            input="text",
            output="text",
        )
        found = fault(adapter)
        assert (found.fault, found.transient) == ("timeout", True)
        assert gone(tmp_path / "pid")

    def test_a_hang_takes_its_grandchildren_along(self, make, tmp_path):
        code = f"""
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", {HOUR!r}])
open("pid", "w").write(str(child.pid))
time.sleep(3600)
"""
        assert fault(make(code, timeout_seconds=2.0, input="text", output="text")).fault == "timeout"
        assert gone(tmp_path / "pid")

    def test_a_grandchild_that_holds_the_pipe_delays_nothing(self, make, tmp_path):
        code = f"""
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", {HOUR!r}])
open("pid", "w").write(str(child.pid))
print("fine")
"""
        # Were its end waited for, this would be a timeout.
        assert ask(make(code, timeout_seconds=60.0, input="text", output="text"))[0].text == "fine"
        assert gone(tmp_path / "pid")

    def test_a_flood_is_killed(self, make, tmp_path):
        code = "import os\nopen('pid', 'w').write(str(os.getpid()))\nwhile True: print('x' * 1000)"
        assert fault(make(code)).fault == "too_large"
        assert gone(tmp_path / "pid")

    @pytest.mark.parametrize(("size", "fits"), [(99, True), (100, True), (101, False), (5000, False)])
    def test_the_ceiling_is_exact_also_for_a_quick_program(self, make, size, fits):
        adapter = make(f"import sys; sys.stdout.write('x' * {size})", max_output_bytes=100, input="text", output="text")
        if fits:
            assert len(ask(adapter)[0].text) == size
        else:
            assert fault(adapter).fault == "too_large"

    def test_much_progress_on_stderr_blocks_nothing(self, make):
        code = "import sys\nfor n in range(9000): sys.stderr.write(f'progress {n:030}\\n')\nprint('fine')"
        assert ask(make(code))[0].text == "fine"

    def test_a_failing_program_is_named_with_its_last_words(self, make):
        found = fault(make("import sys; sys.stderr.write('x' * 100_000 + ' no \\x1b[2Jindex\\n'); sys.exit(3)"))
        assert found.fault == "exited"
        assert "exit code 3" in found.message
        assert "index" in found.message
        assert "\x1b" not in found.message
        assert len(found.message) < 1000

    @pytest.mark.parametrize(("number", "name"), [(9, "SIGKILL"), (11, "SIGSEGV"), (15, "SIGTERM"), (40, "signal 40")])
    def test_a_signal_is_named(self, make, number, name):
        found = fault(make(f"import os; os.kill(os.getpid(), {number})"))
        assert found.fault == "exited"
        assert name in found.message

    def test_output_before_a_failure_does_not_count(self, make):
        assert fault(make("import sys; print('fine', flush=True); sys.exit(1)")).fault == "exited"

    @pytest.mark.parametrize("mode", ["once", "lines"])
    def test_a_key_twice_in_what_it_prints(self, make, mode):
        code = """print('{"t": "one", "t": "two"}', flush=True); input()"""
        made = make(code, stdin={"q": "{prompt}"}, response_pointer="t", mode=mode)
        assert fault(made).fault == "malformed"

    @pytest.mark.parametrize("code", ["pass", "print()", "print(' \\n ')"])
    def test_silence_is_no_answer(self, make, code):
        assert fault(make(code)).fault == "empty"

    def test_closing_the_output_is_not_the_end(self, make):
        found = fault(
            make(
                f"import os; print('x', flush=True); os.close(1); os.close(2); {HOUR}",
                timeout_seconds=1.0,
                input="text",
                output="text",
            )
        )
        assert found.fault == "timeout"

    @pytest.mark.parametrize(
        ("output", "expected"),
        [
            ('{"a": "br', "malformed"),
            ("<html>", "malformed"),
            ('{"a": 5}', "wrong_type"),
            ('{"a": null}', "wrong_type"),
            ('{"b": "x"}', "not_extracted"),
            ("[" * 100_000, "malformed"),
        ],
    )
    def test_what_is_not_the_json_that_was_configured(self, make, output, expected):
        code = "import sys; sys.stdout.write(open('out').read())"
        adapter = make(code, stdin={"q": "{prompt}"}, response_pointer="a")
        (adapter.folder / "out").write_text(output)
        assert fault(adapter).fault == expected

    def test_text_that_is_no_utf_8(self, make):
        assert fault(make("import sys; sys.stdout.buffer.write(b'\\xff\\xfe')")).fault == "malformed"

    def test_a_nul_does_not_fit_on_a_command_line(self, make):
        adapter = make("print(1)", arguments=["{prompt}"], input="none", output="text")
        assert fault(adapter, Question("i", "en", "a\0b")).fault == "malformed"

    def test_a_question_too_long_for_a_command_line(self, make):
        adapter = make("print(1)", arguments=["{prompt}"], input="none", output="text")
        assert fault(adapter, Question("i", "en", "x" * 3_000_000)).fault == "unreachable"

    def test_closing_the_adapter_ends_what_runs(self, make, tmp_path):
        adapter = make(
            f"import os; open('pid', 'w').write(str(os.getpid())); {HOUR}",
            timeout_seconds=600.0,
            input="text",
            output="text",
        )
        found = []
        thread = threading.Thread(target=lambda: found.append(fault(adapter)))
        thread.start()
        while not ((tmp_path / "pid").exists() and (tmp_path / "pid").read_text()):
            time.sleep(0.01)
        adapter.close()
        thread.join(timeout=60)
        assert found[0].fault == "exited"
        assert gone(tmp_path / "pid")
        assert fault(adapter).fault == "exited"

    def test_works_where_the_kernel_tells_no_ends(self, make, monkeypatch):
        monkeypatch.delattr("os.pidfd_open")
        assert ask(make("import sys; print(sys.stdin.read())"))[0].text == "How much?"
        assert fault(make(HOUR, timeout_seconds=0.3, input="text", output="text")).fault == "timeout"


LINES = """
import json, sys
said = []
for line in sys.stdin:
    said.append(json.loads(line)["q"])
    {before}
    print(json.dumps({{"a": " / ".join(said)}}), flush=True)
    {after}
"""


def lines(make, before="pass", after="pass", **keys):
    return make(
        LINES.format(before=before, after=after),
        **{"mode": "lines", "stdin": {"q": "{prompt}"}, "response_pointer": "a", **keys},
    )


class TestAChild:
    def start(self, make):
        adapter = make(HOUR, timeout_seconds=600.0, input="text", output="text")
        return adapter, adapter.start({"prompt": "x"})

    def test_that_does_not_read_blocks_nobody(self, make):
        adapter, child = self.start(make)
        child._send(b"x" * 1_000_000)
        for _ in range(40):
            child._write()
        assert 0 < len(child._pending) < 1_000_000
        adapter.end(child)

    def test_may_be_ended_twice(self, make):
        adapter, child = self.start(make)
        assert child.kill() == child.kill() == -9
        assert child._has_ended()
        adapter.end(child)
        child.close()


class TestLines:
    def test_one_child_keeps_the_conversation(self, make):
        adapter = lines(make)
        assert adapter.conversational
        assert [reply.text for reply in ask(adapter, TALK)] == ["How much?", "How much? / And then?"]
        # and another conversation begins anew
        assert ask(adapter)[0].text == "How much?"

    def test_the_child_ends_with_its_conversation(self, make, tmp_path):
        ask(lines(make, before="import os; open('pid', 'w').write(str(os.getpid()))"))
        assert gone(tmp_path / "pid")

    def test_progress_between_turns_blocks_nothing(self, make):
        assert len(ask(lines(make, after="sys.stderr.write('x' * 400_000)"), TALK)) == 2

    def test_a_second_line_would_answer_the_wrong_question(self, make):
        assert fault(lines(make, after="print('more', flush=True)"), TALK).fault == "malformed"

    def test_also_after_the_last_turn_where_it_is_seen(self, make):
        code = """
import json, sys
sys.stdin.readline()
sys.stdout.write(json.dumps({"a": "one"}) + "\\n" + "two\\n")
"""
        adapter = make(code, mode="lines", stdin={"q": "{prompt}"}, response_pointer="a")
        assert fault(adapter).fault == "malformed"

    def test_a_late_line_would_too(self, make, tmp_path):
        adapter = lines(make, after="print('late', flush=True) or open('told', 'w').close()", before="import time")
        conversation = adapter.open(TALK)

        def ask_twice():
            conversation.ask("How much?")
            appears(tmp_path / "told")
            conversation.ask("And then?")

        with pytest.raises(CallError) as caught:
            ask_twice()
        assert caught.value.fault == "malformed"
        conversation.close()

    def test_a_child_that_ends_is_named(self, make):
        found = fault(lines(make, before="sys.exit(7) if len(said) == 2 else None"), TALK)
        assert found.fault == "exited"
        assert "exit code 7" in found.message

    def test_a_last_word_without_an_end_is_an_answer_all_the_same(self, make):
        assert ask(lines(make, after="break"))[0].text == "How much?"

    def test_a_child_that_ends_well_without_an_answer(self, make):
        assert fault(lines(make, before="sys.exit(0)")).fault == "exited"

    def test_a_child_that_closes_its_output(self, make):
        assert fault(lines(make, before="import os, time; os.close(1); time.sleep(3600)")).fault == "empty"

    def test_a_hang_in_the_second_turn(self, make):
        found = fault(
            lines(make, before="import time; time.sleep(3600 if len(said) == 2 else 0)", timeout_seconds=2.0), TALK
        )
        assert found.fault == "timeout"

    def test_the_ceiling_is_for_each_turn(self, make):
        assert len(ask(lines(make, max_output_bytes=60), TALK)) == 2
        assert fault(lines(make, max_output_bytes=10)).fault == "too_large"

    def test_a_blank_line_is_no_answer(self, make):
        assert fault(lines(make, before="print(flush=True)")).fault in {"empty", "malformed"}

    def test_an_answer_that_nobody_asked_for_yet(self, make, tmp_path):
        code = f"""
import json, os, time
print(json.dumps({{"a": "1"}}), flush=True)
while not os.path.exists("asked"):
    time.sleep(0.01)
print(json.dumps({{"a": "2"}}), flush=True)
open("told", "w").close()
{HOUR}
"""
        adapter = make(code, mode="lines", stdin={"q": "{prompt}"}, response_pointer="a")
        conversation = adapter.open(TALK)
        assert conversation.ask("How much?").text == "1"
        (tmp_path / "asked").touch()
        appears(tmp_path / "told")
        with pytest.raises(CallError) as caught:
            conversation.ask("And then?")
        assert caught.value.fault == "malformed"
        conversation.close()

    def test_a_second_question_joins_what_is_left_of_the_first(self, make):
        code = """
import json, os, sys, time
print(json.dumps({"a": "early"}), flush=True)
while not os.path.exists("asked"):
    time.sleep(0.01)
sys.stdin.readline()
print(json.dumps({"a": json.loads(sys.stdin.readline())["q"][:3]}), flush=True)
"""
        adapter = make(code, mode="lines", stdin={"q": "{prompt}"}, response_pointer="a")
        conversation = adapter.open(TALK)
        assert conversation.ask("x" * 300_000).text == "early"
        threading.Timer(0.2, (adapter.folder / "asked").touch).start()
        assert conversation.ask("yes" + "y" * 300_000).text == "yes"
        conversation.close()


class TestOnceInSeveralTurns:
    def test_the_history_carries_the_conversation(self, make):
        code = (
            "import json, sys; m = json.load(sys.stdin)['m']; "
            "print(json.dumps({'a': ' / '.join(x['role'][0] + x['content'] for x in m)}))"
        )
        adapter = make(code, stdin={"m": "{history}"}, response_pointer="a")
        assert adapter.conversational
        assert ask(adapter, TALK)[1].text == "uHow much? / auHow much? / uAnd then?"

    def test_half_a_surrogate_pair_in_an_answer_can_be_sent_back(self, make):
        code = "import json, sys; print(json.dumps({'a': json.load(sys.stdin)['m'][-1]['content'] + chr(0xD800)}))"
        adapter = make(code, stdin={"m": "{history}"}, response_pointer="a")
        assert [reply.text for reply in ask(adapter, TALK)] == ["How much?\ud800", "And then?\ud800"]

    def test_the_conversations_name_does_too(self, make):
        adapter = make(
            "import sys; print(sys.argv[1])", arguments=["{conversation}", "{prompt}"], input="none", output="text"
        )
        one, two = ask(adapter, TALK)
        assert one.text == two.text != ask(adapter)[0].text

    def test_nothing_carries_it_otherwise(self, make):
        assert not make("print(1)").conversational


class TestEnvironmentAndSecrets:
    CANARY = "canary-5d1c77"

    def test_is_path_and_what_is_declared(self, make, monkeypatch):
        monkeypatch.setenv("AMBIENT", "x")
        code = "import os; print(sorted(k for k in os.environ if k not in {'LC_CTYPE', '__CF_USER_TEXT_ENCODING'}))"
        adapter = make(
            code,
            env={"MODE": "plain", "TOKEN": {"env": "SECRET"}},
            environ={"PATH": os.environ["PATH"], "SECRET": self.CANARY},
            input="text",
            output="text",
        )
        assert ask(adapter)[0].text == "['MODE', 'PATH', 'TOKEN']"

    @pytest.mark.parametrize("inner", [{"env": "HOME"}, {"env": "HOME", "prefx": "x"}])
    def test_a_variable_is_not_looked_up_for_the_standard_input(self, make, inner):
        with pytest.raises(ConfigurationError) as caught:
            make("", stdin={"q": "{prompt}", "a": [{"k": inner}]}, response_pointer="t")
        assert caught.value.message.startswith("adapter.stdin.a[0].k: ")
        assert "adapter.env" in caught.value.remedy

    def test_a_missing_variable_is_refused(self, make):
        with pytest.raises(ConfigurationError, match=r"adapter\.env\.TOKEN.*SECRET is not set"):
            make("print(1)", env={"TOKEN": {"env": "SECRET"}}, input="text", output="text")

    @pytest.mark.parametrize("fill", [0, 200, 285, 295, 15_990, 16_370, 16_380, 50_000])
    def test_last_words_never_show_a_secret_also_where_they_are_cut(self, make, fill):
        code = f"import os, sys; sys.stderr.write('y' * 300 + os.environ['TOKEN'] + 'x' * {fill}); sys.exit(1)"
        adapter = make(
            code,
            env={"TOKEN": {"env": "SECRET"}},
            environ={"PATH": os.environ["PATH"], "SECRET": self.CANARY},
            input="text",
            output="text",
        )
        message = fault(adapter).message
        for size in range(5, len(self.CANARY) + 1):
            assert self.CANARY[-size:] not in message
            assert self.CANARY[:size] not in message

    def test_neither_manifest_nor_preview_shows_one(self, make):
        adapter = make(
            "print(1)",
            arguments=["{prompt}"],
            env={"TOKEN": {"env": "SECRET"}},
            environ={"PATH": os.environ["PATH"], "SECRET": self.CANARY},
            input="none",
            output="text",
        )
        assert self.CANARY not in json.dumps(adapter.describe()) + adapter.preview(
            Question("i", "en", f"say {self.CANARY}")
        )
        assert adapter.describe()["call"]["env_names"] == ["TOKEN"]


class TestDescription:
    def test_holds_no_path_of_this_machine(self, make, tmp_path):
        adapter = make(
            "print(1)",
            arguments=[f"--file={tmp_path}/index.db", str(tmp_path), "/etc/hosts", "{prompt}"],
            input="none",
            output="text",
        )
        told = json.dumps(adapter.describe())
        assert str(tmp_path) not in told
        assert "/etc" not in told
        assert adapter.describe()["call"]["command"][2] == "--file=index.db"
        assert adapter.describe()["endpoint"] == f"subprocess:{Path(sys.executable).name}"

    def test_names_the_bytes_of_program_and_files(self, make):
        first = make("print(1)").describe()
        second = make("print(2)").describe()
        assert len(first["program_sha256"]) == 64
        assert first["program_sha256"] == second["program_sha256"]
        assert first["files_sha256"].keys() == {"target.py"}
        assert first["files_sha256"] != second["files_sha256"]
        assert first["request_sha256"] == second["request_sha256"]
        assert "not covered" in first["program_hash_note"]

    def test_another_call_has_another_digest(self, make):
        first = make("print(1)", timeout_seconds=3.0, input="text", output="text").describe()
        second = make("print(1)", timeout_seconds=4.0, input="text", output="text").describe()
        assert first["request_sha256"] != second["request_sha256"]

    def test_the_preview_is_the_first_call(self, make):
        shown = make("print(1)", arguments=["{lang}"], stdin={"q": "{prompt}"}, response_pointer="a").preview(QUESTION)
        assert '"target.py", "en"' in shown
        assert '{"q": "How much?"}' in shown
        assert "nothing" in make("print(1)", arguments=["{prompt}"], input="none", output="text").preview(QUESTION)


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"command": "echo hi"}, "adapter.command"),
        ({"command": []}, "must begin with the program"),
        ({"command": [" "]}, "must begin with the program"),
        ({"command": ["no-such-program-here"]}, "no-such-program-here"),
        ({"command": ["./nowhere"]}, "./nowhere"),
        ({"command": ["{prompt}"]}, "cannot come out of a question"),
        ({"command": ["echo", "{promt}"]}, "adapter.command[1]"),
        ({"command": ["echo", "{history}"]}, "is a list"),
        ({"command": ["echo", "a\0b"]}, "NUL"),
        ({"shell": True}, "adapter.shell"),
        ({"workdir": "nowhere"}, "adapter.workdir"),
        ({"input": "none"}, "{prompt} is used nowhere"),
        ({"input": "json"}, "adapter.stdin"),
        ({"stdin": {"q": "{prompt}"}}, "adapter.stdin"),
        ({"mode": "lines"}, "adapter.mode"),
        (
            {
                "input": "json",
                "stdin": {"q": "{prompt}"},
                "output": "json",
                "response_pointer": "a",
                "mode": "lines",
                "command": ["echo", "{prompt}"],
            },
            "started before",
        ),
        ({"output": "json"}, "adapter.response_pointer"),
        ({"response_pointer": "a"}, "adapter.response_pointer"),
        ({"citations_pointer": "a"}, "adapter.citations_pointer"),
        ({"env": {"PATH": "x"}}, "adapter.env"),
        ({"env": {"A=B": "x"}}, "adapter.env"),
        ({"env": {"A": 5}}, "adapter.env.A"),
        ({"timeout_seconds": 0.01}, "adapter.timeout_seconds"),
        ({"timeout_seconds": 901}, "adapter.timeout_seconds"),
        ({"max_output_bytes": 0}, "adapter.max_output_bytes"),
        ({"max_output_bytes": 1.5}, "adapter.max_output_bytes"),
        ({"retries": 1}, "adapter.retries"),
    ],
)
def test_what_is_refused(tmp_path, keys, told):
    table = {"kind": "subprocess", "questions": "q", "command": ["echo"], "input": "text", "output": "text", **keys}
    with pytest.raises(ConfigurationError) as caught:
        create(read_settings(Settings, table), folder=tmp_path, environ={"PATH": os.environ["PATH"]})
    assert told in caught.value.message


def test_input_is_inferred(make):
    assert make("print(1)", arguments=["{prompt}"], output="text", max_output_bytes=5, input=None).input == "none"
    assert make("print(1)", stdin={"q": "{prompt}"}, response_pointer="a").input == "json"


def test_a_program_beside_the_configuration(tmp_path):
    script = tmp_path / "bin" / "target"
    script.parent.mkdir()
    script.write_text(f"#!{sys.executable}\nimport os; print(os.path.basename(os.getcwd()))\n")
    script.chmod(0o755)
    table = {
        "kind": "subprocess",
        "questions": "q",
        "command": ["./target"],
        "workdir": "bin",
        "input": "text",
        "output": "text",
    }
    adapter = create(read_settings(Settings, table), folder=tmp_path, environ={"PATH": os.environ["PATH"]})
    assert ask(adapter)[0].text == "bin"
    script.write_bytes(b"#!/no/such/interpreter\n")
    assert fault(adapter).fault == "unreachable"
    adapter.close()


def test_there_is_no_shell_anywhere():
    source = (
        Path(adapter_module.__file__).read_text() + (Path(adapter_module.__file__).parents[1] / "child.py").read_text()
    )
    assert "shell=" not in source
    assert "os.system" not in source
