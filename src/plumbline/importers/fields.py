"""What does each row say for each field, and what does no row say?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from plumbline.errors import ConfigurationError
from plumbline.evidence.bundle import unprintable
from plumbline.evidence.schema import Behavior, suggestion
from plumbline.importers.base import FLAG_FIELDS, LIST_FIELDS, ForeignFileError, Row
from plumbline.importers.documents import json_of, kind_of
from plumbline.importers.mapping import ABSENT, value_at

_SHOWN = 5
_KNOWN = 50
_TRUTHS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
_MORE = ("expected", "load_bearing", "fact_id", "group", "cluster", "adversarial", "forbidden", "forbidden_claims")
_REMEDIES = {
    "lang": "--lang TAG, or --map lang=KEY",
    "behavior": "--behavior answer or refuse, or --map behavior=KEY",
    "prompt": "--map prompt=KEY",
    "expected": "--map expected=KEY, or --behavior refuse where a refusal is expected",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """One row in Plumbline's words, complete and of the right types."""

    where: str
    id: str | None
    lang: str
    behavior: str
    prompt: str
    turns: tuple[str, ...]
    response: str | None
    replies: tuple[str | None, ...]
    retrieved: tuple[str, ...] | None
    """Passages; None where the file does not tell what was retrieved."""
    answering: tuple[str, ...]
    more: Mapping[str, Any]
    """Further keys of the item."""
    read: tuple[str, ...]
    """Keys that were read."""
    left: tuple[str, ...]
    """What had to be left out, as entries for the list of unmapped fields."""
    repeats: bool


def drafts(
    rows: Sequence[Row], chosen: Mapping[str, str], *, lang: str | None, behavior: str | None, name: str
) -> list[Draft]:
    """A draft for each row.

    Raises:
        ForeignFileError: a value of a wrong type, or the list of what is missing.
    """
    for field, key in chosen.items():
        if all(value_at(row.record, key) is ABSENT for row in rows):
            known = list(dict.fromkeys(found for row in rows[:100] for found in row.record))[:_KNOWN]
            raise ForeignFileError(f"{name}: --map {field}={shown(key)}: no row has that key{suggestion(key, known)}")
    missing: dict[str, list[str]] = {}
    found = [_draft(row, {**row.keys, **chosen}, lang, behavior, missing) for row in rows]
    if missing:
        listed = [
            f"{field}: missing in {len(places)} of {len(rows)} rows ({_places(places)})"
            for field, places in missing.items()
        ]
        raise ForeignFileError(
            f"{name}: nothing is guessed, and the file does not say everything:\n" + "\n".join(listed),
            remedy="; ".join(_REMEDIES[field] for field in missing),
        )
    return found


def _places(places: Sequence[str]) -> str:
    return ", ".join(places[:_SHOWN]) + (f" and {len(places) - _SHOWN} more" if len(places) > _SHOWN else "")


def _draft(
    row: Row, keys: Mapping[str, str], lang: str | None, behavior: str | None, missing: dict[str, list[str]]
) -> Draft:
    said: dict[str, Any] = {}
    read, left = [], []
    for field, key in keys.items():
        value = value_at(row.record, key)
        if value is ABSENT or value is None:
            continue
        read.append(key)
        if field == "response" and row.failed:
            continue  # whatever stands there is not what the target said
        said[field] = _typed(field, value, f"{row.where}: {key}")
        if field in {"retrieved", "answering"} and isinstance(value, list) and len(said[field]) < len(value):
            left.append(f"{key}[] (blank passages)")
    dialogue = row.conversation
    users = dialogue.users if dialogue is not None else ()
    prompt = said.get("prompt") or (users[0] if users else "")
    replies = dialogue.replies if dialogue is not None else (None,)
    failed = row.failed or "error" in said
    replies = (None,) * len(replies) if failed else replies
    for text in (*users, *(reply for reply in replies if reply is not None)):
        _sound(text, row.where)
    said.setdefault("lang", lang)
    said.setdefault("behavior", behavior)
    expects = said["behavior"] == "answer"
    for field in ("lang", "behavior", "prompt", *(("expected",) if expects else ())):
        value = prompt if field == "prompt" else said.get(field)
        if not (value or "").strip():
            missing.setdefault(field, []).append(row.where)
    retrieved, answering = said.get("retrieved"), said.get("answering") or ()
    if answering and not expects:
        left.append(f"{keys['answering']} (of an item that expects a refusal)")
    return Draft(
        where=row.where,
        id=said.get("id"),
        lang=said["lang"] or "",
        behavior=said["behavior"] or "",
        prompt=prompt,
        turns=tuple(users[1:]),
        response=None if failed else said.get("response", replies[-1]),
        replies=replies,
        retrieved=None if failed else retrieved,
        answering=answering if expects else (),
        more={key: said[key] for key in _MORE if key in said},
        read=tuple(read),
        left=tuple(left),
        repeats=row.repeats,
    )


def _typed(field: str, value: Any, where: str) -> Any:  # noqa: ANN401 - any JSON value in, the field's type out
    if field in FLAG_FIELDS:
        return _flag(value, where)
    if field in LIST_FIELDS:
        return _texts(field, value, where)
    if field == "error":
        return True
    if field == "id" and isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise ForeignFileError(f"{where}: {kind_of(value)} stands where a text is wanted")
    _sound(value, where)
    if field == "id" and (not value.strip() or unprintable(value)):
        raise ForeignFileError(f"{where}: {shown(value)} is blank or holds characters that cannot be printed")
    if field == "behavior" and value not in get_args(Behavior):
        raise ForeignFileError(f"{where}: {shown(value)} is neither 'answer' nor 'refuse'")
    return value


def _flag(value: Any, where: str) -> bool:  # noqa: ANN401 - any JSON value
    truth = _TRUTHS.get(value.strip().lower()) if isinstance(value, str) else value
    if not isinstance(truth, bool):
        raise ForeignFileError(f"{where}: neither true nor false")
    return truth


def _texts(field: str, value: Any, where: str) -> tuple[str, ...]:  # noqa: ANN401 - any JSON value
    if isinstance(value, str):
        value = _listed(value)
    if not isinstance(value, list):
        raise ForeignFileError(f"{where}: {kind_of(value)} stands where a list of texts is wanted")
    texts = []
    for n, text in enumerate(value):
        if not isinstance(text, str):
            raise ForeignFileError(f"{where}[{n}]: {kind_of(text)} stands where a text is wanted")
        _sound(text, f"{where}[{n}]")
        if text.strip():
            texts.append(text)
        elif field in {"forbidden", "forbidden_claims"}:
            raise ForeignFileError(f"{where}[{n}]: a blank text would match everything")
    return tuple(texts)


def _listed(cell: str) -> list[Any]:
    # A cell holds one text, or a list as JSON.
    if cell.lstrip().startswith("["):
        try:
            found = json_of(cell, "cell")
        except ConfigurationError:
            return [cell]
        if isinstance(found, list) and all(isinstance(text, str) for text in found):
            return found
    return [cell]


def _sound(text: str, where: str) -> None:
    if "\0" in text:
        raise ForeignFileError(f"{where}: a NUL character in a text")
    try:
        text.encode()
    except UnicodeEncodeError as fault:
        raise ForeignFileError(f"{where}: half of a surrogate pair at character {fault.start + 1}") from None


def shown(text: str) -> str:
    """A name from a file or an option, quoted and cut short."""
    return repr(text if len(text) <= 80 else text[:79] + "…")
