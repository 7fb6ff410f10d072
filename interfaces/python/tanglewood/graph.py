"""Rows, nodes, relationships and paths, as neo4j's driver names what they have."""

import functools

__all__ = ["Record", "Node", "Relationship", "Path"]


class Record(tuple):
    """A row: a tuple whose values have names, too.

    ``row[0]``, ``row["name"]``, ``name, age = row``, ``dict(row.items())``.
    """

    __slots__ = ()
    _places = {}

    def __getitem__(self, key):
        if isinstance(key, str):
            try:
                key = self._places[key]
            except KeyError:
                raise KeyError("no column is called %r; there are %s" % (key, ", ".join(self._places))) from None
        return tuple.__getitem__(self, key)

    def get(self, name, default=None):
        """The value of a column, or ``default`` where there is none of this name."""
        return self[name] if name in self._places else default

    def keys(self):
        """The names of the columns."""
        return list(self._places)

    def values(self):
        """The values as a list."""
        return list(self)

    def items(self):
        """Names and values."""
        return list(zip(self._places, self))

    def data(self):
        """As a dict."""
        return dict(zip(self._places, self))

    def __repr__(self):
        return "<Record %s>" % " ".join("%s=%r" % item for item in self.items())

    def __reduce__(self):
        return _record, (tuple(self._places), tuple(self))


@functools.lru_cache(maxsize=256)
def record_class(columns):
    """The class of rows with these columns."""
    return type("Record", (Record,), {"__slots__": (), "_places": {name: at for at, name in enumerate(columns)}})


def _record(columns, values):
    return record_class(columns)(values)


class _Entity:
    """What nodes and relationships share: an id, and properties by name."""

    __slots__ = ("_home", "id", "element_id", "_properties")

    def __getitem__(self, name):
        return self._properties[name]

    def get(self, name, default=None):
        """A property, or ``default`` where it has none of this name."""
        return self._properties.get(name, default)

    def __contains__(self, name):
        return name in self._properties

    def __iter__(self):
        return iter(self._properties)

    def __len__(self):
        return len(self._properties)

    def __bool__(self):
        return True

    def keys(self):
        """The names of its properties."""
        return self._properties.keys()

    def values(self):
        """The values of its properties."""
        return self._properties.values()

    def items(self):
        """Names and values of its properties."""
        return self._properties.items()

    @property
    def properties(self):
        """Its properties as a dict of its own."""
        return dict(self._properties)

    def __eq__(self, other):
        if type(other) is not type(self):
            return NotImplemented
        return (self._home, self.id) == (other._home, other.id)

    def __hash__(self):
        return hash((type(self), self._home, self.id))


def _shown(properties):
    return " ".join("%s=%r" % item for item in properties.items())


class Node(_Entity):
    """A node as it was when the row was read: ``labels`` and properties (``node["name"]``)."""

    __slots__ = ("_labels",)

    def __init__(self, home, id, element_id, labels, properties):
        self._home, self.id, self.element_id = home, id, element_id
        self._labels, self._properties = labels, properties

    @property
    def labels(self):
        """Its labels."""
        return frozenset(self._labels)

    def __repr__(self):
        name = "".join(":" + label for label in self._labels)
        return "<Node %s%s>" % (name or self.id, " " + _shown(self._properties) if self._properties else "")

    def __reduce__(self):
        return Node, (0, self.id, self.element_id, self._labels, self._properties)


class Relationship(_Entity):
    """A relationship as it was when the row was read: ``type``, ``start_id``, ``end_id`` and properties."""

    __slots__ = ("type", "_ends")

    def __init__(self, home, id, element_id, type, ends, properties):
        self._home, self.id, self.element_id = home, id, element_id
        self.type, self._ends, self._properties = type, ends, properties

    @property
    def start_id(self):
        """The id of the node where it starts."""
        return self._ends[0]

    @property
    def end_id(self):
        """The id of the node where it ends."""
        return self._ends[1]

    def __repr__(self):
        shown = " " + _shown(self._properties) if self._properties else ""
        return "<Relationship %d-:%s->%d%s>" % (self.start_id, self.type, self.end_id, shown)

    def __reduce__(self):
        return Relationship, (0, self.id, self.element_id, self.type, self._ends, self._properties)


class Path:
    """Nodes and the relationships between them, in walking order; as long as it has relationships."""

    __slots__ = ("nodes", "relationships")

    def __init__(self, nodes, relationships):
        self.nodes, self.relationships = nodes, relationships

    @property
    def start_node(self):
        """Its first node."""
        return self.nodes[0]

    @property
    def end_node(self):
        """Its last node."""
        return self.nodes[-1]

    def __len__(self):
        return len(self.relationships)

    def __bool__(self):
        return True

    def __iter__(self):
        return iter(self.relationships)

    def __eq__(self, other):
        if not isinstance(other, Path):
            return NotImplemented
        return (self.nodes, self.relationships) == (other.nodes, other.relationships)

    def __hash__(self):
        return hash((self.nodes, self.relationships))

    def __repr__(self):
        parts = [repr(self.nodes[0])]
        for relationship, node in zip(self.relationships, self.nodes[1:]):
            parts += ["-:%s-" % relationship.type, repr(node)]
        return "<Path %s>" % "".join(parts)

    def __reduce__(self):
        return Path, (self.nodes, self.relationships)
