"""Run the fake GitHub as a process: it prints its URL on the first line and serves until it is ended."""

import argparse
import sys
import threading
from pathlib import Path

from .personas import PERSONAS
from .server import FakeGithub
from .world import World


def main() -> None:
    """Parse, listen, print where."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0: any free port")
    parser.add_argument("--state", type=Path, required=True, help="folder for journal.jsonl and state.json")
    parser.add_argument("--persona", choices=sorted(PERSONAS), default="normal")
    parser.add_argument("--repository", default="acme/widgets")
    parser.add_argument("--pull", type=int, default=7, help="number of the one open pull request")
    parser.add_argument("--head", default="a" * 40, help="commit at the head of that pull request")
    parser.add_argument("--token", default="token-of-this-test", help="the only token that is let in")
    parser.add_argument("--prefix", default="", help="/api/v3 for GitHub Enterprise Server")
    parser.add_argument("--marker", help="first line of the comment that the persona has somebody plant")
    options = parser.parse_args()
    world = World(repository=options.repository, number=options.pull, head=options.head)
    fake = FakeGithub(
        options.persona,
        world=world,
        prefix=options.prefix,
        token=options.token,
        port=options.port,
        state=options.state,
    )
    if options.marker:
        fake.plant(options.marker)
    with fake:
        sys.stdout.write(f"{fake.api_url}\n")
        sys.stdout.flush()
        threading.Event().wait()


if __name__ == "__main__":
    main()
