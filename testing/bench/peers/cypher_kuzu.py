"""The complex reads and the subgraph counts in Kuzu or LadybugDB: run.py MODULE FOLDER WORK ASKED.

A second run on the same WORK finds the tables loaded.
"""
import importlib
import os
import re
import time

engine = importlib.import_module(PACKAGE)
connection = engine.Connection(engine.Database(os.path.join(WORK, "graph.db")))
connection.set_max_threads_for_exec(os.cpu_count())
FORMAT = "(HEADER=false, DELIM='|', QUOTE='\x01', ESCAPE='\x01', PARALLEL=false"
FRIENDS = "MATCH (:Person {id: $personId})-[:KNOWS]-(friend:Person)"
CIRCLE = "MATCH (person:Person {id: $personId})-[:KNOWS* SHORTEST 1..2]-(friend:Person) WHERE friend.id <> $personId WITH DISTINCT friend "
LATEST = (" RETURN friend.id, friend.firstName, friend.lastName, message.id, coalesce(message.content, message.imageFile), "
          "message.creationDate AS t ORDER BY t DESC, message.id LIMIT 20")
LATE = (" WITH friend, message ORDER BY message.creationDate DESC, message.id LIMIT 20 "
        "RETURN friend.id, friend.firstName, friend.lastName, message.id, coalesce(message.content, message.imageFile), "
        "message.creationDate AS t ORDER BY t DESC, message.id")

TEXTS = {
    "IC1": [
        "MATCH (p:Person {id: $personId})-[k:KNOWS* SHORTEST 1..3]-(friend:Person {firstName: $firstName}) WHERE friend.id <> $personId "
        "WITH friend, length(k) AS distance ORDER BY distance, friend.lastName, friend.id LIMIT 20 "
        "MATCH (friend)-[:IS_LOCATED_IN]->(city:City) "
        "OPTIONAL MATCH (friend)-[s:STUDY_AT]->(u:University)-[:IS_LOCATED_IN]->(uc:City) "
        "WITH friend, distance, city, collect(CASE WHEN u.name IS NULL THEN NULL ELSE "
        "concat(u.name, '|', cast(s.classYear AS STRING), '|', uc.name) END) AS us "
        "OPTIONAL MATCH (friend)-[w:WORK_AT]->(c:Company)-[:IS_LOCATED_IN]->(cc:Country) "
        "WITH friend, distance, city, us, collect(CASE WHEN c.name IS NULL THEN NULL ELSE "
        "concat(c.name, '|', cast(w.workFrom AS STRING), '|', cc.name) END) AS cs "
        "RETURN friend.id, friend.lastName AS l, distance, friend.birthday, friend.creationDate, friend.gender, friend.browserUsed, "
        "friend.locationIP, friend.email, friend.speaks, city.name, us, cs ORDER BY distance, l, friend.id"],
    "IC2": [f"{FRIENDS}<-[:HAS_CREATOR]-(message:Post:Comment) WHERE message.creationDate <= $maxDate{end}" for end in (LATEST, LATE)],
    "IC3": [
        CIRCLE + "MATCH (friend)-[:IS_LOCATED_IN]->(:City)-[:IS_PART_OF]->(home:Country) "
        "WHERE home.name <> $countryXName AND home.name <> $countryYName WITH friend "
        "MATCH (friend)<-[:HAS_CREATOR]-(m:Post:Comment)-[:IS_LOCATED_IN]->(c:Country) "
        "WHERE m.creationDate >= $startDate AND m.creationDate < $endDate AND (c.name = $countryXName OR c.name = $countryYName) "
        "WITH friend, sum(CASE WHEN c.name = $countryXName THEN 1 ELSE 0 END) AS x, "
        "sum(CASE WHEN c.name = $countryYName THEN 1 ELSE 0 END) AS y WHERE x > 0 AND y > 0 "
        "RETURN friend.id, friend.firstName, friend.lastName, x, y, x + y AS c ORDER BY c DESC, friend.id LIMIT 20"],
    "IC4": [
        f"{FRIENDS}<-[:HAS_CREATOR]-(post:Post)-[:HAS_TAG]->(tag:Tag) WHERE post.creationDate < $endDate "
        "WITH tag, sum(CASE WHEN post.creationDate >= $startDate THEN 1 ELSE 0 END) AS n, "
        "sum(CASE WHEN post.creationDate < $startDate THEN 1 ELSE 0 END) AS earlier WHERE n > 0 AND earlier = 0 "
        "RETURN tag.name AS name, n ORDER BY n DESC, name LIMIT 10"],
    "IC5": [
        CIRCLE + "MATCH (friend)<-[membership:HAS_MEMBER]-(forum:Forum) WHERE membership.joinDate > $minDate WITH DISTINCT friend, forum "
        "OPTIONAL MATCH (friend)<-[:HAS_CREATOR]-(post:Post)<-[:CONTAINER_OF]-(forum) WITH forum, count(post) AS n "
        "RETURN forum.title, n, forum.id ORDER BY n DESC, forum.id LIMIT 20",
        CIRCLE + "MATCH (friend)<-[membership:HAS_MEMBER]-(forum:Forum) WHERE membership.joinDate > $minDate "
        "WITH forum, collect(DISTINCT friend.id) AS friends OPTIONAL MATCH (forum)-[:CONTAINER_OF]->(post:Post)-[:HAS_CREATOR]->(f:Person) "
        "WHERE list_contains(friends, f.id) WITH forum, count(post) AS n RETURN forum.title, n, forum.id ORDER BY n DESC, forum.id LIMIT 20"],
    "IC6": [
        CIRCLE + "MATCH (friend)<-[:HAS_CREATOR]-(post:Post)-[:HAS_TAG]->(:Tag {name: $tagName}) WITH DISTINCT post "
        "MATCH (post)-[:HAS_TAG]->(tag:Tag) WHERE tag.name <> $tagName RETURN tag.name AS name, count(*) AS n ORDER BY n DESC, name LIMIT 10",
        CIRCLE + "WITH collect(friend.id) AS friends MATCH (:Tag {name: $tagName})<-[:HAS_TAG]-(post:Post)-[:HAS_CREATOR]->(f:Person) "
        "WHERE list_contains(friends, f.id) WITH post MATCH (post)-[:HAS_TAG]->(tag:Tag) WHERE tag.name <> $tagName "
        "RETURN tag.name AS name, count(*) AS n ORDER BY n DESC, name LIMIT 10"],
    "IC7": [
        "MATCH (:Person {id: $personId})<-[:HAS_CREATOR]-(m:Post:Comment)<-[l:LIKES]-(liker:Person) "
        "WITH liker, max(l.creationDate) AS t ORDER BY t DESC, liker.id LIMIT 20 "
        "MATCH (:Person {id: $personId})<-[:HAS_CREATOR]-(m:Post:Comment)<-[l:LIKES]-(liker) WHERE l.creationDate = t "
        "RETURN liker.id, liker.firstName, liker.lastName, t, m.id, coalesce(m.content, m.imageFile), "
        "cast(floor((t - m.creationDate) / 60000) AS INT64), NOT EXISTS { MATCH (liker)-[:KNOWS]-(:Person {id: $personId}) } "
        "ORDER BY t DESC, liker.id"],
    "IC8": [
        "MATCH (:Person {id: $personId})<-[:HAS_CREATOR]-(:Post:Comment)<-[:REPLY_OF]-(c:Comment)-[:HAS_CREATOR]->(a:Person) "
        "RETURN a.id, a.firstName, a.lastName, c.creationDate AS t, c.id, c.content ORDER BY t DESC, c.id LIMIT 20",
        "MATCH (:Person {id: $personId})<-[:HAS_CREATOR]-(:Post:Comment)<-[:REPLY_OF]-(c:Comment) "
        "WITH c ORDER BY c.creationDate DESC, c.id LIMIT 20 MATCH (c)-[:HAS_CREATOR]->(a:Person) "
        "RETURN a.id, a.firstName, a.lastName, c.creationDate AS t, c.id, c.content ORDER BY t DESC, c.id"],
    "IC9": [f"{CIRCLE}MATCH (friend)<-[:HAS_CREATOR]-(message:Post:Comment) WHERE message.creationDate < $maxDate{end}" for end in (LATEST, LATE)],
    "IC10": [
        "MATCH (person:Person {id: $personId})-[k:KNOWS* SHORTEST 1..2]-(friend:Person) WHERE length(k) = 2 AND friend.id <> $personId "
        "WITH friend, date_part('month', epoch_ms(friend.birthday)) AS m, date_part('day', epoch_ms(friend.birthday)) AS d "
        "WHERE (m = $month AND d >= 21) OR (m = ($month % 12) + 1 AND d < 22) WITH friend "
        "MATCH (friend)-[:IS_LOCATED_IN]->(city:City) OPTIONAL MATCH (friend)<-[:HAS_CREATOR]-(post:Post) "
        "WITH friend, city, count(post) AS posts "
        "OPTIONAL MATCH (friend)<-[:HAS_CREATOR]-(post:Post)-[:HAS_TAG]->(:Tag)<-[:HAS_INTEREST]-(p:Person) WHERE p.id = $personId "
        "WITH friend, city, posts, count(DISTINCT post.id) AS common "
        "RETURN friend.id, friend.firstName, friend.lastName, common - (posts - common) AS score, friend.gender, city.name "
        "ORDER BY score DESC, friend.id LIMIT 10"],
    "IC11": [
        CIRCLE + "MATCH (friend)-[w:WORK_AT]->(c:Company)-[:IS_LOCATED_IN]->(:Country {name: $countryName}) WHERE w.workFrom < $workFromYear "
        "RETURN friend.id, friend.firstName, friend.lastName, c.name AS n, w.workFrom AS y ORDER BY y, friend.id, n DESC LIMIT 10"],
    "IC12": [
        "MATCH (tag:Tag)-[:HAS_TYPE]->(:TagClass)-[:IS_SUBCLASS_OF*0..30]->(:TagClass {name: $tagClassName}) WITH DISTINCT tag "
        "MATCH (tag)<-[:HAS_TAG]-(post:Post)<-[:REPLY_OF]-(c:Comment)-[:HAS_CREATOR]->(friend:Person)-[:KNOWS]-(:Person {id: $personId}) "
        "RETURN friend.id, friend.firstName, friend.lastName, collect(DISTINCT tag.name), count(DISTINCT c.id) AS n "
        "ORDER BY n DESC, friend.id LIMIT 20",
        "MATCH (tag:Tag)-[:HAS_TYPE]->(:TagClass)-[:IS_SUBCLASS_OF*0..30]->(:TagClass {name: $tagClassName}) "
        f"WITH collect(DISTINCT tag.id) AS tags {FRIENDS}<-[:HAS_CREATOR]-(c:Comment)-[:REPLY_OF]->(post:Post)-[:HAS_TAG]->(tag:Tag) "
        "WHERE list_contains(tags, tag.id) RETURN friend.id, friend.firstName, friend.lastName, collect(DISTINCT tag.name), "
        "count(DISTINCT c.id) AS n ORDER BY n DESC, friend.id LIMIT 20"],
    "IC13": ["MATCH (:Person {id: $person1Id})-[k:KNOWS* SHORTEST 1..30]-(:Person {id: $person2Id}) RETURN length(k)"],
    "Q1": ["MATCH (:Country)<-[:IS_PART_OF]-(:City)<-[:IS_LOCATED_IN]-(:Person)<-[:HAS_MEMBER]-(:Forum)-[:CONTAINER_OF]->(:Post)"
           "<-[:REPLY_OF]-(:Comment)-[:HAS_TAG]->(:Tag)-[:HAS_TYPE]->(:TagClass) RETURN count(*)"],
    "Q2": [f"MATCH (a:Person){k}(b:Person), (a)<-[:HAS_CREATOR]-(c:Comment)-[:REPLY_OF]->(p:Post)-[:HAS_CREATOR]->(b) RETURN count(*)"
           for k in ("-[:KNOWS]-", "-[:KNOWS_BOTH]->")],
    "Q3": [f"MATCH (n:Country) MATCH (a:Person)-[:IS_LOCATED_IN]->(:City)-[:IS_PART_OF]->(n) MATCH (b:Person)-[:IS_LOCATED_IN]->(:City)"
           f"-[:IS_PART_OF]->(n) MATCH (c:Person)-[:IS_LOCATED_IN]->(:City)-[:IS_PART_OF]->(n) MATCH (a){k}(b){k}(c){k}(a) RETURN count(*)"
           for k in ("-[:KNOWS]-", "-[:KNOWS_BOTH]->")],
    "Q4": [f"MATCH (:Tag)<-[:HAS_TAG]-(m:Post:Comment)-[:HAS_CREATOR]->(:Person), (m)<-[:LIKES]-(:Person), (m)<-[:REPLY_OF]-(:Comment) "
           "RETURN count(*)"],
    "Q5": ["MATCH (a:Tag)<-[:HAS_TAG]-(:Post:Comment)<-[:REPLY_OF]-(:Comment)-[:HAS_TAG]->(b:Tag) WHERE id(a) <> id(b) RETURN count(*)",
           "MATCH (a:Tag)<-[:HAS_TAG]-(:Post:Comment)<-[:REPLY_OF]-(:Comment)-[:HAS_TAG]->(b:Tag) WHERE a.id <> b.id RETURN count(*)"],
    "Q6": [f"MATCH (a:Person){k}(:Person){k}(c:Person)-[:HAS_INTEREST]->(:Tag) WHERE {i} RETURN count(*)"
           for k in ("-[:KNOWS]-", "-[:KNOWS_BOTH]->") for i in ("id(a) <> id(c)", "a.id <> c.id")],
    "Q7": ["MATCH (:Tag)<-[:HAS_TAG]-(m:Post:Comment)-[:HAS_CREATOR]->(:Person) OPTIONAL MATCH (m)<-[:LIKES]-(:Person) "
           "OPTIONAL MATCH (m)<-[:REPLY_OF]-(:Comment) RETURN count(*)"],
    "Q8": ["MATCH (a:Tag)<-[:HAS_TAG]-(:Post:Comment)<-[:REPLY_OF]-(c:Comment)-[:HAS_TAG]->(b:Tag) "
           "WHERE NOT EXISTS { MATCH (c)-[:HAS_TAG]->(a) } AND a.id <> b.id RETURN count(*)"],
    "Q9": ["MATCH (a:Person)-[:KNOWS]-(:Person)-[:KNOWS]-(c:Person)-[:HAS_INTEREST]->(:Tag) "
           "WHERE NOT EXISTS { MATCH (a)-[:KNOWS]-(c) } AND a.id <> c.id RETURN count(*)",
           "MATCH (a:Person)-[:KNOWS_BOTH]->(:Person)-[:KNOWS_BOTH]->(c:Person)-[:HAS_INTEREST]->(:Tag) "
           "WHERE NOT EXISTS { MATCH (a)-[:KNOWS_BOTH]->(c) } AND a.id <> c.id RETURN count(*)"],
}


def load():
    """Seconds to make all tables from their files; friendships are stored once, and again in both directions."""
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
    for label, (file, _) in vertices.items():
        connection.execute(f"COPY {label} FROM '{file}' {FORMAT})")
    for kind, a, b, file, _ in edges:
        connection.execute(f"COPY {kind} FROM '{file}' {FORMAT}, from='{a}', to='{b}')")
    connection.execute("CREATE REL TABLE KNOWS_BOTH(FROM Person TO Person)")
    for both in ("MATCH (a:Person)-[:KNOWS]->(b:Person) RETURN a.id, b.id", "MATCH (a:Person)<-[:KNOWS]-(b:Person) RETURN a.id, b.id"):
        connection.execute(f"COPY KNOWS_BOTH FROM ({both})")
    return time.perf_counter() - begin


def asker(text):
    """Asks a prepared statement with those parameters that it has."""
    prepared = connection.prepare(text)
    names = set(re.findall(r"\$(\w+)", text))

    def ask(parameters):
        result = connection.execute(prepared, {name: value for name, value in parameters.items() if name in names})
        rows = []
        while result.has_next():
            rows.append(result.get_next())
        return rows

    return ask


def distance():
    ask = asker(TEXTS["IC13"][0])
    return lambda parameters: [[0]] if parameters["person1Id"] == parameters["person2Id"] else ask(parameters) or [[-1]]


def weighed():
    """All shortest ways, then the replies between neighbours on them, weighed here."""
    ways = asker("MATCH p = (:Person {id: $person1Id})-[:KNOWS* ALL SHORTEST 1..30]-(:Person {id: $person2Id}) "
                 "RETURN list_transform(nodes(p), n -> n.id)")
    replies = {kind: asker("MATCH (a:Person)<-[:HAS_CREATOR]-(:Comment)-[:REPLY_OF]->"
                           f"(:{kind})-[:HAS_CREATOR]->(b:Person) WHERE list_contains($ids, a.id) AND list_contains($ids, b.id) "
                           "RETURN a.id, b.id, count(*)") for kind in ("Post", "Comment")}

    def ask(parameters):
        paths = [row[0] for row in ways(parameters)]
        ids = sorted({person for path in paths for person in path})
        weights = {}
        for kind, weight in (("Post", 1.0), ("Comment", 0.5)):
            for a, b, count in replies[kind]({"ids": ids}) if ids else []:
                step = frozenset((a, b))
                weights[step] = weights.get(step, 0.0) + weight * count
        weigh = lambda path: sum(weights.get(frozenset(step), 0.0) for step in zip(path, path[1:]))
        return sorted(([path, weigh(path)] for path in paths), key=lambda row: -row[1])

    return ask


def wordings(name):
    if name in ASKED.get("own", {}):
        return {str(at): (lambda text=text: asker(text)) for at, text in enumerate(ASKED["own"][name], 1)}
    if name == "IC13":
        return {"1": distance}
    if name == "IC14":
        return {"1": weighed}
    return {str(at): (lambda text=text: asker(text)) for at, text in enumerate(TEXTS[name], 1)}


loaded = os.path.join(WORK, "loaded")
if not os.path.exists(loaded):
    seconds = load()
    connection.execute("CHECKPOINT")
    with open(loaded, "w") as file:
        file.write(str(seconds))
with open(loaded) as file:
    tell(version=engine.__version__, load_seconds=float(file.read()))
connection.set_query_timeout(int(CALL_SECONDS_MAX * 1e3))
floor(f"{PACKAGE} in Python, prepared", asker("RETURN 1"))
for query, sets in ASKED["questions"].items():
    asks = {}
    for name, make in wordings(query).items():
        try:
            asks[name] = make()
        except Exception as error:
            print(f"{query} {name}: {error}", file=sys.stderr)
    tell(figure=[query, measure(query, asks, sets)])
tell(done=True)
