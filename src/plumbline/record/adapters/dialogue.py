"""What does one conversation know so far?"""

from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from plumbline.errors import ConfigurationError
from plumbline.record.adapters.base import CallError, Question
from plumbline.record.adapters.settings import HistoryKeys
from plumbline.record.template import whole_text


@dataclass(slots=True)
class Dialogue:
    """What one conversation knows so far."""

    question: Question
    keys: HistoryKeys
    given: bool
    """Whether the target gives the conversation's id, and not we."""
    turns: int = 0
    """Turns that have been answered."""
    conversation: str = field(default_factory=lambda: str(uuid4()))
    known: bool = False
    """Whether the target has given the id."""
    messages: list[dict[str, str]] = field(default_factory=list)

    def values(self, text: str, where: str) -> dict[str, Any]:
        """The placeholders' values for the next turn.

        Raises:
            CallError: `no_identifier`, where a later turn needs the id that the target has not given.
        """
        if self.turns and self.given and not self.known:
            raise CallError(
                f"{where}: the reply to the first turn held no conversation id, so the next turn cannot be asked",
                fault="no_identifier",
                remedy="Correct adapter.conversation_pointer, or send the turns so far with {history}.",
            )
        return {
            "prompt": text,
            "lang": self.question.lang,
            "item_id": self.question.item,
            "turn": str(self.turns + 1),
            "conversation": self.conversation,
            "history": [*self.messages, self._message(self.keys.user, text)],
        }

    def learn(self, text: str, said: str, conversation: str | None) -> None:
        """Take note of what one turn brought."""
        self.turns += 1
        self.messages += [self._message(self.keys.user, text), self._message(self.keys.assistant, whole_text(said))]
        if conversation is not None:
            self.conversation, self.known = conversation, True

    def _message(self, role: str, content: str) -> dict[str, str]:
        return {self.keys.role: role, self.keys.content: content}


def refuse_forgetful(question: Question, *, carries: bool) -> None:
    """Refuse to ask follow-up turns of a target that would take each for the first.

    Raises:
        ConfigurationError: the item has turns and nothing carries the conversation.
    """
    if question.turns and not carries:
        raise ConfigurationError(
            f"item {question.item}: has follow-up turns, and nothing in [adapter] carries a conversation",
            remedy="Send {conversation} (see adapter.conversation_pointer) or {history} in the request.",
        )
