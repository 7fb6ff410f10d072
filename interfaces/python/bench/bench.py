"""Figures of the package beside kuzu, ladybug and duckdb, where those are installed: one run, a process each, answers checked.

python bench/bench.py [--edges 1000000] [--rows 1000000] [--lookups 10000] [--repeat 3]

Each figure is the best of the repetitions, in turn with the others; every answer is compared before it counts. duckdb is a table store: its
graph is two tables with an index on the id. The others import into a new database in memory. ladybug goes on where kuzu ended, with the same calls.
"""

import argparse
import gc
import importlib
import multiprocessing
import os
import statistics
import sys
import time

import numpy as np
import pandas as pd

import tanglewood


class Tanglewood:
    name = "tanglewood"

    def __init__(self, people, edges):
        self.people, self.edges = people, edges

    def open(self):
        self.db = tanglewood.connect(":memory:")
        self.session = self.db.session()

    def load(self):
        nodes, ends = {"Person": (self.people, "id")}, ("from:Person", "to:Person")
        report = self.db.import_tables(nodes, {"KNOWS": (self.edges, *ends)})
        return report.nodes, report.relationships

    def call(self):
        return self.session.query("RETURN 1").rows()[0][0]

    def lookup(self, id):
        return self.session.query("MATCH (p:Person {id: $id}) RETURN p.name", {"id": id}).rows()[0][0]

    def table(self, rows):
        return self.session.query("UNWIND range(1, $rows) AS x RETURN x, x * 0.5 AS f, toString(x) AS t", {"rows": rows})

    def pandas(self, rows):
        return self.table(rows).to_pandas()

    def arrow(self, rows):
        return self.table(rows).to_arrow()

    def graph_pandas(self):
        return self.session.query("MATCH (a:Person)-[k:KNOWS]->(b) RETURN a.id, b.id, k.since").to_pandas()

    def hops(self, id):
        text = "MATCH (p:Person {id: $id})-[:KNOWS]->()-[:KNOWS]->(f) RETURN count(DISTINCT f.id)"
        return self.session.query(text, {"id": id}).rows()[0][0]

    def close(self):
        self.db.close()


class Kuzu:
    name = "kuzu"

    def __init__(self, people, edges):
        # It does not know the texts of pandas 3.
        self.package, self.people, self.edges = importlib.import_module(self.name), people.astype({"name": object}), edges

    def open(self):
        self.db = self.package.Database(":memory:")
        self.session = self.package.Connection(self.db)
        self.session.execute("CREATE NODE TABLE Person(id INT64, name STRING, PRIMARY KEY (id))")
        self.session.execute("CREATE REL TABLE KNOWS(FROM Person TO Person, since INT64)")

    def load(self):
        people, edges = self.people, self.edges
        self.session.execute("COPY Person FROM people")
        self.session.execute("COPY KNOWS FROM edges")
        count = lambda text: self.session.execute(text).get_next()[0]
        return count("MATCH (p:Person) RETURN count(*)"), count("MATCH ()-[k:KNOWS]->() RETURN count(*)")

    def call(self):
        return self.session.execute("RETURN 1").get_next()[0]

    def lookup(self, id):
        return self.session.execute("MATCH (p:Person {id: $id}) RETURN p.name", {"id": id}).get_next()[0]

    def table(self, rows):
        return self.session.execute(
            "UNWIND range(1, %d) AS x RETURN x, CAST(x AS DOUBLE) * 0.5 AS f, CAST(x AS STRING) AS t" % rows
        )

    def pandas(self, rows):
        return self.table(rows).get_as_df()

    def arrow(self, rows):
        return self.table(rows).get_as_arrow()

    def graph_pandas(self):
        return self.session.execute("MATCH (a:Person)-[k:KNOWS]->(b:Person) RETURN a.id, b.id, k.since").get_as_df()

    def hops(self, id):
        text = "MATCH (p:Person {id: $id})-[:KNOWS]->()-[:KNOWS]->(f) RETURN count(DISTINCT f.id)"
        return self.session.execute(text, {"id": id}).get_next()[0]

    def close(self):
        self.session.close()
        self.db.close()


class Ladybug(Kuzu):
    name = "ladybug"


class Duckdb:
    name = "duckdb"

    def __init__(self, people, edges):
        import duckdb

        self.duckdb, self.people, self.edges = duckdb, people, edges

    def open(self):
        self.db = self.duckdb.connect(":memory:")

    def load(self):
        people, edges = self.people, self.edges
        self.db.execute("CREATE TABLE person AS SELECT * FROM people")
        self.db.execute("CREATE UNIQUE INDEX by_id ON person(id)")
        self.db.execute('CREATE TABLE knows AS SELECT * FROM edges')
        self.db.execute('CREATE INDEX by_from ON knows("from")')
        count = lambda table: self.db.execute("SELECT count(*) FROM " + table).fetchone()[0]
        return count("person"), count("knows")

    def call(self):
        return self.db.execute("SELECT 1").fetchall()[0][0]

    def lookup(self, id):
        return self.db.execute("SELECT name FROM person WHERE id = ?", [id]).fetchall()[0][0]

    def table(self, rows):
        return self.db.execute("SELECT x, CAST(x * 0.5 AS DOUBLE) AS f, CAST(x AS VARCHAR) AS t FROM range(1, ? + 1) r(x)", [rows])

    def pandas(self, rows):
        return self.table(rows).df()

    def arrow(self, rows):
        return self.table(rows).to_arrow_table()

    def graph_pandas(self):
        return self.db.execute('SELECT "from", "to", since FROM knows').df()

    def hops(self, id):
        text = 'SELECT count(DISTINCT k2."to") FROM knows k1 JOIN knows k2 ON k1."to" = k2."from" WHERE k1."from" = ?'
        return self.db.execute(text, [id]).fetchall()[0][0]

    def close(self):
        self.db.close()


def timed(work):
    gc.collect()
    started = time.perf_counter()
    found = work()
    return time.perf_counter() - started, found


def check(what, one, other):
    if one != other:
        sys.exit("%s: %r is not %r" % (what, one, other))


def total(frame):
    """What is compared of a frame: its size and the sums of its columns."""
    sums = [float(frame[name].sum()) if frame[name].dtype.kind in "if" else int(frame[name].str.len().sum()) for name in frame]
    return len(frame), *sums


def tables(arguments):
    """The people and the edges between them: the same in each process."""
    chance = np.random.default_rng(7)
    n, m = arguments.people, arguments.edges
    people = pd.DataFrame({"id": np.arange(n), "name": ["person %d" % id for id in range(n)]})
    ends = {"from": chance.integers(0, n, m), "to": chance.integers(0, n, m), "since": chance.integers(1900, 2026, m)}
    # A loop is walked twice by joins, and once by Cypher.
    ends["to"] = np.where(ends["to"] == ends["from"], (ends["to"] + 1) % n, ends["to"])
    return people, pd.DataFrame(ends)


def measures(arguments):
    """Name, unit, how many calls, what is timed, and what is compared of its answer."""
    chance = np.random.default_rng(3)
    ids = [int(id) for id in chance.integers(0, arguments.people, arguments.lookups)]
    hops, rows = ids[:100], arguments.rows
    return [
        ("import", "s", 1, lambda store: store.load(), lambda found: found),
        ("a call", "us", 2000, lambda store: [store.call() for _ in range(2000)], sum),
        ("look-up", "us", len(ids), lambda store: [store.lookup(id) for id in ids], lambda names: names),
        ("2 hops", "us", len(hops), lambda store: [store.hops(id) for id in hops], lambda counts: counts),
        ("rows to pandas", "s", 1, lambda store: store.pandas(rows), total),
        ("rows to Arrow", "s", 1, lambda store: store.arrow(rows), lambda table: total(table.to_pandas())),
        ("edges to pandas", "s", 1, lambda store: store.graph_pandas(), total),
    ]


STORES = (Tanglewood, Kuzu, Ladybug, Duckdb)


def served(number, arguments, pipe):
    """One store in a process of its own: kuzu and ladybug do not load beside each other."""
    try:
        store = STORES[number](*tables(arguments))
    except ImportError as error:
        pipe.send(str(error))
        return
    pipe.send(None)
    asked = measures(arguments)
    for command in iter(pipe.recv, None):
        if command == "open":
            store.open()
            pipe.send(None)
        elif command == "close":
            store.close()
            pipe.send(None)
        else:
            *_, work, shown = asked[command]
            seconds, found = timed(lambda: work(store))
            pipe.send((seconds, shown(found)))


def started(arguments):
    """The stores that are installed, each with the pipe to its process."""
    context, pipes = multiprocessing.get_context("spawn"), []
    for number, store in enumerate(STORES):
        ours, theirs = context.Pipe()
        context.Process(target=served, args=(number, arguments, theirs), daemon=True).start()
        missing = ours.recv()
        if missing is None:
            pipes.append((store.name, ours))
        else:
            print("%s is not installed: %s" % (store.name, missing))
    return pipes


def asked(pipe, command):
    pipe.send(command)
    return pipe.recv()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name, value in (("edges", 1_000_000), ("people", 100_000), ("rows", 1_000_000), ("lookups", 10_000), ("repeat", 3)):
        parser.add_argument("--" + name, type=int, default=value)
    arguments = parser.parse_args()
    pipes, best = started(arguments), {}
    print("load %.1f on %d cores" % (os.getloadavg()[0], os.cpu_count()))
    print("%-16s %s" % ("", " ".join("%14s" % name for name, _ in pipes)))
    for _ in range(arguments.repeat):
        for _, pipe in pipes:
            asked(pipe, "open")
        for number, (what, *_) in enumerate(measures(arguments)):
            answers = []
            for name, pipe in pipes:
                seconds, answer = asked(pipe, number)
                best[number, name] = min(best.get((number, name), float("inf")), seconds)
                answers.append(answer)
            for answer in answers[1:]:
                check(what, answer, answers[0])
        for _, pipe in pipes:
            asked(pipe, "close")
    for number, (what, unit, count, *_) in enumerate(measures(arguments)):
        scale = 1e6 if unit == "us" else 1
        figures = [best[number, name] / count * scale for name, _ in pipes]
        ratios = ["%8.3f %-5s" % (figure, "x%.2f" % (figure / figures[0])) for figure in figures]
        print("%-16s %s %s" % (what, " ".join(ratios), unit))
    for _, pipe in pipes:
        pipe.send(None)
    overhead()


def overhead():
    """What the package adds to the database's own time for the same statement.

    The summary says that time, from the text to the last row that was read; so what lies between `query` and `rows` counts as the
    database's, and a call that does nothing (`in_transaction`) is timed beside it.
    """
    with tanglewood.connect(":memory:") as db, db.session() as session:
        own, whole = [], []
        for _ in range(20_000):
            started = time.perf_counter_ns()
            result = session.query("RETURN 1")
            result.rows()
            whole.append(time.perf_counter_ns() - started)
            own.append(result.summary().elapsed * 1e9)
        empty = []
        for _ in range(20_000):
            started = time.perf_counter_ns()
            session.in_transaction
            empty.append(time.perf_counter_ns() - started)
    of = lambda found: statistics.median(found) / 1e3
    print("a call of RETURN 1: %.2f us (median), of which the database says %.2f us" % (of(whole), of(own)))
    print("the package adds %.2f us; a call that does nothing takes %.2f us" % (of(whole) - of(own), of(empty)))


if __name__ == "__main__":
    main()
