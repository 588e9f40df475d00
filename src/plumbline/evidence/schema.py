"""Which records does an evidence bundle hold, and which keys may they have?

Bundle format version 1 (specification, "Evidence bundle format"). Every structure refuses unknown keys and wrong
types; `decode` turns what the decoder says into an error that names the file, the line, the key and, where a key was
misspelt, the nearest one that exists.
"""

import codecs
import json
import posixpath
import re
from collections.abc import Sequence
from functools import cache
from typing import Any, Literal, TypeVar, get_args

import msgspec

from plumbline.errors import BundleError, PlumblineError

MANIFEST_FORMAT = "plumbline-bundle"
CHECKSUMS_FORMAT = "plumbline-checksums"
FORMAT_VERSION = 1

Behavior = Literal["answer", "refuse"]


class Record(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """What every on-disk structure has in common: immutable, and closed to unknown keys."""


class Files(Record, frozen=True):
    """The file map of a manifest: names relative to the bundle, each covered by a checksum."""

    items: str
    """JSON Lines of `Item`."""
    responses: str | None = None
    """JSON Lines of `Response`; absent in a question set."""
    sources: str | None = None
    """JSON Lines of `Source`."""
    interface: str | None = None
    """A captured HTML page."""

    def declared(self) -> dict[str, str]:
        """The map as role to name as a seal writes it (`./x` is `x`), without the roles that are absent."""
        names = ((role, getattr(self, role)) for role in self.__struct_fields__)
        return {role: posixpath.normpath(name) for role, name in names if name is not None}


class Manifest(Record, frozen=True):
    """`manifest.json`: what the bundle calls itself and where its parts are."""

    format: str
    format_version: int
    files: Files
    name: str | None = None
    version: str | None = None
    synthetic: bool = False
    """True when a generator wrote the answers; then the bundle says nothing about any real service."""
    description: str | None = None
    recording: dict[str, Any] | None = None
    """What `plumbline record` wrote about the event of recording; passed through to the report."""


class Translation(Record, frozen=True):
    """Where a translated item comes from and who looked at it."""

    of: str
    """The id of the item it translates."""
    review: Literal["sme_reviewed", "unreviewed"]


class Item(Record, frozen=True):
    """One question with what is expected of the answer (specification, "Item schema")."""

    id: str
    lang: str
    """BCP 47 language tag."""
    behavior: Behavior
    prompt: str
    expected: str | None = None
    """Reference answer; required of answer items."""
    load_bearing: bool = False
    """A policy fact (amount, limit, deadline): missing it fails the suite whatever the mean."""
    fact_id: str | None = None
    group: str | None = None
    translation: Translation | None = None
    forbidden: list[str] = []
    forbidden_claims: list[str] = []
    sources: list[str] = []
    answering_sources: list[str] | None = None
    adversarial: bool = False
    turns: list[str] = []
    """Follow-up user turns after `prompt`."""
    cluster: str | None = None
    """Items whose answers hang together beyond a shared `fact_id`; intervals treat a cluster as one draw."""


class RetrievedPassage(Record, frozen=True):
    """One passage that a target says it looked at."""

    id: str | None = None
    text: str | None = None


class Response(Record, frozen=True):
    """What the target said to one item. `null` and a missing record are silence."""

    id: str
    response: str | None
    turn_responses: list[str | None] | None = None
    """What was said to each user turn, `prompt` first; null where that turn stayed without an answer."""
    passes: list[str | None] | None = None
    """Every answer where the item was asked more than once; the first is `response` itself."""
    citations: list[str] | None = None
    """Ids of passages that the target returned beside the text; absent where that was not captured."""
    retrieved: list[RetrievedPassage] | None = None
    """Passages that the target says it looked at; absent where that was not captured."""


class Source(Record, frozen=True):
    """One passage of the corpus."""

    id: str
    text: str
    title: str | None = None
    url: str | None = None


class Checksums(Record, frozen=True):
    """`checksums.json`: the seal."""

    format: str
    format_version: int
    algorithm: str
    files: dict[str, str]
    """Name relative to the bundle to 64 lowercase hex digits."""
    bundle_sha256: str


T = TypeVar("T", bound=msgspec.Struct)

_KEY_MARK = re.compile(rb'"[ \t\r\n]*:')
_KEYS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_UNKNOWN = re.compile(r"Object contains unknown field `(.*?)`(?: - at `(.*)`)?$", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(.*?)`(?: - at `(.*)`)?$", re.DOTALL)
_AT = re.compile(r"(.*) - at `(.*)`$", re.DOTALL)


def decode(
    data: bytes, kind: type[T], *, file: str, line: int | None = None, error: type[PlumblineError] = BundleError
) -> T:
    """Decode one JSON document or one line of JSON Lines into `kind`.

    Args:
        data: UTF-8 JSON without a byte order mark.
        kind: the structure that the document must fit.
        file: name for error messages.
        line: 1-based line for error messages.
        error: the class to raise; its exit code says whose fault a malformed document is.

    Raises:
        PlumblineError: of class `error`, for anything that is not exactly one `kind`; also for a repeated key, which
            readers of JSON resolve differently.
    """
    try:
        value: T = _decoder(kind).decode(data)
        if _key_marks(data) != len(_KEYS.decode(data)):
            json.loads(data, object_pairs_hook=_pairs)
    except msgspec.ValidationError as fault:
        raise error(f"{place(file, line)}: {explain(str(fault), kind)}") from None
    except (msgspec.DecodeError, UnicodeError) as fault:
        raise error(f"{place(file, line)}: not valid JSON: {_malformed(data, fault)}") from None
    except RecursionError:
        raise error(f"{place(file, line)}: JSON is nested too deeply") from None
    except _RepeatedKeyError as fault:
        raise error(f"{place(file, line)}: the key {fault.args[0]!r} stands twice in one object") from None
    return value


def decode_lines(data: bytes, kind: type[T], *, file: str) -> list[tuple[int, T]]:
    """Decode JSON Lines into pairs of 1-based line number and record. Blank lines are passed over.

    Raises:
        BundleError: naming the line, for anything `decode` refuses.
    """
    records, numbers = decode_records(data, kind, file=file)
    return list(zip(numbers, records, strict=True))


def decode_records(data: bytes, kind: type[T], *, file: str) -> tuple[list[T], Sequence[int]]:
    """`decode_lines` as the records and the line number of each, which is a range where no line is blank.

    Raises:
        BundleError: naming the line, for anything `decode` refuses.
    """
    try:
        records: list[T] = _decoder(kind).decode_lines(data)
        keys = sum(map(len, _KEYS.decode_lines(data)))
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        records, keys = [], -1
    # The decoder takes documents wherever they stand. Where every line break is between `}` and `{`, which is nowhere
    # inside a document, and there are as many records as lines, each line is one record. With every key accounted for
    # the file is read; otherwise it is read line by line, which is slower and knows the line of every fault.
    body = data.rstrip(b"\n")
    breaks = body.count(b"\n")
    if keys == _key_marks(data) and breaks == body.count(b"}\n{") and len(records) == breaks + 1:
        return records, range(1, len(records) + 1)
    lines = ((number, line.strip(b" \t\r\n")) for number, line in enumerate(data.split(b"\n"), start=1))
    found = {number: decode(line, kind, file=file, line=number) for number, line in lines if line}
    return list(found.values()), list(found)


def _malformed(data: bytes, fault: Exception) -> str:
    if data.startswith(codecs.BOM_UTF8):
        return "it begins with a byte order mark; save it as UTF-8 without one"
    if not data.strip():
        return "it is empty"
    return str(fault).removeprefix("JSON is malformed: ").replace("Input data was truncated", "it breaks off")


def _key_marks(data: bytes) -> int:
    # Every key is followed by a quote, blanks and a colon, so there are at least as many marks as keys. Where the
    # distinct keys account for every mark no key can stand twice, and the slow reader is not needed.
    return len(_KEY_MARK.findall(data))


@cache
def _decoder(kind: type[T]) -> msgspec.json.Decoder[T]:
    return msgspec.json.Decoder(kind)


def place(file: str, line: int | None) -> str:
    """`file:line`, or `file` alone."""
    return file if line is None else f"{file}:{line}"


def explain(message: str, kind: type[msgspec.Struct]) -> str:
    """A decoder's complaint in words a user can act on, with the nearest known name of an unknown key."""
    if found := _UNKNOWN.match(message):
        key, path = found.group(1), _dotted(found.group(2))
        return f"unknown key {_join(path, key)!r}{suggestion(key, _fields_at(kind, path))}"
    if found := _MISSING.match(message):
        return f"the key {_join(_dotted(found.group(2)), found.group(1))!r} is missing"
    told, path = message, ""
    if found := _AT.match(message):
        told, path = found.group(1), _dotted(found.group(2))
    told = told.replace("`int | decimal | null`", "`number`").replace(" | null`", "`")
    if told.startswith("Invalid enum value") and (allowed := _allowed_at(kind, path)):
        told = f"{told.replace('Invalid enum value', 'Unknown value')}; it may be {' or '.join(map(repr, allowed))}"
    return f"{told} at key {path!r}" if path else told


def suggestion(key: str, known: list[str]) -> str:
    """`; did you mean 'x'?` for the nearest known name, or the list of known names."""
    from difflib import get_close_matches  # noqa: PLC0415 - only an error needs it

    near = get_close_matches(key, known, n=1, cutoff=0.6)
    if near:
        return f"; did you mean {near[0]!r}?"
    return f"; known keys are {', '.join(known)}" if known else ""


class _RepeatedKeyError(Exception):
    pass


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    seen: dict[str, Any] = {}
    for key, value in pairs:
        if key in seen:
            raise _RepeatedKeyError(key)
        seen[key] = value
    return seen


def _dotted(path: str | None) -> str:
    return (path or "").removeprefix("$").removeprefix(".")


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _fields_at(kind: type[msgspec.Struct], path: str) -> list[str]:
    annotation = _annotation_at(kind, path)
    structure = _structure_in(annotation)
    return [] if structure is None else [field.encode_name for field in msgspec.structs.fields(structure)]


def _allowed_at(kind: type[msgspec.Struct], path: str) -> list[Any]:
    annotation = _annotation_at(kind, path)
    return [value for value in get_args(annotation) if isinstance(value, str)]


def _annotation_at(kind: type[msgspec.Struct], path: str) -> Any:  # noqa: ANN401 - annotations have no common type
    """The annotation of the field that a decoder's path leads to, or None where it leads elsewhere."""
    annotation: Any = kind
    for part in filter(None, re.sub(r"\[[^\]]*\]", "", path).split(".")):
        structure = _structure_in(annotation)
        if structure is None:
            return None
        annotation = next((field.type for field in msgspec.structs.fields(structure) if field.name == part), None)
    return annotation


def _structure_in(annotation: Any) -> type[msgspec.Struct] | None:  # noqa: ANN401 - as above
    candidates = (annotation, *get_args(annotation))
    return next((c for c in candidates if isinstance(c, type) and issubclass(c, msgspec.Struct)), None)
