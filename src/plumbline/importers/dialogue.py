"""What did the user ask and what was said to it, in a list of chat messages?"""

from collections.abc import Callable
from typing import Any

from plumbline.importers.base import Conversation, ForeignFileError
from plumbline.importers.documents import kind_of, list_of, record_of

USERS = frozenset({"user", "human"})
REPLIES = frozenset({"assistant", "ai"})
OTHERS = frozenset({"system", "developer", "tool", "function"})
"""Roles that are neither: instructions to the target, and what its tools returned."""


def conversation(
    messages: Any,  # noqa: ANN401 - whatever stands in the file
    where: str,
    *,
    role_key: str = "role",
    resolve: Callable[[str], str] = str,
) -> Conversation:
    """The turns of a dialogue.

    Several texts of the target before the next turn of the user are one reply, a blank line between them: the user has
    seen them all. A message without any text (a call of a tool) is none.

    Args:
        messages: a list of `{role, content}`.
        where: its place, for messages.
        role_key: the key of the role.
        resolve: turns a text that only refers to another into that other.

    Raises:
        ForeignFileError: not such a list, a role nobody knows, content that is no text, a reply before the first
            question, or no question at all.
    """
    users: list[str] = []
    replies: list[list[str]] = []
    for place, given in enumerate(list_of(messages, where)):
        at = f"{where}[{place}]"
        message = record_of(given, at)
        role = message.get(role_key)
        if isinstance(role, str) and role in OTHERS:
            continue
        if not isinstance(role, str) or role not in USERS | REPLIES:
            raise ForeignFileError(f"{at}.{role_key}: {_role(role)} is no role of a chat message")
        text = content(message, at, resolve)
        if role in USERS:
            if not (text or "").strip():
                raise ForeignFileError(f"{at}.content: a turn of the user without text")
            users.append(text or "")
            replies.append([])
        elif not users:
            raise ForeignFileError(f"{at}: a reply stands before the first question")
        elif text is not None:
            replies[-1].append(text)
    if not users:
        raise ForeignFileError(f"{where}: no message of the user")
    return Conversation(users=tuple(users), replies=tuple("\n\n".join(said) if said else None for said in replies))


def _role(role: object) -> str:
    return repr(role[:40]) if isinstance(role, str) else kind_of(role)


def content(message: dict[str, Any], where: str, resolve: Callable[[str], str] = str) -> str | None:
    """The text of a message: a string, or the text parts of a list; where there is none, its refusal.

    Raises:
        ForeignFileError: something that is no text, such as a picture: a bundle holds text.
    """
    found = message.get("content")
    if isinstance(found, list):
        parts = [
            _part(record_of(part, f"{where}.content[{n}]"), f"{where}.content[{n}]") for n, part in enumerate(found)
        ]
        found = "".join(resolve(part) for part in parts if part is not None) or None
    elif isinstance(found, str):
        found = resolve(found)
    elif found is not None:
        raise ForeignFileError(f"{where}.content: {kind_of(found)} stands where a text is wanted")
    refusal = message.get("refusal")
    return refusal if found is None and isinstance(refusal, str) else found


def _part(part: dict[str, Any], where: str) -> str | None:
    kind = part.get("type")
    if kind in {"text", "input_text", "output_text"} and isinstance(part.get("text"), str):
        return str(part["text"])
    if kind == "refusal" and isinstance(part.get("refusal"), str):
        return str(part["refusal"])
    if kind == "reasoning":
        return None  # what the target thought is not what it said
    raise ForeignFileError(f"{where}: a part of type {_role(kind)} is no text, and a bundle holds text")
