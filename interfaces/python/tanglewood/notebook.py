"""Answers in a notebook: the first rows as a table, and the graph that is in them as a picture."""

import html

from ._native import Result
from .attach import method_of
from .drawing import picture
from .frames import entities_of

#: Rows that a notebook shows, and rows whose graph it draws.
ROWS_SHOWN = 20
ROWS_DRAWN = 100
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
    rows = self.peek(ROWS_DRAWN)
    nodes, relationships = entities_of(rows)
    drawn = picture(nodes, relationships).html if nodes or relationships else ""
    head = "".join("<th>%s</th>" % html.escape(name) for name in self.columns)
    body = "".join("<tr>%s</tr>" % "".join(map(_cell, row)) for row in rows[:ROWS_SHOWN])
    more = "<p>… and more rows</p>" if len(rows) > ROWS_SHOWN else ""
    return "%s<table><thead><tr>%s</tr></thead><tbody>%s</tbody></table>%s" % (drawn, head, body, more)


@method_of(Result)
def __repr__(self):
    return "<Result %s>" % (", ".join(self.columns) or "without columns")
