"""What do the documents that came back say, by the pointers of the configuration?"""

import re
from collections.abc import Sequence
from typing import Any

from plumbline.errors import ConfigurationError
from plumbline.record.adapters.base import Reply, Retrieved
from plumbline.record.adapters.settings import CallSettings
from plumbline.record.extract import Pointer, answer, identifier, identifiers, passages

_MARKER = re.compile(r"\[([^\[\]]*)\]")
RAW = 64 * 1024
"""Characters of what came that a reply keeps."""


class Pointers:
    """The pointers of one configuration.

    Args:
        settings: where they stand.
        needs_answer: whether `response_pointer` must be there.

    Raises:
        ConfigurationError: one that is no pointer, or two that exclude each other.
    """

    def __init__(self, settings: CallSettings, *, needs_answer: bool = True) -> None:
        def pointer(name: str) -> Pointer | None:
            text = getattr(settings, name)
            return None if text is None else Pointer(text, key=f"adapter.{name}")

        self.answer = pointer("response_pointer")
        self.citations = pointer("citations_pointer")
        self.retrieved = pointer("retrieved_pointer")
        self.retrieved_id = Pointer(settings.retrieved_id_pointer, key="adapter.retrieved_id_pointer")
        self.retrieved_text = Pointer(settings.retrieved_text_pointer, key="adapter.retrieved_text_pointer")
        self.document_ids = pointer("document_ids_pointer")
        self.conversation = pointer("conversation_pointer")
        self.join = settings.response_join
        self.append = settings.append_citations
        if needs_answer and self.answer is None:
            raise ConfigurationError(
                "adapter.response_pointer: the key is missing",
                remedy='Say where the answer stands, for example response_pointer = "$.answer".',
            )
        if self.retrieved is not None and self.document_ids is not None:
            raise ConfigurationError("adapter.document_ids_pointer: retrieved_pointer is set, too; choose one")
        if self.append and self.citations is None:
            raise ConfigurationError("adapter.append_citations: needs adapter.citations_pointer")

    def read_answer(self, document: Any, where: str) -> str:  # noqa: ANN401 - any JSON value
        """The answer within a document.

        Raises:
            CallError: as `extract.answer`.
        """
        assert self.answer is not None  # noqa: S101 - callers asked for it
        return answer(self.answer, document, where, join=self.join)

    def read_conversation(self, document: Any, where: str) -> str | None:  # noqa: ANN401 - any JSON value
        """The conversation's id within a document, or None."""
        return None if self.conversation is None else identifier(self.conversation, document, where)

    def reply(self, text: str, documents: Sequence[Any], raw: str, where: str) -> Reply:
        """The reply that `text` and the documents around it make: the last one that says something counts.

        Raises:
            CallError: something that a pointer leads to is not what it should be.
        """
        # A dictionary, since a stream may bring an id with every piece; the order is that of the first mention.
        cited: dict[str, None] | None = None
        looked_at = None
        for document in documents:
            if self.citations is not None and (ids := identifiers(self.citations, document, where)) is not None:
                cited = {} if cited is None else cited
                cited.update(dict.fromkeys(ids))
            if self.retrieved is not None:
                found = passages(self.retrieved, self.retrieved_id, self.retrieved_text, document, where)
                looked_at = looked_at if found is None else found
            if self.document_ids is not None and (ids := identifiers(self.document_ids, document, where)) is not None:
                looked_at = tuple(Retrieved(id=name, text=None) for name in ids)
        if self.append and cited:
            already = set(_MARKER.findall(text))
            text += "".join(f" [{name}]" for name in cited if name not in already)
        return Reply(text, None if cited is None else tuple(cited), looked_at, raw[:RAW])

    def describe(self) -> dict[str, Any]:
        """The pointers for the call shape, those that are set."""
        named = {
            "response_pointer": self.answer,
            "citations_pointer": self.citations,
            "retrieved_pointer": self.retrieved,
            "document_ids_pointer": self.document_ids,
            "conversation_pointer": self.conversation,
        }
        shape: dict[str, Any] = {name: pointer.text for name, pointer in named.items() if pointer is not None}
        if self.retrieved is not None:
            shape |= {
                "retrieved_id_pointer": self.retrieved_id.text,
                "retrieved_text_pointer": self.retrieved_text.text,
            }
        if self.join is not None:
            shape["response_join"] = self.join
        return shape | {"append_citations": self.append}
