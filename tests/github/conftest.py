import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from plumbline.github.event import Event, read_event
from plumbline.github.rest import Client, Patience
from tests.fake_github import FakeGithub


class Clock:
    """Time that passes only when somebody sleeps."""

    def __init__(self) -> None:
        self.time = 1_000.0
        self.slept: list[float] = []

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def patience(clock: Clock) -> Patience:
    return Patience(clock=clock.now, sleep=clock.sleep)


@pytest.fixture
def fake() -> Iterator[Callable[..., FakeGithub]]:
    """Makes fake GitHubs; at the end, none of them may have seen or said anything undocumented."""
    running: list[FakeGithub] = []

    def make(*args: object, **options: object) -> FakeGithub:
        github = FakeGithub(*args, **options)
        running.append(github.__enter__())
        return github

    yield make
    for github in running:
        github.__exit__(None, None, None)
    assert [violation for github in running for violation in github.violations] == []


@pytest.fixture
def environment(tmp_path: Path) -> Callable[..., dict[str, str]]:
    """Makes the runner's variables for an event on pull request 7 of acme/widgets."""

    def make(github: FakeGithub | None = None, payload: object = None, **changes: str | int) -> dict[str, str]:
        head = github.world.head if github else "a" * 40
        number = github.world.number if github else 7
        if payload is None:
            payload = {
                "number": number,
                "pull_request": {"number": number, "head": {"sha": head}, "base": {"sha": "b" * 40}},
            }
        path = tmp_path / "event.json"
        path.write_text(json.dumps(payload), "utf-8")
        variables = {
            "GITHUB_EVENT_NAME": "pull_request",
            "GITHUB_EVENT_PATH": str(path),
            "GITHUB_REPOSITORY": "acme/widgets",
            "GITHUB_SHA": "c" * 40,
            "GITHUB_REF": f"refs/pull/{number}/merge",
            "GITHUB_RUN_ID": "50",
            "GITHUB_RUN_ATTEMPT": "1",
            "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
            "GITHUB_OUTPUT": str(tmp_path / "output.txt"),
        }
        if github:
            variables |= {
                "GITHUB_API_URL": github.api_url,
                "GITHUB_GRAPHQL_URL": github.graphql_url,
                "GITHUB_TOKEN": github.token,
            }
        return variables | {name: str(value) for name, value in changes.items()}

    return make


@pytest.fixture
def event(environment: Callable[..., dict[str, str]]) -> Callable[..., Event]:
    def make(github: FakeGithub | None = None, payload: object = None, **changes: str | int) -> Event:
        return read_event(environment(github, payload, **changes))

    return make


@pytest.fixture
def client(patience: Patience) -> Iterator[Callable[..., Client]]:
    """Makes clients of a fake GitHub, on the test's clock."""
    made: list[Client] = []

    def make(github: FakeGithub, **options: object) -> Client:
        settings = {"graphql_url": github.graphql_url, "patience": patience, **options}
        token = settings.pop("token", github.token)
        made.append(Client(github.api_url, token, **settings))
        return made[-1]

    yield make
    for one in made:
        one.__exit__()
