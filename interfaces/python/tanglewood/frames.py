"""Answers as Arrow, pandas, polars, networkx and tensors. The packages are found when they are asked for; none is needed.

Columns of integers, floats, truth values and texts go by Arrow's C data interface, without a copy where they lie in Arrow's form. Other
columns (dates, lists, maps, nodes) become Python objects first, and pyarrow finds their type.
"""

from ._native import Result
from .attach import method_of
from .errors import DataError, NotSupportedError
from .graph import Node, Path, Relationship
from .values import Duration, Point, Temporal


def _package(name, what):
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise NotSupportedError(
            "%s needs the package %s" % (what, name),
            code="Tanglewood.ClientError.Interface.Package",
            hint="pip install %s" % name.split(".")[0],
        ) from error


def tabular(value):
    """A value in the form that tables have for it: nodes and relationships are records."""
    if isinstance(value, Node):
        return {"_id": value.id, "_labels": sorted(value.labels), **_tabular(value.properties)}
    if isinstance(value, Relationship):
        ends = {"_type": value.type, "_start": value.start_id, "_end": value.end_id}
        return {"_id": value.id, **ends, **_tabular(value.properties)}
    if isinstance(value, Path):
        return {"nodes": _tabular(list(value.nodes)), "relationships": _tabular(list(value.relationships))}
    if isinstance(value, Point):
        return {"srid": value.srid, "x": value.x, "y": value.y, "z": value.z}
    if isinstance(value, Duration):
        months, days, seconds, nanoseconds = value._parts()
        return {"months": months, "days": days, "seconds": seconds, "nanoseconds": nanoseconds}
    if isinstance(value, Temporal):
        return str(value)
    return _tabular(value)


def _tabular(value):
    if isinstance(value, list):
        return [tabular(item) for item in value]
    if isinstance(value, dict):
        return {key: tabular(item) for key, item in value.items()}
    return value


def _instants(pa, values):
    """Local instants, of which some have nanoseconds, as a column of those; None if they are something else."""
    import datetime

    found = [value for value in values if value is not None]
    if not any(isinstance(value, Temporal) for value in found):
        return None
    if not all(type(value) is datetime.datetime or getattr(value, "kind", "") == "localdatetime" for value in found):
        return None
    if any(getattr(value, "tzinfo", None) for value in found):
        return None
    texts = [None if value is None else value.isoformat() if hasattr(value, "isoformat") else str(value) for value in values]
    try:
        return pa.array(texts, pa.string()).cast(pa.timestamp("ns"))
    except pa.ArrowInvalid:
        return None


def _array(pa, name, values):
    instants = _instants(pa, values)
    if instants is not None:
        return instants
    try:
        return pa.array([tabular(value) for value in values])
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError) as error:
        raise DataError(
            "column %s has no one type in Arrow: %s" % (name, str(error).splitlines()[0]),
            code="Tanglewood.ClientError.Interface.Result",
            hint="return one type, as by toString(x) or toFloat(x); or take rows()",
        ) from error


class _Stream:
    """Some columns as an object that Arrow reads."""

    def __init__(self, capsule):
        self._capsule = capsule

    def __arrow_c_stream__(self, requested_schema=None):
        return self._capsule


@method_of(Result)
def to_arrow(self):
    """All rows that are left, as a ``pyarrow.Table``."""
    pa = _package("pyarrow", "to_arrow()")
    flat = self._flat()
    names = self.columns
    plain = [at for at, is_flat in enumerate(flat) if is_flat]
    table = pa.RecordBatchReader.from_stream(_Stream(self._arrow(plain))).read_all() if plain else None
    if plain and all(flat):
        return table
    columns = dict(zip(plain, table.columns if plain else ()))
    for at, name in enumerate(names):
        if at not in columns:
            columns[at] = _array(pa, name, self._column(at))
    return pa.table([columns[at] for at in range(len(names))], names=list(names))


@method_of(Result)
def __arrow_c_stream__(self, requested_schema=None):
    if all(self._flat()):
        return self._arrow(list(range(len(self.columns))))
    return self.to_arrow().__arrow_c_stream__(requested_schema)


@method_of(Result)
def to_pandas(self):
    """All rows that are left, as a ``pandas.DataFrame``. Nodes and relationships stay objects."""
    pd = _package("pandas", "to_pandas()")
    columns = {}
    flat = self._flat()
    try:
        import pyarrow as pa
    except ImportError:
        pa = None
    if pa is not None and any(flat):
        plain = [at for at, is_flat in enumerate(flat) if is_flat]
        frame = pa.RecordBatchReader.from_stream(_Stream(self._arrow(plain))).read_all().to_pandas()
        if len(plain) == len(flat):
            return frame
        columns = {at: frame.iloc[:, place] for place, at in enumerate(plain)}
    for at in range(len(flat)):
        if at not in columns:
            columns[at] = pd.Series(self._column(at))
    frame = pd.DataFrame({at: columns[at] for at in sorted(columns)})
    frame.columns = list(self.columns)
    return frame


@method_of(Result)
def to_polars(self):
    """All rows that are left, as a ``polars.DataFrame``."""
    pl = _package("polars", "to_polars()")
    if all(self._flat()) and hasattr(pl.DataFrame, "__arrow_c_stream__"):
        return pl.DataFrame(self)
    return pl.from_arrow(self.to_arrow())


def _entities(value, nodes, relationships):
    if isinstance(value, Node):
        nodes[value.id] = value
    elif isinstance(value, Relationship):
        relationships[value.id] = value
    elif isinstance(value, Path):
        _entities(list(value.nodes), nodes, relationships)
        _entities(list(value.relationships), nodes, relationships)
    elif isinstance(value, (list, tuple)):
        for item in value:
            _entities(item, nodes, relationships)
    elif isinstance(value, dict):
        for item in value.values():
            _entities(item, nodes, relationships)


def entities_of(rows):
    """The nodes and the relationships in rows, each by its id."""
    nodes, relationships = {}, {}
    _entities(rows, nodes, relationships)
    return nodes, relationships


@method_of(Result)
def to_networkx(self):
    """The nodes, relationships and paths of the rows that are left, as a ``networkx.MultiDiGraph``.

    Nodes are called by their ids, and have their properties and ``labels``; edges have the id of the relationship as key, and ``type``.
    """
    nx = _package("networkx", "to_networkx()")
    nodes, relationships = entities_of(self.rows())
    graph = nx.MultiDiGraph()
    for id, node in nodes.items():
        graph.add_node(id)
        # Properties may be called as arguments are.
        graph.nodes[id].update({**node.properties, "labels": sorted(node.labels)})
    for id, one in relationships.items():
        graph.add_edge(one.start_id, one.end_id, key=id)
        graph.edges[one.start_id, one.end_id, id].update({**one.properties, "type": one.type})
    return graph


@method_of(Result)
def to_edge_index(self):
    """The relationships of the rows that are left as PyTorch Geometric has them: ``(edge_index, ids)``.

    ``edge_index`` is an array of two rows, where each edge starts and where it ends, as numbers from 0; ``ids[number]`` is the id of the
    node. Tensors where torch is there, else numpy arrays. Of rows without relationships, the first two columns are the ends: nodes or ids.
    """
    np = _package("numpy", "to_edge_index()")
    nodes, relationships = entities_of(self.rows())
    pairs = [(one.start_id, one.end_id) for one in relationships.values()]
    if not relationships and len(self.columns) >= 2:
        ends = ([getattr(end, "id", end) for end in self._column(at)] for at in (0, 1))
        pairs = [pair for pair in zip(*ends) if None not in pair]
    ends = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    alone = np.asarray(list(nodes), dtype=np.int64)
    ids = np.unique(np.concatenate([ends.reshape(-1), alone]))
    index = np.searchsorted(ids, ends).T
    try:
        import torch
    except ImportError:
        return np.ascontiguousarray(index), ids
    return torch.from_numpy(np.ascontiguousarray(index)), torch.from_numpy(ids)
