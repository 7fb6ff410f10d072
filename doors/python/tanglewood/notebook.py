"""Answers in a notebook: the first rows as a table."""

import html

from ._native import Result
from .attach import method_of

#: Rows that a notebook shows.
ROWS_SHOWN = 20
#: Characters of a value that a notebook shows.
CHARACTERS_SHOWN = 200


def _cell(value):
    text = "null" if value is None else value if isinstance(value, str) else repr(value)
    if len(text) > CHARACTERS_SHOWN:
        text = text[:CHARACTERS_SHOWN] + "…"
    align = " style=\"text-align: right\"" if isinstance(value, (int, float)) and not isinstance(value, bool) else ""
    return "<td%s>%s</td>" % (align, html.escape(text))


@method_of(Result)
def _repr_html_(self):
    rows = self.peek(ROWS_SHOWN + 1)
    head = "".join("<th>%s</th>" % html.escape(name) for name in self.columns)
    body = "".join("<tr>%s</tr>" % "".join(map(_cell, row)) for row in rows[:ROWS_SHOWN])
    more = "<p>… and more rows</p>" if len(rows) > ROWS_SHOWN else ""
    return "<table><thead><tr>%s</tr></thead><tbody>%s</tbody></table>%s" % (head, body, more)


@method_of(Result)
def __repr__(self):
    return "<Result %s>" % (", ".join(self.columns) or "without columns")
