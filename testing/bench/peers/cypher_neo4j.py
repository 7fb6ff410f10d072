"""Neo4j 5.26 on the social network, embedded in Java and over Bolt: run.py neo4j FOLDER WORK ASKED.

Imports the tables offline, makes indexes, measures in one Java process (the program `source`, run as it is), then asks the same process over
Bolt with the Python driver, and the Bolt server at `address` with the same driver: {"bolt": [server, query, figure]}. `texts` are the wordings
of the bench; others that Neo4j may like better are added here. A second run on the same WORK finds the graph imported.
"""
import glob
import os
import shutil
import socket
import subprocess
import time

import neo4j

JARS, SOURCE, ADDRESS = ASKED["jars"], ASKED["source"], ASKED["address"]
JAVA = ["--add-opens=java.base/java.nio=ALL-UNNAMED", "--add-opens=java.base/java.io=ALL-UNNAMED", "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
        "--add-opens=java.base/java.util.concurrent=ALL-UNNAMED", "-XX:+UseParallelGC"]
HEAP = "-Xmx3g"
SUPER = {"Post": "Message", "Comment": "Message", "City": "Place", "Country": "Place", "Continent": "Place",
         "University": "Organisation", "Company": "Organisation"}
LISTS = ("speaks", "email")
CIRCLE = "MATCH (person:Person {id: $personId})-[:KNOWS*1..2]-(friend:Person) WHERE person <> friend "
REPLY = "<-[:HAS_CREATOR]-(:Comment)-[:REPLY_OF]->(m:Message)-[:HAS_CREATOR]->"
OTHERS = {
    "IC1": [
        "MATCH path = (start:Person {id: $personId})-[:KNOWS*1..3]-(friend:Person {firstName: $firstName}) WHERE start <> friend "
        "WITH friend, min(length(path)) AS distance ORDER BY distance, friend.lastName, friend.id LIMIT 20 "
        "MATCH (friend)-[:IS_LOCATED_IN]->(city:City) "
        "RETURN friend.id AS id, friend.lastName AS l, distance, friend.birthday, friend.creationDate, friend.gender, friend.browserUsed, "
        "friend.locationIP, friend.email, friend.speaks, city.name, "
        "COLLECT { MATCH (friend)-[s:STUDY_AT]->(u:University)-[:IS_LOCATED_IN]->(c:City) RETURN [u.name, s.classYear, c.name] }, "
        "COLLECT { MATCH (friend)-[w:WORK_AT]->(u:Company)-[:IS_LOCATED_IN]->(c:Country) RETURN [u.name, w.workFrom, c.name] } "
        "ORDER BY distance, l, id"],
    "IC5": [
        CIRCLE + "WITH DISTINCT friend MATCH (friend)<-[membership:HAS_MEMBER]-(forum:Forum) WHERE membership.joinDate > $minDate "
        "WITH forum, collect(DISTINCT friend) AS friends "
        "WITH forum, COUNT { (forum)-[:CONTAINER_OF]->(:Post)-[:HAS_CREATOR]->(friend) WHERE friend IN friends } AS n "
        "RETURN forum.title, n, forum.id AS id ORDER BY n DESC, id LIMIT 20"],
    # The persons sought again by their ids: of an element of a list, Neo4j does not know that it is a node, and scans all messages.
    "IC14": [
        "MATCH (p:Person {id: $person1Id}), (q:Person {id: $person2Id}) MATCH path = allShortestPaths((p)-[:KNOWS*0..]-(q)) "
        "WITH [person IN nodes(path) | person.id] AS ids UNWIND range(0, size(ids) - 2) AS step "
        "MATCH (a:Person {id: ids[step]}), (b:Person {id: ids[step + 1]}) "
        f"CALL (a, b) {{ MATCH (a){REPLY}(b) RETURN sum(CASE WHEN m:Post THEN 1.0 ELSE 0.5 END) AS there }} "
        f"CALL (a, b) {{ MATCH (b){REPLY}(a) RETURN sum(CASE WHEN m:Post THEN 1.0 ELSE 0.5 END) AS back }} "
        "WITH ids, sum(there + back) AS weight RETURN ids, weight ORDER BY weight DESC"],
    "IC6": [
        CIRCLE + "WITH collect(DISTINCT friend) AS friends MATCH (known:Tag {name: $tagName})<-[:HAS_TAG]-(post:Post)-[:HAS_CREATOR]->(friend:Person) "
        "WHERE friend IN friends MATCH (post)-[:HAS_TAG]->(tag:Tag) WHERE tag <> known "
        "RETURN tag.name AS name, count(DISTINCT post) AS n ORDER BY n DESC, name LIMIT 10"],
}


def imported(home):
    """Seconds of the offline import."""
    vertices, edges = tables(FOLDER, WORK)
    kinds = {"INT64": "long", "STRING": "string"}
    column = lambda name, kind: f"{name}:{kinds[kind]}{'[]' if name in LISTS else ''}"
    sources = []
    for label, (file, columns) in vertices.items():
        header = write(file + ".head", ["|".join([f"id:ID({label})"] + [column(*of) for of in columns[1:]])])
        labels = f"{label}:{SUPER[label]}" if label in SUPER else label
        sources.append(f"--nodes={labels}={header},{file}")
    for at, (kind, a, b, file, columns) in enumerate(edges):
        header = write(f"{file}.{at}.head", ["|".join([f":START_ID({a})", f":END_ID({b})"] + [column(*of) for of in columns])])
        sources.append(f"--relationships={kind}={header},{file}")
    begin = time.perf_counter()
    command = ["java", HEAP, *JAVA, "-cp", f"{JARS}/*", "org.neo4j.cli.AdminTool", "database", "import", "full", "neo4j", "--overwrite-destination=true",
               f"--report-file={os.path.join(home, 'import.report')}", "--id-type=integer", "--delimiter=|", "--array-delimiter=;", "--quote=\x01", *sources]
    environment = os.environ | {"NEO4J_HOME": home, "NEO4J_CONF": os.path.join(home, "conf")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"import failed: {(done.stdout + done.stderr)[-600:]}")
    return time.perf_counter() - begin


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def over_bolt(server, address, texts, asked):
    """Figures with the official driver, one session, queries as managed reads would send them."""
    with neo4j.GraphDatabase.driver(f"bolt://{address}", auth=None) as driver, driver.session() as session:
        asker = lambda text: lambda parameters: [record.values() for record in session.run(neo4j.Query(text, timeout=CALL_SECONDS_MAX), parameters)]
        floor(f"{server} over Bolt, Python driver", asker("RETURN 1"))
        for query, sets in asked.items():
            tell(bolt=[server, query, measure(f"{server}:{query}", {"1": asker(texts[query])}, sets)])


home, loaded = os.path.join(WORK, "neo4j"), os.path.join(WORK, "loaded")
if not os.path.exists(loaded):
    os.makedirs(os.path.join(home, "conf"))
    open(os.path.join(home, "conf", "neo4j.conf"), "w").close()
    write(loaded, [str(imported(home))])
with open(loaded) as file:
    tell(version="5.26", load_seconds=float(file.read()))
asked, texts = ASKED["questions"], ASKED["texts"]
wordings = {query: [text, *OTHERS.get(query, [])] for query, text in texts.items()}
files = {"questions": asked, "wordings": wordings, "over": ASKED["over"]}
for name, content in files.items():
    write(os.path.join(WORK, name + ".json"), [json.dumps(content)])
port = free_port()
command = ["java", HEAP, *JAVA, "-cp", f"{JARS}/*", SOURCE, home, WORK, str(port), str(CALL_SECONDS_MAX)]
process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
best = {query: texts[query] for query in texts}
best |= {query: wordings[query][int(name) - 1] for query, name in ASKED["best"].items()}
try:
    for line in process.stdout:
        if not line.startswith('{"'):
            continue
        said = json.loads(line)
        if "done" in said:
            break
        if "figure" in said:
            query, figure = said["figure"]
            best[query] = wordings[query][int(figure.get("wording", "1")) - 1]
        tell(**said)
    else:
        raise RuntimeError("Neo4j ended early")
    bolt = ASKED["bolt"]
    over_bolt("neo4j", f"127.0.0.1:{port}", best, bolt["neo4j"])
    if ADDRESS:
        over_bolt("tanglewood", ADDRESS, texts, bolt["tanglewood"])
finally:
    process.stdin.close()
    try:
        process.wait(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
tell(done=True)
