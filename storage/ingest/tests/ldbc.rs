//! LDBC folders of each serializer give the same graph.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

extern crate tanglewood_ingest as ingest;

use crate::common;

use common::{edge_lines, import, index_lines, rejected, vertex_lines};

const PLACES: &str =
    "id|name|url|type\n1|India|http://i|country\n2|Pune|http://p|city\n3|Asia|http://a|continent\n";
const TAGS: &str = "id|name|url\n7|Rumi|http://r\n";

/// Composite, foreign keys in files of their own.
fn composite() -> Vec<(&'static str, &'static str)> {
    vec![
        ("social_network/static/place_0_0.csv", PLACES),
        ("social_network/static/place_isPartOf_place_0_0.csv", "Place.id|Place.id\n2|1\n1|3\n"),
        ("social_network/static/tag_0_0.csv", TAGS),
        (
            "social_network/static/organisation_0_0.csv",
            "id|type|name|url\n4|company|Air|http://c\n5|university|Uni|http://u\n",
        ),
        (
            "social_network/dynamic/person_0_0.csv",
            "id|firstName|birthday|language|email\n10|Mahinda|628646400000|si;en|a@x.org;b@x.org\n",
        ),
        (
            "social_network/dynamic/person_1_0.csv",
            "id|firstName|birthday|language|email\n11|Carmen|445910400000|et|\n",
        ),
        (
            "social_network/dynamic/person_knows_person_0_0.csv",
            "Person.id|Person.id|creationDate\n10|11|1289805829104\n",
        ),
        ("social_network/dynamic/person_isLocatedIn_place_0_0.csv", "Person.id|Place.id\n10|2\n11|2\n"),
        (
            "social_network/dynamic/person_studyAt_organisation_0_0.csv",
            "Person.id|Organisation.id|classYear\n10|5|2011\n",
        ),
        ("social_network/dynamic/forum_0_0.csv", "id|title|creationDate\n20|Wall \"of\" M|1266161540447\n"),
        ("social_network/dynamic/forum_hasModerator_person_0_0.csv", "Forum.id|Person.id\n20|10\n"),
        ("social_network/dynamic/forum_containerOf_post_0_0.csv", "Forum.id|Post.id\n20|30\n"),
        ("social_network/dynamic/post_0_0.csv", "id|imageFile|content|length\n30||\"quoted\" text|13\n"),
        ("social_network/dynamic/post_hasCreator_person_0_0.csv", "Post.id|Person.id\n30|10\n"),
        ("social_network/dynamic/comment_0_0.csv", "id|content|length\n31|yes|3\n"),
        ("social_network/dynamic/comment_replyOf_post_0_0.csv", "Comment.id|Post.id\n31|30\n"),
        ("social_network/dynamic/comment_hasCreator_person_0_0.csv", "Comment.id|Person.id\n31|11\n"),
        ("social_network/updateStream_0_0_forum.csv", "1|2|3\n"),
        ("substitution_parameters/interactive_1_param.txt", "personId|firstName\n10|Mike\n"),
    ]
}

/// The same with foreign keys in vertex files and lists in files of their own.
fn merged() -> Vec<(&'static str, &'static str)> {
    vec![
        (
            "static/place_0_0.csv",
            "id|name|url|type|isPartOf\n1|India|http://i|country|3\n2|Pune|http://p|city|1\n3|Asia|http://a|continent|\n",
        ),
        ("static/tag_0_0.csv", TAGS),
        (
            "static/organisation_0_0.csv",
            "id|type|name|url|place\n4|company|Air|http://c|\n5|university|Uni|http://u|\n",
        ),
        (
            "dynamic/person_0_0.csv",
            "id|firstName|birthday|place\n10|Mahinda|628646400000|2\n11|Carmen|445910400000|2\n",
        ),
        ("dynamic/person_email_emailaddress_0_0.csv", "Person.id|email\n10|a@x.org\n10|b@x.org\n"),
        ("dynamic/person_speaks_language_0_0.csv", "Person.id|language\n10|si\n11|et\n10|en\n"),
        ("dynamic/person_knows_person_0_0.csv", "Person.id|Person.id|creationDate\n10|11|1289805829104\n"),
        ("dynamic/person_studyAt_organisation_0_0.csv", "Person.id|Organisation.id|classYear\n10|5|2011\n"),
        ("dynamic/forum_0_0.csv", "id|title|creationDate|moderator\n20|Wall \"of\" M|1266161540447|10\n"),
        (
            "dynamic/post_0_0.csv",
            "id|imageFile|content|length|creator|Forum.id|place\n30||\"quoted\" text|13|10|20|\n",
        ),
        (
            "dynamic/comment_0_0.csv",
            "id|content|length|creator|place|replyOfPost|replyOfComment\n31|yes|3|11||30|\n",
        ),
    ]
}

#[test]
fn a_composite_folder_is_imported() {
    let (engine, report) = import(&composite());
    assert_eq!(rejected(&report), [""; 0]);
    assert_eq!((report.vertices, report.edges, report.files, report.skipped.len()), (11, 11, 17, 2));
    assert_eq!(
        vertex_lines(&engine),
        [
            r#":City:Place {id: 2, name: "Pune", type: "city", url: "http://p"}"#,
            r#":Comment:Message {content: "yes", id: 31, length: 3}"#,
            r#":Company:Organisation {id: 4, name: "Air", type: "company", url: "http://c"}"#,
            r#":Continent:Place {id: 3, name: "Asia", type: "continent", url: "http://a"}"#,
            r#":Country:Place {id: 1, name: "India", type: "country", url: "http://i"}"#,
            r#":Forum {creationDate: 1266161540447, id: 20, title: "Wall \"of\" M"}"#,
            r#":Message:Post {content: "\"quoted\" text", id: 30, length: 13}"#,
            r#":Organisation:University {id: 5, name: "Uni", type: "university", url: "http://u"}"#,
            r#":Person {birthday: 445910400000, firstName: "Carmen", id: 11, speaks: ["et"]}"#,
            r#":Person {birthday: 628646400000, email: ["a@x.org", "b@x.org"], firstName: "Mahinda", id: 10, speaks: ["si", "en"]}"#,
            r#":Tag {id: 7, name: "Rumi", url: "http://r"}"#,
        ]
    );
    assert_eq!(
        edge_lines(&engine),
        [
            "1 -[:IS_PART_OF]-> 3",
            "10 -[:IS_LOCATED_IN]-> 2",
            "10 -[:KNOWS {creationDate: 1289805829104}]-> 11",
            "10 -[:STUDY_AT {classYear: 2011}]-> 5",
            "11 -[:IS_LOCATED_IN]-> 2",
            "2 -[:IS_PART_OF]-> 1",
            "20 -[:CONTAINER_OF]-> 30",
            "20 -[:HAS_MODERATOR]-> 10",
            "30 -[:HAS_CREATOR]-> 10",
            "31 -[:HAS_CREATOR]-> 11",
            "31 -[:REPLY_OF]-> 30",
        ]
    );
    assert_eq!(
        index_lines(&engine),
        [
            "Country.name",
            "Person.firstName",
            "Place.name",
            "Tag.name",
            "unique Comment.id",
            "unique Forum.id",
            "unique Message.id",
            "unique Organisation.id",
            "unique Person.id",
            "unique Place.id",
            "unique Post.id",
            "unique Tag.id",
        ]
    );
}

#[test]
fn merged_foreign_keys_and_separate_lists_give_the_same_graph() {
    let (one, _) = import(&composite());
    let (other, report) = import(&merged());
    assert_eq!(rejected(&report), [""; 0]);
    assert_eq!(vertex_lines(&other), vertex_lines(&one));
    assert_eq!(edge_lines(&other), edge_lines(&one));
    assert_eq!(index_lines(&other), index_lines(&one));
}

#[test]
fn projected_files_with_typed_headers_are_read() {
    let (engine, report) = import(&[
        ("City.csv", "id:ID(City)\n111\n"),
        ("Country.csv", "id:ID(Country)\n5\n"),
        ("City_isPartOf_Country.csv", ":START_ID(City)|:END_ID(Country)\n111|5\n"),
        ("Person.csv", "id:ID(Person)\n1\n2\n"),
        ("Person_knows_Person.csv", ":START_ID(Person)|:END_ID(Person)\n1|2\n"),
    ]);
    assert_eq!(rejected(&report), [""; 0]);
    assert_eq!(
        vertex_lines(&engine),
        [":City:Place {id: 111}", ":Country:Place {id: 5}", ":Person {id: 1}", ":Person {id: 2}"]
    );
    assert_eq!(edge_lines(&engine), ["1 -[:KNOWS]-> 2", "111 -[:IS_PART_OF]-> 5"]);
}

#[test]
fn wrong_lines_are_left_out_and_reported() {
    let (engine, report) = import(&[
        (
            "person_0_0.csv",
            "id|firstName|creationDate|language\n1|A|5|en\nx|B|5|en\n1|C|5|en\n2|D|soon|en\n3|E|5\n4|F|2010-02-14T15:32:10.447+0000|\n",
        ),
        ("person_knows_person_0_0.csv", "Person.id|Person.id|creationDate\n1|4|7\n1|9|7\n1|4|x\n|4|7\n"),
        ("person_speaks_language_0_0.csv", "Person.id|language\n9|en\n"),
        ("forum_0_0.csv", "id|title|moderator\n6|T|9\n"),
    ]);
    assert_eq!(
        rejected(&report),
        [
            "forum_0_0.csv:2: no vertex has the id `9`; the vertex stays",
            "person_0_0.csv:3: id `x` is no integer",
            "person_0_0.csv:4: id `1` is there before",
            "person_0_0.csv:5: `soon` is no date or number of milliseconds",
            "person_0_0.csv:6: 3 fields where the header has 4",
            "person_knows_person_0_0.csv:3: no vertex has the id `9`",
            "person_knows_person_0_0.csv:4: `x` is no date or number of milliseconds",
            "person_knows_person_0_0.csv:5: the id is missing",
            "person_speaks_language_0_0.csv:2: no vertex has the id `9`",
        ]
    );
    assert_eq!((report.rejected, report.vertices, report.edges), (9, 3, 1));
    assert_eq!(edge_lines(&engine), ["1 -[:KNOWS {creationDate: 7}]-> 4"]);
    assert!(
        vertex_lines(&engine).contains(
            &r#":Person {creationDate: 2010-02-14T15:32:10.447Z, firstName: "F", id: 4}"#.to_string()
        )
    );
}

#[test]
fn posts_and_comments_share_their_ids() {
    let (_, report) = import(&[
        ("post_0_0.csv", "id|content\n1|a\n"),
        ("comment_0_0.csv", "id|content\n1|b\n2|c\n"),
        ("comment_replyOf_post_0_0.csv", "Comment.id|Post.id\n2|1\n"),
    ]);
    // Files in order of their names: the comment comes first.
    assert_eq!(rejected(&report), ["post_0_0.csv:2: id `1` is there before"]);
    assert_eq!((report.vertices, report.edges), (2, 1));
}
