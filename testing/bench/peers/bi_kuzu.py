"""The business intelligence queries in Kuzu: run.py MODULE FOLDER WORK ASKED.

The tables are those of `cypher_tables.py`; friendships are stored once, and again in both directions. Weights that depend on no parameter are
stored once; those of q15 are written on the friendships for each call, and taken away again. A text may have several statements, separated
by `;`: they are timed together.
"""
import importlib

engine = importlib.import_module(PACKAGE)
connection = engine.Connection(engine.Database(os.path.join(WORK, "bi.db")))
connection.set_max_threads_for_exec(os.cpu_count())
FORMAT = "(HEADER=false, DELIM='|', QUOTE='\x01', ESCAPE='\x01', PARALLEL=false"
REPLIES = "MATCH (a:Person)<-[:HAS_CREATOR]-(:Comment)-[:REPLY_OF]->(:Post:Comment)-[:HAS_CREATOR]->(b:Person)"
# What is stored beside the files: table, columns, and the query that fills it.
DERIVED = [
    ("KNOWS_BOTH", "", ["MATCH (a:Person)-[:KNOWS]->(b:Person) RETURN a.id, b.id", "MATCH (a:Person)<-[:KNOWS]-(b:Person) RETURN a.id, b.id"]),
    ("INTERACTED", ", weight DOUBLE", [
        f"{REPLIES} WITH CASE WHEN a.id < b.id THEN a.id ELSE b.id END AS one, CASE WHEN a.id < b.id THEN b.id ELSE a.id END AS two, count(*) AS n "
        "MATCH (p:Person)-[:KNOWS]->(q:Person) WHERE p.id = one AND q.id = two RETURN p.id, q.id, 1.0 / n"]),
    ("STUDIED", ", weight INT64", [
        "MATCH (a:Person)-[:KNOWS]->(b:Person), (a)-[x:STUDY_AT]->(:University)<-[y:STUDY_AT]-(b) "
        "RETURN a.id, b.id, min(abs(x.classYear - y.classYear)) + 1"]),
]


def load():
    """Seconds to make all tables from their files."""
    vertices, edges = tables(FOLDER, WORK)
    begin = time.perf_counter()
    columns = lambda of: ", ".join(f"{name} {kind}" for name, kind in of)
    for label, (_, of) in vertices.items():
        connection.execute(f"CREATE NODE TABLE {label}({columns(of)}, PRIMARY KEY(id))")
    kinds = {}
    for kind, a, b, _, of in edges:
        kinds.setdefault(kind, ([], of))[0].append(f"FROM {a} TO {b}")
    for kind, (pairs, of) in kinds.items():
        connection.execute(f"CREATE REL TABLE {kind}({', '.join(pairs)}{', ' + columns(of) if of else ''})")
    for label, (path, _) in vertices.items():
        connection.execute(f"COPY {label} FROM '{path}' {FORMAT})")
    for kind, a, b, path, _ in edges:
        connection.execute(f"COPY {kind} FROM '{path}' {FORMAT}, from='{a}', to='{b}')")
    for kind, of, texts in DERIVED:
        connection.execute(f"CREATE REL TABLE {kind}(FROM Person TO Person{of})")
        for text in texts:
            connection.execute(f"COPY {kind} FROM ({text})")
    connection.execute("ALTER TABLE KNOWS ADD cost DOUBLE")
    return time.perf_counter() - begin


prepared = {}


def ask(question):
    """All rows of the one statement that returns some. Prepared at the first call, which is not counted."""
    name = question["name"]
    if name not in prepared:
        prepared[name] = [(connection.prepare(text), used(text, question["parameters"])) for text in question["kuzu"].split(";")]
    rows = []
    for statement, parameters in prepared[name]:
        result = connection.execute(statement, parameters)
        while result.has_next():
            rows.append(result.get_next())
    return rows


answer["version"] = engine.__version__
answer["load_seconds"] = load()
connection.set_query_timeout(int(asked["call_seconds"] * 1e3))
for question in asked["questions"]:
    measure(question, ask, connection.interrupt)
finish()
