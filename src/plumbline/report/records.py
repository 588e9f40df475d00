"""Where do the records of a large run go, and do they still say what the report says?

A report holds one record per item and suite. Beyond `INLINE` of them, a page that people open would be mostly passes,
and sealing it would take longer than grading: then the report lists what did not pass, and every record stands in a
file of JSON Lines beside it, which the report names with its SHA-256. Lines stream: no list of all of them is made.
"""

import hashlib
from collections.abc import Iterable, Iterator

import msgspec

from plumbline.errors import IntegrityError, PlumblineError
from plumbline.evidence.schema import decode_lines
from plumbline.report.document import RECORDS, ItemResult, RecordsLink, Report, contradiction_in

INLINE = 20_000
"""Up to this many records, over all suites, stand in the report itself."""

_CHUNK = 1 << 20
_ITEM = b'{"item":'


class RecordLine(ItemResult, frozen=True, omit_defaults=True, kw_only=True):
    """One line of the file: an entry of `suites[].items` with the suite it belongs to."""

    suite: str


class Tally:
    """Lines on their way into the file, with what the report has to say of them."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        self._lines = lines
        self._digest = hashlib.sha256()
        self._records = 0
        self._bytes = 0

    def __iter__(self) -> Iterator[bytes]:
        """The lines in chunks of about a megabyte."""
        pending = bytearray()
        for line in self._lines:
            self._records += 1
            pending += line
            if len(pending) >= _CHUNK:
                yield self._counted(bytes(pending))
                pending.clear()
        if pending:
            yield self._counted(bytes(pending))

    def _counted(self, chunk: bytes) -> bytes:
        self._digest.update(chunk)
        self._bytes += len(chunk)
        return chunk

    def link(self) -> RecordsLink:
        """What the report says of the file; true once every line has gone through."""
        return RecordsLink(file=RECORDS, sha256=self._digest.hexdigest(), records=self._records, bytes=self._bytes)


def line(suite: str, record: ItemResult) -> bytes:
    """One record as a line of the file."""
    return line_start(suite) + msgspec.json.encode(record).removeprefix(_ITEM) + b"\n"


def line_start(suite: str) -> bytes:
    """What each line of a suite begins with; the item's id follows."""
    return b'{"suite":' + msgspec.json.encode(suite) + b"," + _ITEM[1:]


def check_records(report: Report, data: bytes, *, file: str) -> None:
    """Check that a file of records is the one that the report names, and that the report follows from it.

    Raises:
        IntegrityError: it is another file, or contradicts the report.
    """
    link = report.records
    if link is None:
        raise IntegrityError(f"{file}: the report names no such file")
    if hashlib.sha256(data).hexdigest() != link.sha256:
        raise IntegrityError(f"{file}: the records are not the ones that the report names")
    try:
        lines = [record for _, record in decode_lines(data, RecordLine, file=file)]
    except PlumblineError as error:
        raise IntegrityError(error.message) from None
    by_suite: dict[str, list[ItemResult]] = {suite.suite: [] for suite in report.suites}
    for record in lines:
        if record.suite not in by_suite:
            raise IntegrityError(f"{file}: a record of {record.suite!r}, which the report did not score")
        by_suite[record.suite].append(_without_suite(record))
    for suite in report.suites:
        records = by_suite[suite.suite]
        if [record for record in records if record.status != "PASS"] != suite.items:
            raise IntegrityError(f"{file}: other items of suite {suite.suite} did not pass than the report lists")
        if fault := contradiction_in(msgspec.structs.replace(suite, items=records), every=True):
            raise IntegrityError(f"{file}: suite {suite.suite} {fault}")


def _without_suite(record: RecordLine) -> ItemResult:
    return ItemResult(**{name: getattr(record, name) for name in ItemResult.__struct_fields__})
