"""The social network as tables, one a label and one a pair of labels, for engines that want them so.

Written for two layouts: the interactive benchmark's composite files, where places and organisations are split by kind, and those of the
subgraph benchmark, which have ids alone. `tables(FOLDER, WORK)` gives vertices {label: (file, [(column, type)])} and edges
[(type, source, target, file, [(column, type)])]; all files are `|`-separated and have no header.
"""
import json
import os
import re
import sys

PACKAGE, FOLDER, WORK = sys.argv[1:4]
PERSON = [("id", "INT64"), ("firstName", "STRING"), ("lastName", "STRING"), ("gender", "STRING"), ("birthday", "INT64"),
          ("creationDate", "INT64"), ("locationIP", "STRING"), ("browserUsed", "STRING"), ("speaks", "STRING"), ("email", "STRING")]
POST = [("id", "INT64"), ("imageFile", "STRING"), ("creationDate", "INT64"), ("locationIP", "STRING"), ("browserUsed", "STRING"),
        ("language", "STRING"), ("content", "STRING"), ("length", "INT64")]
COMMENT = [("id", "INT64"), ("creationDate", "INT64"), ("locationIP", "STRING"), ("browserUsed", "STRING"),
           ("content", "STRING"), ("length", "INT64")]
NAMED = [("id", "INT64"), ("name", "STRING"), ("url", "STRING")]
VERTICES = {"Person": ("dynamic/person", PERSON), "Post": ("dynamic/post", POST), "Comment": ("dynamic/comment", COMMENT),
            "Forum": ("dynamic/forum", [("id", "INT64"), ("title", "STRING"), ("creationDate", "INT64")]),
            "Tag": ("static/tag", NAMED), "TagClass": ("static/tagclass", NAMED)}
WHEN = [("creationDate", "INT64")]
EDGES = [
    ("KNOWS", "Person", "Person", "dynamic/person_knows_person", WHEN),
    ("HAS_INTEREST", "Person", "Tag", "dynamic/person_hasInterest_tag", []),
    ("IS_LOCATED_IN", "Person", "City", "dynamic/person_isLocatedIn_place", []),
    ("IS_LOCATED_IN", "Post", "Country", "dynamic/post_isLocatedIn_place", []),
    ("IS_LOCATED_IN", "Comment", "Country", "dynamic/comment_isLocatedIn_place", []),
    ("LIKES", "Person", "Post", "dynamic/person_likes_post", WHEN),
    ("LIKES", "Person", "Comment", "dynamic/person_likes_comment", WHEN),
    ("HAS_CREATOR", "Post", "Person", "dynamic/post_hasCreator_person", []),
    ("HAS_CREATOR", "Comment", "Person", "dynamic/comment_hasCreator_person", []),
    ("HAS_TAG", "Post", "Tag", "dynamic/post_hasTag_tag", []),
    ("HAS_TAG", "Comment", "Tag", "dynamic/comment_hasTag_tag", []),
    ("HAS_TAG", "Forum", "Tag", "dynamic/forum_hasTag_tag", []),
    ("REPLY_OF", "Comment", "Post", "dynamic/comment_replyOf_post", []),
    ("REPLY_OF", "Comment", "Comment", "dynamic/comment_replyOf_comment", []),
    ("CONTAINER_OF", "Forum", "Post", "dynamic/forum_containerOf_post", []),
    ("HAS_MEMBER", "Forum", "Person", "dynamic/forum_hasMember_person", [("joinDate", "INT64")]),
    ("HAS_MODERATOR", "Forum", "Person", "dynamic/forum_hasModerator_person", []),
    ("HAS_TYPE", "Tag", "TagClass", "static/tag_hasType_tagclass", []),
    ("IS_SUBCLASS_OF", "TagClass", "TagClass", "static/tagclass_isSubclassOf_tagclass", []),
]
# A file whose source, or whose target, is split by kind: type, file, columns, which end, label of the other end by kind.
SPLIT = [
    ("STUDY_AT", "dynamic/person_studyAt_organisation", [("classYear", "INT64")], 1, {"University": ("Person", "University")}),
    ("WORK_AT", "dynamic/person_workAt_organisation", [("workFrom", "INT64")], 1, {"Company": ("Person", "Company")}),
    ("IS_LOCATED_IN", "static/organisation_isLocatedIn_place", [], 0,
     {"University": ("University", "City"), "Company": ("Company", "Country")}),
    ("IS_PART_OF", "static/place_isPartOf_place", [], 0, {"City": ("City", "Country"), "Country": ("Country", "Continent")}),
]


def tables(folder, work):
    """Vertices and edges with files of their own below `work`."""
    for below in ("", "social-network-sf0.003-projected-fk"):
        if os.path.exists(os.path.join(folder, below, "Person_knows_Person.csv")):
            return ids_alone(os.path.join(folder, below), work)
    return composite(folder, work)


def lines(path):
    with open(path, encoding="utf-8", newline="\n") as file:
        next(file)
        for line in file:
            yield line.rstrip("\n")


def write(path, rows):
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.writelines(row + "\n" for row in rows)
    return path


def composite(folder, work):
    source = lambda name: os.path.join(folder, name + "_0_0.csv")
    target = lambda name: os.path.join(work, name.replace("/", "_") + ".csv")
    vertices = {label: (write(target(file), lines(source(file))), columns) for label, (file, columns) in VERTICES.items()}
    edges = [(kind, a, b, write(target(file), lines(source(file))), columns) for kind, a, b, file, columns in EDGES]
    kinds = {}
    for file, at_kind, picked in (("static/place", 3, (0, 1, 2)), ("static/organisation", 1, (0, 2, 3))):
        of_kind = {}
        for line in lines(source(file)):
            cells = line.split("|")
            label = cells[at_kind].capitalize()
            kinds[file, cells[0]] = label
            of_kind.setdefault(label, []).append("|".join(cells[at] for at in picked))
        for label, rows in of_kind.items():
            vertices[label] = (write(os.path.join(work, label + ".csv"), rows), NAMED)
    for kind, file, columns, end, pairs in SPLIT:
        of = "static/place" if "place_isPartOf" in file else "static/organisation"
        for label, (a, b) in pairs.items():
            rows = [line for line in lines(source(file)) if kinds[of, line.split("|")[end]] == label]
            edges.append((kind, a, b, write(os.path.join(work, f"{kind}_{a}_{b}.csv"), rows), columns))
    return vertices, edges


def ids_alone(folder, work):
    vertices, edges = {}, []
    for name in sorted(os.listdir(folder)):
        parts = name.removesuffix(".csv").split("_")
        path = write(os.path.join(work, name), lines(os.path.join(folder, name)))
        if len(parts) == 1:
            vertices[parts[0]] = (path, [("id", "INT64")])
        else:
            kind = re.sub(r"([A-Z])", r"_\1", parts[1]).upper()
            edges.append((kind, parts[0], parts[2], path, []))
    return vertices, edges
