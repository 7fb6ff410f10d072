"""The business intelligence queries in DuckDB: run.py MODULE FOLDER WORK ASKED.

Keys of other rows are columns where a row has one of them, as in the benchmark's own tables; posts and comments are rows of one table, and
friendships are stored in both directions. As there, each message has its root post's id, forum and language in columns of its own, which
one recursive query computes. Weights that depend on no parameter are computed once, too. All of this counts as loading.
"""
import duckdb

CSV = "delim='|', quote='', escape='', header=true, nullstr='', ignore_errors=false, all_varchar=true"


def rows(name):
    """All columns of a file, as texts."""
    return f"read_csv('{os.path.join(FOLDER, name)}_0_0.csv', {CSV})"


def ids(name, *columns):
    """A file of ids, and perhaps a number more; its header may name both ids alike."""
    types = ", ".join(f"'{column}': 'BIGINT'" for column in columns)
    path = os.path.join(FOLDER, name + "_0_0.csv")
    return f"read_csv('{path}', delim='|', quote='', escape='', header=false, skip=1, columns={{{types}}})"


TABLES = [
    f"place AS SELECT id::BIGINT AS id, name, type, part_of FROM {rows('static/place')} "
    f"LEFT JOIN {ids('static/place_isPartOf_place', 'part', 'part_of')} ON part = id::BIGINT",
    f"organisation AS SELECT id::BIGINT AS id, type, name FROM {rows('static/organisation')}",
    f"tag_class AS SELECT id::BIGINT AS id, name FROM {rows('static/tagclass')}",
    f"tag AS SELECT id::BIGINT AS id, name, class FROM {rows('static/tag')} "
    f"JOIN {ids('static/tag_hasType_tagclass', 'tag', 'class')} ON tag = id::BIGINT",
    "person AS SELECT id::BIGINT AS id, firstName AS first_name, lastName AS last_name, creationDate::BIGINT AS creation_date, city "
    f"FROM {rows('dynamic/person')} JOIN {ids('dynamic/person_isLocatedIn_place', 'person', 'city')} ON person = id::BIGINT",
    f"interest AS FROM {ids('dynamic/person_hasInterest_tag', 'person', 'tag')}",
    f"study_at AS FROM {ids('dynamic/person_studyAt_organisation', 'person', 'organisation', 'year')}",
    f"work_at AS FROM {ids('dynamic/person_workAt_organisation', 'person', 'organisation', 'year')}",
    f"knows AS WITH once AS (FROM {ids('dynamic/person_knows_person', 'person_1', 'person_2', 'creation_date')}) "
    "FROM once UNION ALL SELECT person_2, person_1, creation_date FROM once",
    "forum AS SELECT id::BIGINT AS id, title, creationDate::BIGINT AS creation_date, moderator "
    f"FROM {rows('dynamic/forum')} LEFT JOIN {ids('dynamic/forum_hasModerator_person', 'forum', 'moderator')} ON forum = id::BIGINT",
    f"forum_member AS FROM {ids('dynamic/forum_hasMember_person', 'forum', 'person', 'join_date')}",
    "written AS SELECT id::BIGINT AS id, false AS is_comment, creationDate::BIGINT AS creation_date, length::BIGINT AS length, "
    f"content IS NOT NULL AS has_content, language, creator, forum, NULL::BIGINT AS parent FROM {rows('dynamic/post')} "
    f"JOIN {ids('dynamic/post_hasCreator_person', 'written', 'creator')} ON written = id::BIGINT "
    f"JOIN {ids('dynamic/forum_containerOf_post', 'forum', 'contained')} ON contained = id::BIGINT "
    "UNION ALL SELECT id::BIGINT, true, creationDate::BIGINT, length::BIGINT, content IS NOT NULL, NULL, creator, NULL, parent "
    f"FROM {rows('dynamic/comment')} JOIN {ids('dynamic/comment_hasCreator_person', 'written', 'creator')} ON written = id::BIGINT "
    f"JOIN (FROM {ids('dynamic/comment_replyOf_post', 'reply', 'parent')} "
    f"UNION ALL FROM {ids('dynamic/comment_replyOf_comment', 'reply', 'parent')}) ON reply = id::BIGINT",
    "message AS WITH RECURSIVE thread(message, root, root_forum, root_language) AS ("
    "SELECT id, id, forum, language FROM written WHERE NOT is_comment "
    "UNION ALL SELECT reply.id, root, root_forum, root_language FROM thread JOIN written reply ON reply.parent = thread.message) "
    "SELECT written.*, root, root_forum, root_language FROM written LEFT JOIN thread ON thread.message = written.id",
    f"message_tag AS FROM {ids('dynamic/post_hasTag_tag', 'message', 'tag')} "
    f"UNION ALL FROM {ids('dynamic/comment_hasTag_tag', 'message', 'tag')}",
    f"likes AS FROM {ids('dynamic/person_likes_post', 'person', 'message', 'creation_date')} "
    f"UNION ALL FROM {ids('dynamic/person_likes_comment', 'person', 'message', 'creation_date')}",
    "interacted AS SELECT person_1, person_2, 1e0 / n AS weight FROM knows JOIN (SELECT least(reply.creator, message.creator) AS a, "
    "greatest(reply.creator, message.creator) AS b, count(*) AS n FROM message reply JOIN message ON message.id = reply.parent GROUP BY a, b) "
    "ON a = least(person_1, person_2) AND b = greatest(person_1, person_2)",
    "studied AS SELECT person_1, person_2, min(abs(a.year - b.year)) + 1 AS weight FROM knows JOIN study_at a ON a.person = person_1 "
    "JOIN study_at b ON b.person = person_2 AND b.organisation = a.organisation GROUP BY person_1, person_2",
]

connection = duckdb.connect(os.path.join(WORK, "bi.duckdb"), config={"threads": os.cpu_count()})
answer["version"] = duckdb.__version__
begin = time.perf_counter()
for table in TABLES:
    connection.execute(f"CREATE TABLE {table}")
connection.execute("DROP TABLE written")
answer["load_seconds"] = time.perf_counter() - begin


def ask(question):
    text = question["sql"]
    return [list(row) for row in connection.execute(text, used(text, question["parameters"])).fetchall()]


for question in asked["questions"]:
    measure(question, ask, connection.interrupt)
finish()
