"""What does a file of OpenAI-style chats hold: JSON Lines of `{"messages": [{"role", "content"}, ...]}`?

Every message of the assistant is taken for what the target said. Multi-turn chats become turns.
"""

from plumbline.importers.base import Extract, ForeignFileError, Origin, Row
from plumbline.importers.dialogue import conversation
from plumbline.importers.documents import json_lines

SUMMARY = "JSON Lines of chats with `messages`, as chat APIs take and fine-tuning sets hold them"


def read(origin: Origin) -> Extract:
    """One row for each chat.

    Raises:
        ForeignFileError: a line that is no chat.
    """
    rows = []
    for where, record in json_lines(origin):
        if "messages" not in record:
            raise ForeignFileError(f"{where}: the key 'messages' is missing")
        said = conversation(record["messages"], f"{where}: messages")
        asked = any(reply is not None for reply in said.replies)
        rows.append(Row(where=where, record=record, keys={}, conversation=said, taken=("messages",), asked=asked))
    return Extract(rows=rows)
