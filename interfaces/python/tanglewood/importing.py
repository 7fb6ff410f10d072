"""Imports of data frames, Arrow tables and Parquet files, and of files as the command ``tanglewood import`` reads them.

Tables go through the bulk path of the database: they are written by pyarrow as CSV with typed headers into a temporary folder, which is
imported as a whole. All of it becomes visible at once, or nothing does.
"""

import concurrent.futures
import os
import re
import tempfile

from ._native import Database
from .attach import method_of
from .errors import DataError, Error
from .frames import _package
from .progress import Bar

#: Larger tables are written as several files, beside each other.
_ROWS_OF_A_FILE = 200_000
_CODE = "Tanglewood.ClientError.Interface.Import"


class Nodes:
    """Rows that become nodes: ``Nodes("Person", people, id="id")``.

    :param label: the label of all
    :param table: a pandas or polars data frame, an Arrow table, a path of a Parquet file, or a dict of columns
    :param id: the column whose values are unique; it becomes an indexed property, by which relationships find their ends
    :param rename: properties that are called otherwise than their columns: ``{"column": "property"}``
    """

    def __init__(self, label, table, id, rename=None):
        self.label, self.table, self.id, self.rename = label, table, id, dict(rename or {})


class Relationships:
    """Rows that become relationships: ``Relationships("KNOWS", friends, start=("Person", "a"), end=("Person", "b"))``.

    :param type: the type of all
    :param table: as for ``Nodes``
    :param start: the label of the nodes where they start, and the column with those nodes' ids
    :param end: the same of where they end
    :param rename: properties that are called otherwise than their columns
    """

    def __init__(self, type, table, start, end, rename=None):
        self.type, self.table, self.start, self.end = type, table, tuple(start), tuple(end)
        self.rename = dict(rename or {})


class ImportReport:
    """What an import did: ``nodes``, ``relationships``, ``existing``, ``rejected``, ``seconds``, ``by_label``, ``by_type``."""

    def __init__(self, parts):
        self.__dict__.update(parts)

    def __repr__(self):
        more = ", %d rows left out" % self.rejected if self.rejected else ""
        counts = (self.nodes, self.relationships, self.seconds, more)
        return "<ImportReport %d nodes, %d relationships in %.2f s%s>" % counts


def _wrong(message, hint):
    return DataError(message, code=_CODE, hint=hint)


def _arrow(pa, table, what):
    """Anything with columns as an Arrow table."""
    try:
        return _as_arrow(pa, table, what)
    except (pa.ArrowException, OverflowError) as error:
        raise _wrong("%s: %s" % (what, str(error).splitlines()[0]), "give each column one type that Arrow has") from error


def _as_arrow(pa, table, what):
    if isinstance(table, pa.Table):
        return table
    if isinstance(table, pa.RecordBatch):
        return pa.Table.from_batches([table])
    if isinstance(table, (str, os.PathLike)):
        return _package("pyarrow.parquet", "an import of Parquet").read_table(table)
    if isinstance(table, dict):
        return pa.table(table)
    if type(table).__module__.split(".")[0] == "pandas":
        return pa.Table.from_pandas(table, preserve_index=False)
    if hasattr(table, "__arrow_c_stream__"):
        return pa.RecordBatchReader.from_stream(table).read_all()
    if hasattr(table, "to_arrow"):
        return table.to_arrow()
    hint = "give a pandas or polars data frame, an Arrow table, a path of a Parquet file, or a dict of columns"
    raise _wrong("%s: %s is no table" % (what, type(table).__name__), hint)


def _column(pa, pc, column, where):
    """A column as CSV has it, and the type that its header says."""
    try:
        return _as_text(pa, pc, column, where)
    except pa.ArrowException as error:
        raise _wrong("%s: %s" % (where, str(error).splitlines()[0]), "cast the column to a type of the graph") from error


def _as_text(pa, pc, column, where):
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _column(pa, pc, column.cast(kind.value_type), where)
    if pa.types.is_boolean(kind):
        return column, "boolean"
    if pa.types.is_integer(kind):
        return column.cast(pa.int64()), "long"
    if pa.types.is_floating(kind):
        return column.cast(pa.float64()), "double"
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_null(kind) or str(kind) == "string_view":
        return column.cast(pa.string()), "string"
    if pa.types.is_date(kind):
        return pc.strftime(column.cast(pa.timestamp("s")), "%Y-%m-%d"), "date"
    if pa.types.is_timestamp(kind):
        if kind.tz is None:
            return pc.strftime(column, "%Y-%m-%dT%H:%M:%S"), "localdatetime"
        suffix = "[%s]" % kind.tz if "/" in kind.tz else ""
        return pc.binary_join_element_wise(pc.strftime(column, "%Y-%m-%dT%H:%M:%S%z"), suffix, ""), "datetime"
    if pa.types.is_time(kind):
        return column.cast(pa.string()), "localtime"
    if pa.types.is_duration(kind):
        return _durations(pa, column), "duration"
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _lists(pa, pc, column, where)
    if pa.types.is_decimal(kind):
        raise _wrong("%s: decimals have no exact form in the graph" % where, "cast it to float64, or to text")
    raise _wrong("%s: a column of %s has no form in the graph" % (where, kind), "make it texts, numbers, times or lists of these")


def _durations(pa, column):
    nanos = column.cast(pa.duration("ns")).cast(pa.int64()).to_pylist()

    def text(nanos):
        sign, nanos = ("-", -nanos) if nanos < 0 else ("", nanos)
        return "PT%s%d.%09dS" % (sign, nanos // 1_000_000_000, nanos % 1_000_000_000)

    return pa.chunked_array([pa.array([None if one is None else text(one) for one in nanos], pa.string())])


def _lists(pa, pc, column, where):
    flat = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    flat = flat.cast(pa.list_(flat.type.value_type))
    items, kind = _column(pa, pc, pa.chunked_array([flat.flatten()]), where)
    if kind.endswith("[]"):
        raise _wrong("%s: lists of lists are no properties" % where, "flatten them")
    texts = items.cast(pa.string())
    if pc.any(pc.match_substring(texts, ";")).as_py() or pc.any(pc.equal(texts, "")).as_py():
        raise _wrong("%s: a text in a list is empty or has a ;" % where, "import without it, and set it by a statement")
    if texts.null_count:
        raise _wrong("%s: a list holds null" % where, "drop nulls from lists")
    texts = texts.combine_chunks()
    if isinstance(texts, pa.ChunkedArray):
        texts = pa.concat_arrays(texts.chunks) if texts.num_chunks else pa.array([], pa.string())
    lengths = pc.fill_null(pc.list_value_length(flat), 0)
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(lengths).cast(pa.int32())])
    joined = pc.binary_join(pa.ListArray.from_arrays(offsets, texts, mask=flat.is_null() if flat.null_count else None), ";")
    return pa.chunked_array([joined]), kind + "[]"


def _named(names, have, what):
    for name in names:
        if name not in have:
            raise _wrong("%s has no column %r" % (what, name), "columns: %s" % ", ".join(have))


class _Writer:
    """Tables as files of one folder."""

    def __init__(self, folder):
        self.pa = _package("pyarrow", "an import of tables")
        self.pc, self.csv = _package("pyarrow.compute", "an import"), _package("pyarrow.csv", "an import")
        self.folder, self.count = folder, 0
        # Of each file: what it was written of, its first row, and whether a line of it is a row.
        self.origins = {}

    def write(self, what, stem, columns, headers):
        table = self.pa.table(columns, names=[str(at) for at in range(len(columns))])
        parts = [table.slice(at, _ROWS_OF_A_FILE) for at in range(0, len(table), _ROWS_OF_A_FILE)] or [table]
        names = range(self.count, self.count + len(parts))
        texts = [column for column in columns if self.pa.types.is_string(column.type)]
        is_exact = not any(self.pc.any(self.pc.match_substring(text, "\n")).as_py() for text in texts)
        for at, number in enumerate(names):
            self.origins["%06d" % number] = (what, at * _ROWS_OF_A_FILE, is_exact)
        self.count += len(parts)
        head = (",".join(headers) + "\n").encode()
        with concurrent.futures.ThreadPoolExecutor(min(len(parts), os.cpu_count() or 1)) as threads:
            list(threads.map(lambda number, part: self.file("%06d" % number, stem, head, part), names, parts))

    def file(self, number, stem, head, table):
        os.mkdir(os.path.join(self.folder, number))
        with open(os.path.join(self.folder, number, stem + ".csv"), "wb") as file:
            file.write(head)
            self.csv.write_csv(table, file, self.csv.WriteOptions(include_header=False, quoting_style="needed"))

    def explained(self, error):
        """The error with rows of a table in place of lines of a file."""

        def row(place):
            what, first, is_exact = self.origins[place[1]]
            return "%s, row %d" % (what, first + int(place[2]) - 1) if is_exact else what

        message = re.sub(re.escape(self.folder) + r"/(\d{6})/[^\n]*?\.csv:(\d+)", row, error.message)
        hint = error.hint
        if "MalformedLine" in error.code:
            hint = "rows are counted from 1; correct the row, or leave it out"
        elif "Import.Exists" in error.code:
            hint = 'existing="skip" leaves what is there as it is and adds the rest; "merge" sets the properties of nodes, too'
        cls = DataError if "MalformedLine" in error.code else type(error)
        return cls(message, code=error.code, hint=hint, excerpt=error.excerpt, retryable=error.retryable)

    def header(self, name, kind, what):
        if re.search(r'[,"\r\n{}]', name) or not name:
            raise _wrong("%s: the column %r cannot be a property" % (what, name), 'rename={"%s": "…"}' % name)
        return "%s:%s" % (name, kind)

    def id_column(self, table, name, where):
        column, kind = _column(self.pa, self.pc, table.column(name), where)
        if kind not in ("long", "string"):
            raise _wrong("%s: ids are integers or texts, not %s" % (where, kind), "cast the column")
        if column.null_count:
            raise _wrong("%s: %d ids are null" % (where, column.null_count), "drop these rows")
        return column, "int" if kind == "long" else "string"

    def properties(self, table, taken, rename, what):
        columns, headers = [], []
        for name in table.column_names:
            if name not in taken:
                column, kind = _column(self.pa, self.pc, table.column(name), "%s, column %s" % (what, name))
                columns.append(column)
                headers.append(self.header(rename.get(name, name), kind, what))
        return columns, headers

    def nodes(self, nodes):
        what = "nodes :%s" % nodes.label
        table = _arrow(self.pa, nodes.table, what)
        _named([nodes.id, *nodes.rename], table.column_names, what)
        ids, kind = self.id_column(table, nodes.id, "%s, column %s" % (what, nodes.id))
        columns, headers = self.properties(table, [nodes.id], nodes.rename, what)
        name = self.header(nodes.rename.get(nodes.id, nodes.id), "ID(%s){id-type:%s}" % (_group(nodes.label), kind), what)
        # The plural of the group: the label is the group's name, whatever numbers it ends with.
        self.write(what, nodes.label + "s", [ids, *columns], [name, *headers])

    def known(self, label, key, kind):
        """The group of nodes that are in the database, and of which there are no rows."""
        empty = self.pa.array([], self.pa.string())
        name = self.header(key, "ID(%s){id-type:%s}" % (_group(label), kind), "nodes :%s" % label)
        self.write("nodes :%s" % label, label + "s", [empty], [name])

    def relationships(self, one):
        what = "relationships :%s" % one.type
        table = _arrow(self.pa, one.table, what)
        (start, from_), (end, to) = one.start[:2], one.end[:2]
        _named([from_, to, *one.rename], table.column_names, what)
        starts, kind_from = self.id_column(table, from_, "%s, column %s" % (what, from_))
        ends, kind_to = self.id_column(table, to, "%s, column %s" % (what, to))
        columns, headers = self.properties(table, [from_, to], one.rename, what)
        headers = [":START_ID(%s)" % _group(start), ":END_ID(%s)" % _group(end), *headers]
        columns, stem = [starts, ends, *columns], one.type
        if not re.fullmatch(r"[A-Z]+(_[A-Z]+)*", one.type) or one.type.endswith("HEADER"):
            stem = "relationships"
            headers.append(":TYPE")
            columns.append(self.pa.array([one.type] * len(starts), self.pa.string()))
        self.write(what, stem, columns, headers)
        return {start: kind_from, end: kind_to}


def _group(label):
    if not re.fullmatch(r"[^\s(){}/\\,\"'.;:|][^(){}/\\,\"';:|\r\n\t]*", label) or label.lower() == "single":
        raise _wrong("%r cannot be a label of an import" % label, "take letters, digits and _; SET n:`…` gives any other")
    return label


def _of_mapping(nodes, relationships):
    """``{"Person": (people, "id")}`` and ``{"KNOWS": (friends, "from:Person", "to:Person")}`` in the long form."""
    if isinstance(nodes, dict):
        nodes = [Nodes(label, *given) for label, given in nodes.items()]
    if isinstance(relationships, dict):

        def end(text):
            column, _, label = text.rpartition(":")
            if not column:
                raise _wrong("%r names no end" % text, 'write "column:Label"')
            return label, column

        given = relationships.items()
        relationships = [Relationships(type, table, end(start), end(to)) for type, (table, start, to) in given]
    return list(nodes), list(relationships)


@method_of(Database)
def import_tables(self, nodes=(), relationships=(), *, keys=None, existing="fail", progress=False, threads=None):
    """Imports tables: data frames, Arrow tables, Parquet files. All of it becomes visible at once, or nothing does.

    :param nodes: a list of ``Nodes``, or a dict such as ``{"Person": (people, "id")}``
    :param relationships: a list of ``Relationships``, or a dict such as ``{"KNOWS": (friends, "from:Person", "to:Person")}``
    :param keys: the property that is the id of nodes that are in the database already and are not imported: ``{"Person": "id"}``
    :param existing: what becomes of nodes and relationships that are there: ``"fail"``, ``"skip"``, ``"merge"``
    :param progress: a bar, or a function of (phase, (bytes done, bytes in all), nodes, relationships)
    """
    nodes, relationships = _of_mapping(nodes, relationships)
    with tempfile.TemporaryDirectory(prefix="tanglewood-import-") as folder:
        writer = _Writer(folder)
        for one in nodes:
            writer.nodes(one)
        ends = {}
        for one in relationships:
            for label, kind in writer.relationships(one).items():
                ends.setdefault(label, kind)
        for label in sorted(set(ends) - {one.label for one in nodes}):
            key = (keys or {}).get(label)
            if key is None:
                hint = 'import its nodes as well, or say what identifies those that are there: keys={"%s": "id"}' % label
                raise _wrong("relationships lead to nodes :%s, of which nothing is said" % label, hint)
            writer.known(label, key, ends[label])
        if not writer.count:
            raise _wrong("there is nothing to import", "give nodes or relationships")
        options = {"existing": existing, "progress": progress, "threads": threads}
        try:
            report = _imported(self, folder, strict=True, layout="headers", delimiter=ord(","), **options)
        except Error as error:
            raise writer.explained(error) from None
        if report.skipped:
            raise _wrong("tables were left out: %s" % ", ".join(report.skipped), "rename their labels and columns")
        return report


@method_of(Database)
def import_from(self, path, *, existing="fail", strict=False, progress=False, threads=None, layout="auto"):
    """Imports files as ``tanglewood import`` reads them: CSV with typed headers, LDBC folders, edge lists."""
    return _imported(self, path, existing=existing, strict=strict, progress=progress, threads=threads, layout=layout)


def _imported(database, path, *, progress, **options):
    bar = Bar() if progress is True else None
    try:
        return ImportReport(database.import_files(path, progress=bar or progress or None, **options))
    finally:
        if bar is not None:
            bar.close()
