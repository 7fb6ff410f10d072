//! The meaning of file names.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use super::*;

fn said(path: &str) -> Option<String> {
    let file = InputFile::named(path);
    file_name(&file).map(|name| match name {
        FileName::Vertices(entity) => ENTITIES[entity].0.to_string(),
        FileName::Edges(from, edge_type, to) => {
            format!("{} {edge_type} {}", ENTITIES[from].0, ENTITIES[to].0)
        }
        FileName::Elements(key) => format!("elements {key}"),
    })
}

#[test]
fn names_of_all_serializers_are_known() {
    let cases = [
        ("dynamic/person_0_0.csv", "person"),
        ("dynamic/person_1_0.csv.gz", "person"),
        ("person_knows_person_0_0.csv", "person KNOWS person"),
        ("Person_studyAt_University.csv", "person STUDY_AT university"),
        ("static/tagclass_isSubclassOf_tagclass_0_0.csv", "tagclass IS_SUBCLASS_OF tagclass"),
        ("initial_snapshot/dynamic/Comment_hasTag_Tag/part-00000-abc.csv.gz", "comment HAS_TAG tag"),
        ("initial_snapshot/dynamic/Person/part-00000.csv", "person"),
        ("person_email_emailaddress_0_0.csv", "elements email"),
        ("person_speaks_language_0_0.csv", "elements speaks"),
    ];
    for (path, expected) in cases {
        assert_eq!(said(path).as_deref(), Some(expected), "{path}");
    }
    let others = [
        "updateStream_0_0_forum.csv",
        "README.md",
        "person.json",
        "interactive_1_param.txt",
        "person_hates_person.csv",
        "forum_email_emailaddress_0_0.csv",
        "forum_speaks_language_0_0.csv",
    ];
    for path in others {
        assert_eq!(said(path), None, "{path}");
    }
}

#[test]
fn properties_have_the_kinds_of_the_benchmark() {
    let texts = Kind::List(Box::new(Kind::Text), LIST_SEPARATOR);
    let cases = [
        ("person", "languages", "speaks", texts.clone()),
        ("person", "language", "speaks", texts.clone()),
        ("person", "Speaks", "speaks", texts.clone()),
        ("person", "email", "email", texts.clone()),
        ("person", "emails", "email", texts),
        ("post", "language", "language", Kind::Text),
        ("forum", "email", "email", Kind::Text),
        ("person", "creationDate", "creationDate", Kind::Moment),
        ("", "joinDate", "joinDate", Kind::Moment),
        ("person", "birthday", "birthday", Kind::Moment),
        ("forum", "deletionDate", "deletionDate", Kind::Moment),
        ("post", "length", "length", Kind::Int),
        ("", "classYear", "classYear", Kind::Int),
        ("", "workFrom", "workFrom", Kind::Int),
        ("post", "explicitlyDeleted", "explicitlyDeleted", Kind::Bool),
        ("person", "firstName", "firstName", Kind::Text),
    ];
    for (entity, name, held, kind) in cases {
        assert_eq!(property(entity, name), (held.to_string(), kind), "{name} of {entity}");
    }
}
