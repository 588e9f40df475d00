import json
import random
import threading
import time

import pytest

from plumbline.github.comment import ACTIONS_LOGIN, LIMIT, Marker, upsert_comment
from plumbline.github.rest import Answer, ApiError, Client, Patience
from tests.fake_github import ACTIONS_BOT, FakeGithub, Fault, User, World
from tests.fake_github.personas import COMMENT, COMMENTS, SECONDARY
from tests.fake_github.server import Request
from tests.fake_github.world import SOMEBODY, Pull

BODY = "## Plumbline: **FAIL**\n\ntext"


@pytest.fixture
def upsert(client, event):
    def run(github, body=BODY, *, target="demo", key="gate", author=ACTIONS_LOGIN, **changes):
        options = {name: changes.pop(name) for name in ("timeout", "patience", "token") if name in changes}
        return upsert_comment(
            client(github, **options),
            event(github, **changes),
            target=target,
            key=key,
            body=body,
            author=author,
        )

    return run


def marker(event, **changes):
    return Marker.of("demo", "gate", event(**changes))


def test_first_run_creates_one_comment_that_begins_with_the_marker(fake, upsert, event):
    github = fake()
    result = upsert(github)
    assert (result.status, result.reason) == ("created", "")
    [comment] = github.world.comments
    assert result.url.endswith(f"#issuecomment-{comment.id}")
    assert comment.body == f"{marker(event).line}\n{BODY}"
    assert Marker.read(comment.body) == Marker("demo", "gate", 50, 1, "a" * 40)
    assert github.calls() == [
        "GET /repos/acme/widgets/pulls/7",
        "GET /repos/acme/widgets/issues/7/comments",
        "POST /repos/acme/widgets/issues/7/comments",
        "GET /repos/acme/widgets/issues/7/comments",
    ]
    assert all(entry["authorized"] for entry in github.journal)


@pytest.mark.parametrize("others", [29, 30, 31, 99, 100, 101, 146])
def test_later_run_updates_the_same_comment_however_many_others_there_are(fake, upsert, others):
    github = fake()
    for index in range(others):
        github.world.add_comment(f"noise {index}", SOMEBODY)
    upsert(github)
    assert upsert(github, BODY + " changed", GITHUB_RUN_ID=51).status == "updated"
    assert len(github.world.comments) == others + 1
    [own] = github.world.by(ACTIONS_BOT)
    assert own.body.endswith("changed")
    assert own.edits == 1


def test_among_146_others_an_update_takes_two_pages_and_one_write(fake, upsert):
    github = fake("busy")
    upsert(github)
    github.journal.clear()
    assert upsert(github, "new", GITHUB_RUN_ID=51).status == "updated"
    assert [entry["method"] for entry in github.journal] == ["GET", "GET", "GET", "PATCH", "GET"]
    assert [entry["query"].get("page") for entry in github.journal[1:3]] == [["1"], ["2"]]


def test_equal_comment_is_not_written_again(fake, upsert):
    github = fake()
    upsert(github)
    github.world.comments[0].body = github.world.comments[0].body.replace("\n", "\r\n") + "\n"
    assert upsert(github).status == "unchanged"
    assert github.calls("PATCH") == []


def test_comment_always_names_the_latest_run_that_stands_behind_it(fake, upsert):
    github = fake()
    upsert(github, GITHUB_RUN_ID=3)
    assert upsert(github, GITHUB_RUN_ID=9).status == "updated"
    assert upsert(github, "stale", GITHUB_RUN_ID=5).status == "skipped"
    assert github.world.comments[0].body.endswith(BODY)


@pytest.mark.parametrize(("run", "attempt", "status"), [(49, 9, "skipped"), (50, 1, "skipped"), (50, 3, "updated")])
def test_a_newer_run_is_not_overwritten(fake, upsert, run, attempt, status):
    github = fake()
    upsert(github, "newer", GITHUB_RUN_ATTEMPT=2)
    result = upsert(github, "older", GITHUB_RUN_ID=run, GITHUB_RUN_ATTEMPT=attempt)
    assert result.status == status
    assert github.world.comments[0].body.endswith("newer" if status == "skipped" else "older")
    assert ("50" in result.reason) == (status == "skipped")


def test_a_run_whose_commit_is_no_longer_the_head_says_nothing(fake, upsert):
    github = fake()
    github.world.pulls[7].head = "d" * 40
    result = upsert(github, payload={"pull_request": {"number": 7, "head": {"sha": "a" * 40}}})
    assert result.status == "skipped"
    assert "dddddddddddd" in result.reason
    assert github.calls("POST") == []


def test_without_a_head_in_the_payload_the_pull_request_is_not_compared(fake, upsert):
    github = fake()
    assert upsert(github, payload={"number": 7}).status == "created"
    assert " head=none -->" in github.world.comments[0].body
    assert github.calls()[0].endswith("/comments")


@pytest.mark.parametrize("status", [403, 404])
def test_a_token_that_cannot_read_the_pull_request_may_still_comment(fake, upsert, status):
    github = fake()
    github.faults.append(Fault(("GET",), r".*/pulls/7", status, "Resource not accessible by integration"))
    assert upsert(github).status == "created"


def test_a_planted_marker_is_not_ours_however_new_it_says_it_is(fake, upsert, event):
    github = fake("spoofed")
    github.plant(marker(event, GITHUB_RUN_ID=9_999_999_999).line)
    assert upsert(github).status == "created"
    assert upsert(github, "second", GITHUB_RUN_ID=51).status == "updated"
    [planted] = github.world.by(SOMEBODY)
    assert planted.edits == 0
    assert len(github.world.by(ACTIONS_BOT)) == 1


@pytest.mark.parametrize(
    "author",
    [User("github-actions[bot]", "User"), User("github-actions", "User"), User("github-actions", "Bot")],
)
def test_only_the_bot_itself_is_the_bot(fake, upsert, event, author):
    github = fake()
    github.world.add_comment(marker(event).line, author)
    assert upsert(github).status == "created"
    assert github.world.by(author)[0].edits == 0


def test_a_comment_whose_author_is_gone_is_not_ours(fake, upsert, event, monkeypatch):
    github = fake()
    github.world.add_comment(marker(event).line)
    monkeypatch.setattr(github, "_comment", lambda entry, real=github._comment: {**real(entry), "user": None})
    assert upsert(github).status == "created"


def test_marker_below_the_first_line_is_somebodys_text(fake, upsert, event):
    github = fake()
    github.world.add_comment(f"quoted:\n{marker(event).line}")
    assert upsert(github).status == "created"


def test_minimised_comment_is_left_alone_and_a_new_one_posted(fake, upsert, event):
    github = fake("minimised")
    github.plant(marker(event).line)
    assert upsert(github).status == "created"
    hidden, new = github.world.by(ACTIONS_BOT)
    assert (hidden.edits, new.minimized) == (0, False)


def test_keys_and_targets_have_comments_of_their_own(fake, upsert):
    github = fake()
    for target, key in (("a", "x"), ("a", "y"), ("b", "x"), ("a x", ""), ("a", "x -->")):
        assert upsert(github, target=target, key=key).status == "created"
        assert upsert(github, target=target, key=key).status == "unchanged"
    assert len(github.world.comments) == 5
    assert all(comment.body.partition("\n")[0].count("-->") == 1 for comment in github.world.comments)


def test_a_long_key_stays_one_and_the_same(fake, upsert):
    github = fake()
    assert upsert(github, key="k" * 500).status == "created"
    assert upsert(github, key="k" * 500 + "l").status == "created"
    assert upsert(github, key="k" * 500).status == "unchanged"
    assert all(len(comment.body) < 500 for comment in github.world.comments)


# -- other tokens ------------------------------------------------------------------------------------------


def test_another_token_is_asked_whom_it_speaks_for(fake, upsert):
    github = fake(world=World(viewer=User("release-robot", "User")))
    assert upsert(github, author=None).status == "created"
    assert upsert(github, "second", author=None, GITHUB_RUN_ID=51).status == "updated"
    assert "POST /graphql" in github.calls()


def test_a_token_that_does_not_say_is_taken_for_the_jobs_own(fake, upsert):
    github = fake()
    github.faults.append(Fault(("POST",), "/graphql", 401, "no", times=None))
    assert upsert(github, author=None).status == "created"
    assert upsert(github, author=None).status == "unchanged"


@pytest.mark.parametrize(
    "fault",
    [
        Fault(("POST",), "/graphql", 502, "Bad Gateway", times=None),
        Fault(("POST",), "/graphql", 403, SECONDARY, {"Retry-After": "3600"}, times=None),
        Fault(("POST",), "/graphql", how="garble", times=None),
        Fault(("POST",), "/graphql", how="drop", times=None),
    ],
)
def test_a_token_that_could_not_be_asked_posts_nothing(fake, upsert, fault):
    github = fake(world=World(viewer=User("release-robot", "User")))
    assert upsert(github, "first", author=None).status == "created"
    github.faults.append(fault)
    result = upsert(github, "second", author=None, GITHUB_RUN_ID=51)
    assert result.status == "failed"
    assert result.reason
    github.faults.clear()
    assert upsert(github, "third", author=None, GITHUB_RUN_ID=52).status == "updated"
    assert len(github.world.comments) == 1


@pytest.mark.parametrize("lost", [False, True])
def test_who_the_comment_turns_out_to_be_of_is_who_we_are(fake, upsert, lost):
    github = fake(world=World(viewer=User("release-robot", "User")))
    for run in (50, 51, 52):
        github.faults.append(Fault(("POST",), "/graphql", 401, "no"))
        if lost:
            github.faults.append(Fault(("POST",), COMMENTS, 502, "Bad Gateway", executed=True))
        result = upsert(github, f"run {run}", author=None, GITHUB_RUN_ID=run)
        assert result.status == ("created" if run == 50 else "updated")
        [comment] = github.world.comments
        assert comment.body.endswith(f"run {run}")
        assert result.url.endswith(f"#issuecomment-{comment.id}")


# -- which pull request ------------------------------------------------------------------------------------


def push(**changes):
    return {"payload": {}, "GITHUB_EVENT_NAME": "push", "GITHUB_REF": "refs/heads/topic", **changes}


def test_push_comments_on_the_one_open_pull_request_with_that_head(fake, upsert):
    github = fake()
    github.world.pulls[7].head = "c" * 40
    github.world.pulls[6] = Pull(6, "c" * 40, state="closed")
    github.world.pulls[8] = Pull(8, "c" * 40, base_repository="fork/widgets")
    assert upsert(github, **push()).status == "created"
    assert github.world.comments[0].pull == 7


@pytest.mark.parametrize("heads", [[], ["c" * 40, "c" * 40]])
def test_push_without_exactly_one_pull_request_is_skipped(fake, upsert, heads):
    github = fake()
    for index, head in enumerate(heads):
        github.world.pulls[20 + index] = Pull(20 + index, head)
    result = upsert(github, **push())
    assert result.status == "skipped"
    assert str(len(heads)) in result.reason
    assert github.calls("POST") == []


def test_workflow_run_finds_the_pull_request_by_its_head(fake, upsert):
    github = fake()
    run = {"workflow_run": {"head_sha": "a" * 40, "pull_requests": [{"number": 99}]}}
    changes = {"GITHUB_EVENT_NAME": "workflow_run", "GITHUB_REF": "refs/heads/main"}
    assert upsert(github, payload=run, **changes).status == "created"
    assert github.world.comments[0].pull == 7


@pytest.mark.parametrize(
    "changes",
    [
        {"GITHUB_EVENT_NAME": "merge_group", "GITHUB_REF": "refs/heads/gh-readonly-queue/main/pr-7-x"},
        {"GITHUB_EVENT_NAME": "push", "GITHUB_REF": "refs/heads/gh-readonly-queue/main/pr-7-x"},
        {"GITHUB_EVENT_NAME": "schedule", "GITHUB_REF": "refs/heads/main"},
    ],
)
def test_without_a_pull_request_nothing_is_asked(fake, upsert, changes):
    github = fake()
    assert upsert(github, payload={}, **changes).status == "skipped"
    assert github.journal == []


# -- refusals ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("persona", "said"), [("readonly", "not accessible by integration"), ("locked", "locked")])
def test_a_refusal_is_a_status_and_asked_once(fake, upsert, clock, persona, said):
    github = fake(persona)
    result = upsert(github)
    assert result.status == "denied"
    assert said in result.reason
    assert len(github.calls("POST")) == 1
    assert clock.slept == []


def test_refusal_of_an_edit_is_denied_too(fake, upsert):
    github = fake()
    upsert(github)
    github.faults.append(Fault(("PATCH",), COMMENT, 403, "Resource not accessible by integration"))
    assert upsert(github, "new", GITHUB_RUN_ID=51).status == "denied"


def test_a_wrong_token_is_denied(fake, upsert):
    assert upsert(fake(), token="another").status == "denied"


def test_too_long_a_comment_is_not_sent(fake, upsert):
    github = fake()
    # One character is two UTF-16 units here.
    result = upsert(github, "\N{STRAIGHT RULER}" * (LIMIT // 2))
    assert result.status == "failed"
    assert str(LIMIT) in result.reason
    assert github.journal == []


def test_a_comment_that_github_finds_too_long_fails(fake, upsert, monkeypatch):
    monkeypatch.setattr("tests.fake_github.world.MAX_COMMENT", 100)
    result = upsert(fake(), "x" * 101)
    assert result.status == "failed"
    assert "422" in result.reason
    assert "too long" in result.reason


def test_what_nobody_foresaw_is_a_status(fake, upsert, monkeypatch):
    monkeypatch.setattr("plumbline.github.comment.Marker.read", lambda _: 1 / 0)
    github = fake()
    github.world.add_comment("x")
    result = upsert(github)
    assert (result.status, result.reason) == ("failed", "unexpected ZeroDivisionError")


# -- when the service stumbles -----------------------------------------------------------------------------


def test_a_bad_gateway_before_the_write_is_tried_again(fake, upsert, clock):
    github = fake("bad-gateway-before")
    assert upsert(github).status == "created"
    assert len(github.world.comments) == 1
    assert clock.slept == [1.0]


@pytest.mark.parametrize("persona", ["bad-gateway-after", "truncated", "dropped"])
def test_a_comment_that_was_posted_without_an_answer_is_not_posted_twice(fake, upsert, persona):
    github = fake(persona)
    result = upsert(github)
    assert result.status == "created"
    assert result.url
    assert len(github.world.comments) == 1
    assert len(github.calls("POST")) == 1


def test_an_edit_is_repeated(fake, upsert, clock):
    github = fake()
    upsert(github)
    github.faults += [Fault(("PATCH",), COMMENT, 502, "Bad Gateway"), Fault(("PATCH",), COMMENT, how="drop")]
    assert upsert(github, "new", GITHUB_RUN_ID=51).status == "updated"
    assert clock.slept[:2] == [1.0, 2.0]
    assert github.world.comments[0].edits == 1


def test_a_list_that_breaks_off_is_asked_again(fake, upsert):
    github = fake("garbled")
    github.world.add_comment("noise", SOMEBODY)
    assert upsert(github).status == "created"
    assert len(github.world.comments) == 2


@pytest.mark.parametrize(
    ("persona", "waited"),
    [
        ("secondary-limit", 60.0),
        ("too-many-requests", 60.0),
        ("secondary-limit-retry-after", 1.0),
        ("too-many-requests-retry-after", 1.0),
    ],
)
def test_a_rate_limit_is_waited_for_once(fake, upsert, clock, persona, waited):
    github = fake(persona)
    assert upsert(github).status == "created"
    assert len(github.world.comments) == 1
    assert clock.slept == [waited]


def test_a_rate_limit_beyond_the_budget_fails_at_once(fake, upsert, clock):
    github = fake()
    github.faults.append(Fault(("POST",), COMMENTS, 403, SECONDARY, {"Retry-After": "3600"}, times=None))
    result = upsert(github)
    assert result.status == "failed"
    assert "rate limit" in result.reason
    assert clock.slept == []


def test_trouble_that_lasts_ends_within_the_budget(fake, upsert, clock):
    github = fake()
    github.faults.append(Fault(("POST",), COMMENTS, 502, "Bad Gateway", times=None))
    result = upsert(github)
    assert (result.status, result.reason) == ("failed", "502 Bad Gateway")
    assert len(github.calls("POST")) == 4
    assert sum(clock.slept) < 90


@pytest.fixture
def hasty(client):
    """A client that waits a fifth of a second for an answer."""

    def make(github):
        one = client(github)
        one._connection.timeout = 0.2
        return one

    return make


def test_a_slow_answer_does_not_lead_to_a_second_comment(fake, hasty, event):
    github = fake("slow")
    result = upsert_comment(hasty(github), event(github), target="t", key="k", body="x", author=ACTIONS_LOGIN)
    assert result.status == "created"
    assert len(github.world.by(ACTIONS_BOT)) == 1
    assert len(github.calls("POST")) == 1


def test_a_write_that_takes_effect_late_is_put_right_by_the_next_run(fake, hasty, event, upsert):
    github = fake()
    github.faults.append(Fault(("POST",), COMMENTS, delay=0.5))
    result = upsert_comment(hasty(github), event(github), target="demo", key="gate", body=BODY, author=ACTIONS_LOGIN)
    assert result.status == "created"
    while len(github.calls("POST")) < 2:
        time.sleep(0.01)
    assert len(github.world.by(ACTIONS_BOT)) == 2
    assert upsert(github, "next", GITHUB_RUN_ID=51).status == "updated"
    assert [comment.body.endswith("next") for comment in github.world.by(ACTIONS_BOT)] == [True]


def test_the_token_does_not_follow_a_redirect(fake, upsert):
    other = fake()
    for host in (f"http://localhost:{other.port}", other.api_url):
        github = fake("redirect", redirect_target=f"{host}/rate_limit")
        result = upsert(github)
        assert result.status == "failed"
        assert other.journal == []


@pytest.mark.parametrize("status", [302, 307, 308])
def test_no_kind_of_redirect_is_followed(fake, upsert, status):
    other = fake()
    github = fake(redirect_target=f"http://localhost:{other.port}/x")
    github.faults.append(
        Fault(("POST",), COMMENTS, status, "", {"Location": f"http://localhost:{other.port}/x"}, times=None)
    )
    result = upsert(github)
    assert result.status == "failed"
    assert "redirect" in result.reason
    assert len(github.calls("POST")) == 1
    assert other.journal == []


# -- two runs at once --------------------------------------------------------------------------------------


def test_when_an_older_run_posts_first_its_comment_gets_our_word(fake, upsert, event):
    github = fake()

    once_before(
        github,
        "POST",
        lambda *_: github.world.add_comment(f"{marker(event, GITHUB_RUN_ID=49).line}\nolder"),
    )
    assert upsert(github).status == "updated"
    [own] = github.world.by(ACTIONS_BOT)
    assert own.body.endswith(BODY)
    assert len(github.world.deleted) == 1


def test_when_a_newer_run_posts_first_our_comment_goes(fake, upsert, event):
    github = fake()
    once_before(
        github,
        "POST",
        lambda *_: github.world.add_comment(f"{marker(event, GITHUB_RUN_ID=51).line}\nnewer"),
    )
    assert upsert(github).status == "skipped"
    [own] = github.world.by(ACTIONS_BOT)
    assert own.body.endswith("newer")


def test_ours_stays_when_it_was_first(fake, upsert, event):
    github = fake()
    upsert(github)
    github.world.add_comment(f"{marker(event, GITHUB_RUN_ID=49).line}\nduplicate of a run that broke off")
    assert upsert(github, "new", GITHUB_RUN_ID=51).status == "updated"
    [own] = github.world.by(ACTIONS_BOT)
    assert own.body.endswith("new")


def test_a_duplicate_that_cannot_be_deleted_is_told(fake, upsert, event):
    github = fake()
    upsert(github)
    github.world.add_comment(f"{marker(event, GITHUB_RUN_ID=49).line}\nduplicate")
    github.faults.append(Fault(("DELETE",), COMMENT, 403, "no", times=None))
    result = upsert(github, "new", GITHUB_RUN_ID=51)
    assert result.status == "updated"
    assert result.reason == "1 duplicates could not be deleted"


def test_a_duplicate_that_is_gone_already_is_no_trouble(fake, upsert, event):
    github = fake()
    upsert(github)
    twin = github.world.add_comment(f"{marker(event, GITHUB_RUN_ID=49).line}\nduplicate")
    once_before(github, "DELETE", lambda *_: github.world.delete(twin.id))
    result = upsert(github, "new", GITHUB_RUN_ID=51)
    assert (result.status, result.reason) == ("updated", "")


@pytest.mark.parametrize("twins", [0, 1])
def test_a_comment_deleted_meanwhile_is_made_anew(fake, upsert, event, twins):
    github = fake()
    upsert(github)
    first = github.world.comments[0]
    for _ in range(twins):
        github.world.add_comment(f"{marker(event, GITHUB_RUN_ID=49).line}\nduplicate")
    once_before(github, "PATCH", lambda *_: github.world.delete(first.id))
    assert upsert(github, "new", GITHUB_RUN_ID=51).status == ("updated" if twins else "created")
    [own] = github.world.by(ACTIONS_BOT)
    assert own.body.endswith("new")


def test_a_list_that_lags_behind_does_not_lose_the_comment(fake, upsert):
    github = fake()
    github.faults.append(Fault(("GET",), COMMENTS, 502, "Bad Gateway", times=None, skip=1))
    result = upsert(github)
    assert result.status == "created"
    assert result.url


def test_an_older_run_that_writes_after_us_does_not_have_the_last_word(fake, upsert, event, clock):
    github = fake()
    upsert(github, GITHUB_RUN_ID=49)
    stale = f"{marker(event, GITHUB_RUN_ID=50).line}\nstale"
    route, looks = github._route, []

    def late(request, path):
        if request.method == "GET" and "/issues/comments/" in path:
            looks.append(path)
            if len(looks) == 1:
                github.world.comments[0].body = stale
        return route(request, path)

    github._route = late
    clock.slept.clear()
    assert upsert(github, "ours", GITHUB_RUN_ID=51).status == "updated"
    assert github.world.comments[0].body.endswith("ours")
    assert (len(looks), clock.slept) == (2, [1.0, 1.0])


@pytest.mark.parametrize("word", ["newer", "somebody's own text"])
def test_what_a_newer_run_or_a_person_wrote_after_us_stays(fake, upsert, event, word):
    github = fake()
    upsert(github, GITHUB_RUN_ID=49)
    first_line = marker(event, GITHUB_RUN_ID=52).line if word == "newer" else ""
    github._one_comment = lambda request, number, real=github._one_comment: (
        github.world.comments[0].__setattr__("body", f"{first_line}\n{word}") if request.method == "GET" else None,
        real(request, number),
    )[1]
    assert upsert(github, "ours", GITHUB_RUN_ID=51).status == "updated"
    assert github.world.comments[0].body.endswith(word)


def test_a_look_that_fails_or_has_no_time_left_changes_nothing(fake, upsert, clock):
    github = fake()
    upsert(github, GITHUB_RUN_ID=49)
    github.faults.append(Fault(("GET",), COMMENT, 403, "no", times=None))
    assert upsert(github, "ours", GITHUB_RUN_ID=51).status == "updated"
    short = Patience(0.9, clock=clock.now, sleep=clock.sleep)
    assert upsert(github, "later", patience=short, GITHUB_RUN_ID=52).status == "updated"


def test_after_a_new_commit_no_second_look_is_taken(fake, upsert):
    github = fake()
    upsert(github)
    github.world.pulls[7].head = github.world.head = "e" * 40
    github.journal.clear()
    assert upsert(github, "new", GITHUB_RUN_ID=51).status == "updated"
    assert [entry["method"] for entry in github.journal] == ["GET", "GET", "PATCH"]


class Turns:
    """Lets one of several threads go on at a time, up to its next request, in the order of a list of choices."""

    def __init__(self, choices):
        self.choices = list(choices)
        self.condition = threading.Condition()
        self.waiting = set()
        self.turn = None
        self.left = set()

    def take(self, name):
        with self.condition:
            self.waiting.add(name)
            self.condition.notify_all()
            self.condition.wait_for(lambda: self.turn == name, timeout=20)
            self.turn = None
            self.waiting.discard(name)

    def leave(self, name):
        with self.condition:
            self.left.discard(name)
            self.condition.notify_all()

    def conduct(self):
        """Until all have left. A thread is asked only when every other one waits too, so the order is the list's."""
        with self.condition:
            while True:
                assert self.condition.wait_for(lambda: self.turn is None and self.waiting >= self.left, timeout=20)
                if not self.left:
                    return
                ready = sorted(self.waiting & self.left)
                self.turn = ready[(self.choices.pop() if self.choices else 0) % len(ready)]
                self.condition.notify_all()


class InTurns(Client):
    """A client that asks the fake GitHub without a socket, when it is its turn."""

    def __init__(self, github, turns, name):
        self.github, self.turns, self.name = github, turns, name
        self.patience = Patience(sleep=lambda _: None)

    def once(self, verb, path, *, query=None, body=None):
        self.turns.take(self.name)
        parameters = {key: [str(value)] for key, value in (query or {}).items()}
        headers = {"Authorization": self.github.token}
        request = Request(verb, path, parameters, headers, json.dumps(body).encode() if body else b"")
        reply, _ = self.github.answer(request)
        if reply.status >= 300:
            raise ApiError(str(reply.status), status=reply.status)
        return Answer(reply.status, {key.lower(): value for key, value in reply.headers.items()}, reply.value)


@pytest.fixture(scope="module")
def one_fake():
    with FakeGithub() as github:
        yield github


def test_whatever_the_order_of_events_runs_at_once_leave_one_comment(one_fake, event):
    """Some 1 in 50 of these orders left none when a run could still delete the oldest comment."""
    for seed in range(400):
        order = random.Random(seed)
        runs = [50, 51, 52][: order.choice([2, 3])]
        one_fake.world = World()
        if order.random() < 0.2:
            one_fake.world.add_comment(f"{marker(event, GITHUB_RUN_ID=40).line}\nbefore")
        assert statuses_at_once(one_fake, event, runs, [order.randrange(6) for _ in range(40)]) <= {
            "created",
            "updated",
            "skipped",
        }
        assert len(one_fake.world.by(ACTIONS_BOT)) == 1, seed


def statuses_at_once(github, event, runs, choices):
    turns = Turns(choices)
    turns.left = set(runs)
    statuses = set()

    def run(this):
        client = InTurns(github, turns, this.run_id)
        try:
            result = upsert_comment(
                client, this, target="demo", key="gate", body=f"{this.run_id}", author=ACTIONS_LOGIN
            )
            statuses.add(result.status)
        finally:
            turns.leave(this.run_id)

    threads = [threading.Thread(target=run, args=(event(github, GITHUB_RUN_ID=number),)) for number in runs]
    for thread in threads:
        thread.start()
    turns.conduct()
    for thread in threads:
        thread.join()
    return statuses


def once_before(github, method, action):
    """Have `action` happen just before the first request of `method` is carried out."""
    route, done = github._route, []

    def wrapped(request, path):
        if request.method == method and not done:
            done.append(True)
            action(request.method, path)
        return route(request, path)

    github._route = wrapped
