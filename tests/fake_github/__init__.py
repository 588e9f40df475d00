"""What does GitHub answer, when GitHub is a process on this machine?

A stand-in for the few parts of GitHub's REST service that Plumbline talks to. It checks every request, and
its own answers, against GitHub's OpenAPI description, so that a test cannot agree with a wrong idea of the
service.
"""

from .openapi import OpenApi, installed
from .personas import PERSONAS, Fault, Persona
from .server import FakeGithub
from .world import ACTIONS_BOT, User, World

__all__ = [
    "ACTIONS_BOT",
    "PERSONAS",
    "FakeGithub",
    "Fault",
    "OpenApi",
    "Persona",
    "User",
    "World",
    "installed",
]
