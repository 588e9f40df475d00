"""May these questions be put to that target?

Some questions are a test in the sense that an operator must have agreed to it: attempts to make the target misbehave,
attempts to get out what must stay in, and mere volume. They are refused without an `[authorisation]` table, which goes
into the manifest word for word. The table records a claim of whoever runs the recording; nothing here can check it.
"""

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from plumbline.errors import ConfigurationError
from plumbline.evidence.bundle import unprintable
from plumbline.evidence.schema import Item, Record, explain

PRODUCTION_FLAG = "--i-have-permission-to-test-production"
"""Typed by a person, so that a configuration alone never starts a run against production."""

MANY_CALLS = 1000
"""Calls from which volume alone needs permission."""

EARLIEST = dt.date(2000, 1, 1)
"""A day before this is a slip of the pen: there was no such target to agree to."""

_LEAST_TEXT = 3
_NAMED = 3


class Authorisation(Record, frozen=True):
    """`[authorisation]`."""

    authorised_by: str
    """Who agreed: a role or a person who can be asked."""
    authorised_on: dt.date
    environment: Literal["dev", "sandbox", "staging", "production"]
    scope: str
    """What was agreed to, in a sentence."""
    reference: str | None = None
    """Where the agreement can be found."""

    def stated(self) -> dict[str, str]:
        """The table as it goes into the manifest."""
        return {key: str(value) for key in self.__struct_fields__ if (value := getattr(self, key)) is not None}


def read_authorisation(table: Mapping[str, Any], *, today: dt.date) -> Authorisation:
    """Check the table.

    Args:
        table: as it stands in the configuration.
        today: the day against which `authorised_on` is held.

    Raises:
        ConfigurationError: the message begins with the key.
    """
    try:
        found = msgspec.convert(table, Authorisation)
    except msgspec.ValidationError as fault:
        told = explain(str(fault), Authorisation)
        told = told.replace("key '", "key 'authorisation.", 1) if "key '" in told else f"authorisation: {told}"
        raise ConfigurationError(told) from None
    for key in ("authorised_by", "scope", "reference"):
        text = getattr(found, key)
        if text is not None and (len(text.strip()) < _LEAST_TEXT or unprintable(text)):
            raise ConfigurationError(f"authorisation.{key} must be at least {_LEAST_TEXT} printable characters")
        if key != "reference" and not any(map(str.isalpha, text or "")):
            raise ConfigurationError(f"authorisation.{key} must say something: there is no letter in it")
    if found.authorised_on < EARLIEST:
        raise ConfigurationError(f"authorisation.authorised_on: {found.authorised_on} is before {EARLIEST}")
    if found.authorised_on > today:
        raise ConfigurationError(f"authorisation.authorised_on: {found.authorised_on} is in the future")
    return found


def reasons(items: Iterable[Item], calls: int) -> list[str]:
    """Why these questions need permission, one line for each family; empty where they need none.

    Args:
        items: all that the question set asks, whichever shard of it is recorded.
        calls: how many calls the whole recording makes.
    """
    families: dict[str, list[str]] = {}
    for item in items:
        for told in _families(item):
            families.setdefault(told, []).append(item.id)
    found = [f"{len(ids)} {told}: {_some(ids)}" for told, ids in families.items()]
    if calls > MANY_CALLS:
        found.append(f"{calls} calls, which is more than {MANY_CALLS}")
    return found


def _families(item: Item) -> Iterable[str]:
    if item.adversarial:
        yield "adversarial items, which try to make the target misbehave"
    if item.forbidden:
        yield "items with 'forbidden' strings, which try to draw out what must not be said"
    if item.turns and (item.adversarial or item.behavior == "refuse"):
        yield "items that press on over several turns after a refusal is due"


def _some(ids: Sequence[str]) -> str:
    return ", ".join(ids[:_NAMED]) + (f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else "")


def require(found: Authorisation | None, why: Sequence[str], *, production_confirmed: bool) -> None:
    """Refuse what is not authorised, with every reason at once.

    Raises:
        ConfigurationError: permission is needed and not stated, or the flag for production was not typed.
    """
    if found is None and why:
        raise ConfigurationError(
            "these questions need the permission of whoever runs the target, and the configuration states none:\n"
            + "\n".join(f"  {reason}" for reason in why),
            remedy="Add an [authorisation] table (authorised_by, authorised_on, environment, scope) once you have it.",
        )
    if found is not None and found.environment == "production" and not production_confirmed:
        raise ConfigurationError(
            "authorisation.environment is production, and a configuration alone does not start a run against it:\n"
            + "\n".join(f"  {reason}" for reason in why or ["the target serves real people"]),
            remedy=f"Type {PRODUCTION_FLAG} as well.",
        )
