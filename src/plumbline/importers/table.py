"""What does a CSV file hold, whose columns the user names?

A column that bears the very name of a field is that field; every other column needs `--map`.
"""

from plumbline.importers.base import FIELDS, Extract, Origin, Row
from plumbline.importers.documents import csv_rows

SUMMARY = "a CSV file with a header; name the columns with --map FIELD=COLUMN"


def read(origin: Origin) -> Extract:
    """One row for each line of the table.

    Raises:
        ForeignFileError: it is no CSV with a header.
    """
    return Extract(
        rows=[
            Row(where=where, record=record, keys={field: field for field in FIELDS if field in record})
            for where, record in csv_rows(origin)
        ]
    )
