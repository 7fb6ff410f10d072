"""The social network in Kuzu: seconds of COPY for all files, and rows of the short reads: run.py kuzu FOLDER WORK QUESTIONS.

QUESTIONS is JSON: {"persons": [ids], "messages": [ids]}. Rows come back by query and id: {"IS1": {"933": [[...]]}}.
"""
import json
import os
import sys
import time

import kuzu

from common import FOLDER, WORK

VERTICES = {
    "Person": ("dynamic/person", "id INT64, firstName STRING, lastName STRING, gender STRING, birthday INT64, "
               "creationDate INT64, locationIP STRING, browserUsed STRING, language STRING, email STRING"),
    "Forum": ("dynamic/forum", "id INT64, title STRING, creationDate INT64"),
    "Post": ("dynamic/post", "id INT64, imageFile STRING, creationDate INT64, locationIP STRING, browserUsed STRING, "
             "language STRING, content STRING, length INT64"),
    "Comment": ("dynamic/comment", "id INT64, creationDate INT64, locationIP STRING, browserUsed STRING, "
                "content STRING, length INT64"),
    "Tag": ("static/tag", "id INT64, name STRING, url STRING"),
    "TagClass": ("static/tagclass", "id INT64, name STRING, url STRING"),
    "Place": ("static/place", "id INT64, name STRING, url STRING, type STRING"),
    "Organisation": ("static/organisation", "id INT64, type STRING, name STRING, url STRING"),
}
EDGES = [
    ("KNOWS", "Person", "Person", "dynamic/person_knows_person", "creationDate INT64"),
    ("HAS_INTEREST", "Person", "Tag", "dynamic/person_hasInterest_tag", ""),
    ("PERSON_LOCATED", "Person", "Place", "dynamic/person_isLocatedIn_place", ""),
    ("STUDY_AT", "Person", "Organisation", "dynamic/person_studyAt_organisation", "classYear INT64"),
    ("WORK_AT", "Person", "Organisation", "dynamic/person_workAt_organisation", "workFrom INT64"),
    ("LIKES_POST", "Person", "Post", "dynamic/person_likes_post", "creationDate INT64"),
    ("LIKES_COMMENT", "Person", "Comment", "dynamic/person_likes_comment", "creationDate INT64"),
    ("POST_CREATOR", "Post", "Person", "dynamic/post_hasCreator_person", ""),
    ("COMMENT_CREATOR", "Comment", "Person", "dynamic/comment_hasCreator_person", ""),
    ("POST_TAG", "Post", "Tag", "dynamic/post_hasTag_tag", ""),
    ("COMMENT_TAG", "Comment", "Tag", "dynamic/comment_hasTag_tag", ""),
    ("POST_LOCATED", "Post", "Place", "dynamic/post_isLocatedIn_place", ""),
    ("COMMENT_LOCATED", "Comment", "Place", "dynamic/comment_isLocatedIn_place", ""),
    ("REPLY_POST", "Comment", "Post", "dynamic/comment_replyOf_post", ""),
    ("REPLY_COMMENT", "Comment", "Comment", "dynamic/comment_replyOf_comment", ""),
    ("CONTAINER_OF", "Forum", "Post", "dynamic/forum_containerOf_post", ""),
    ("HAS_MEMBER", "Forum", "Person", "dynamic/forum_hasMember_person", "joinDate INT64"),
    ("HAS_MODERATOR", "Forum", "Person", "dynamic/forum_hasModerator_person", ""),
    ("FORUM_TAG", "Forum", "Tag", "dynamic/forum_hasTag_tag", ""),
    ("ORGANISATION_LOCATED", "Organisation", "Place", "static/organisation_isLocatedIn_place", ""),
    ("IS_PART_OF", "Place", "Place", "static/place_isPartOf_place", ""),
    ("HAS_TYPE", "Tag", "TagClass", "static/tag_hasType_tagclass", ""),
    ("IS_SUBCLASS_OF", "TagClass", "TagClass", "static/tagclass_isSubclassOf_tagclass", ""),
]
FORMAT = "(HEADER=true, DELIM='|', QUOTE='\x01', ESCAPE='\x01')"

connection = kuzu.Connection(kuzu.Database(os.path.join(WORK, "social.db")))
connection.set_max_threads_for_exec(os.cpu_count())


def rows(text, **parameters):
    result = connection.execute(text, parameters)
    found = []
    while result.has_next():
        found.append(result.get_next())
    return found


def load():
    """Seconds of COPY alone; tables are made before."""
    for name, (_, columns) in VERTICES.items():
        rows(f"CREATE NODE TABLE {name}({columns}, PRIMARY KEY(id))")
    for name, source, target, _, columns in EDGES:
        rows(f"CREATE REL TABLE {name}(FROM {source} TO {target}{', ' + columns if columns else ''})")
    files = [(name, file) for name, (file, _) in VERTICES.items()] + [(edge[0], edge[3]) for edge in EDGES]
    begin = time.perf_counter()
    for name, file in files:
        rows(f"COPY {name} FROM '{os.path.join(FOLDER, file)}_0_0.csv' {FORMAT}")
    return time.perf_counter() - begin


def kind(message):
    return "Post" if rows("MATCH (m:Post {id: $m}) RETURN m.id", m=message) else "Comment"


def author(message):
    name = "POST_CREATOR" if kind(message) == "Post" else "COMMENT_CREATOR"
    return rows(f"MATCH (m:{kind(message)} {{id: $m}})-[:{name}]->(p:Person) RETURN p.id, p.firstName, p.lastName", m=message)[0]


def root(message):
    while kind(message) == "Comment":
        text = "MATCH (:Comment {id: $m})-[:REPLY_POST|REPLY_COMMENT]->(parent:Post:Comment) RETURN parent.id"
        message = rows(text, m=message)[0][0]
    return message


def content(text):
    """The text of a message, or the name of its picture."""
    return f"CASE WHEN {text}.content IS NULL OR {text}.content = '' THEN {text}.imageFile ELSE {text}.content END"


def latest(person):
    posts = rows(f"MATCH (m:Post)-[:POST_CREATOR]->(:Person {{id: $p}}) RETURN m.id, {content('m')}, m.creationDate", p=person)
    comments = rows("MATCH (m:Comment)-[:COMMENT_CREATOR]->(:Person {id: $p}) RETURN m.id, m.content, m.creationDate", p=person)
    chosen = sorted(posts + comments, key=lambda row: (-row[2], -row[0]))[:10]
    return [row + [root(row[0])] + author(root(row[0])) for row in chosen]


def replies(message):
    text = (
        f"MATCH (m:{kind(message)} {{id: $m}})<-[:REPLY_POST|REPLY_COMMENT]-(c:Comment)-[:COMMENT_CREATOR]->(p:Person) "
        "RETURN c.id, c.content, c.creationDate, p.id, p.firstName, p.lastName"
    )
    friends = {row[0] for row in rows("MATCH (:Person {id: $p})-[:KNOWS]-(f:Person) RETURN f.id", p=author(message)[0])}
    found = [row + [row[3] in friends] for row in rows(text, m=message)]
    return sorted(found, key=lambda row: (-row[2], row[3]))


def forum(message):
    text = (
        "MATCH (:Post {id: $m})<-[:CONTAINER_OF]-(f:Forum)-[:HAS_MODERATOR]->(p:Person) "
        "RETURN f.id, f.title, p.id, p.firstName, p.lastName"
    )
    return rows(text, m=root(message))


def message_content(message):
    text = content("m") if kind(message) == "Post" else "m.content"
    return rows(f"MATCH (m:{kind(message)} {{id: $m}}) RETURN {text}, m.creationDate", m=message)


def profile(person):
    return rows(
        "MATCH (p:Person {id: $p})-[:PERSON_LOCATED]->(c:Place) RETURN p.firstName, p.lastName, p.birthday, p.locationIP, "
        "p.browserUsed, c.id, p.gender, p.creationDate", p=person)


def friends(person):
    return rows(
        "MATCH (:Person {id: $p})-[k:KNOWS]-(f:Person) RETURN f.id, f.firstName, f.lastName, k.creationDate "
        "ORDER BY k.creationDate DESC, f.id", p=person)


seconds = load()
questions = json.loads(sys.argv[4])
of_persons = {"IS1": profile, "IS2": latest, "IS3": friends}
of_messages = {"IS4": message_content, "IS5": lambda message: [author(message)], "IS6": forum, "IS7": replies}
short = {name: {str(person): ask(person) for person in questions["persons"]} for name, ask in of_persons.items()}
short |= {name: {str(message): ask(message) for message in questions["messages"]} for name, ask in of_messages.items()}
print(json.dumps({"version": kuzu.__version__, "copy_seconds": seconds, "short": short}))
