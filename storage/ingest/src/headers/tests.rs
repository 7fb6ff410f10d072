//! The meaning of headers and file names.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use super::*;

fn column(name: &str, type_name: &str, group: &str, options: &str) -> HeaderColumn {
    HeaderColumn {
        name: name.into(),
        type_name: type_name.into(),
        group: group.into(),
        options: options.into(),
    }
}

#[test]
fn columns_are_read() {
    let cases = [
        ("name", column("name", "", "", "")),
        ("id:ID(Person)", column("id", "ID", "Person", "")),
        (":id", column("", "ID", "", "")),
        (":START_ID(A-Z)", column("", "START_ID", "A-Z", "")),
        ("age:int", column("age", "int", "", "")),
        ("tags:string[]", column("tags", "string[]", "", "")),
        ("at:datetime{timezone:Europe/Stockholm}", column("at", "datetime", "", "timezone:Europe/Stockholm")),
        ("id:ID(P){id-type:long}", column("id", "ID", "P", "id-type:long")),
        ("~from", column("", "START_ID", "", "")),
        (" :LABEL ", column("", "LABEL", "", "")),
        ("code:string(single)", column("code", "string", "", "")),
    ];
    for (text, expected) in cases {
        assert_eq!(HeaderColumn::parse(text), expected, "{text}");
    }
}

#[test]
fn headers_are_told_from_data() {
    for header in ["id:ID,name", ":START_ID|:END_ID", "~id,~label", "a;b;:LABEL", "\"id:ID\"\tname"] {
        assert!(is_header(header.as_bytes(), None), "{header}");
    }
    for other in ["id,name", "1\t2", "from,type,to", "# :ID", "x:IGNORE"] {
        assert!(!is_header(other.as_bytes(), None), "{other}");
    }
}

#[test]
fn the_delimiter_is_the_one_met_most_often() {
    assert_eq!(delimiter_of(b"id:ID{id-type:long, label:P}|a|b"), b'|');
    assert_eq!(delimiter_of(b"id:ID;a;b"), b';');
    assert_eq!(delimiter_of(b"id:ID\ta"), b'\t');
    assert_eq!(delimiter_of(b"id:ID"), b',');
}

#[test]
fn names_of_files_give_types() {
    assert_eq!(edge_type_of("KNOWS", "", ""), "KNOWS");
    assert_eq!(edge_type_of("Person_hasInterest_Tag", "Person", "Tag"), "HAS_INTEREST");
    assert_eq!(edge_type_of("person_knows_person", "Person", "Person"), "KNOWS");
    assert_eq!(edge_type_of("IS_A_KIND", "", ""), "IS_A_KIND");
    assert_eq!(without_part_numbers("person_0_0"), "person");
    assert_eq!(without_part_numbers("persons-part-3"), "persons");
    assert_eq!(without_part_numbers("7"), "7");
    assert_eq!(upper_snake("isSubclassOf"), "IS_SUBCLASS_OF");
    assert_eq!(header_of("persons_header"), Some("persons"));
    assert!(belongs_to("persons_1", "persons") && !belongs_to("personsextra", "persons"));
}
