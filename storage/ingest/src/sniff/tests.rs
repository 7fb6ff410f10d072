use super::*;

fn kind(fields: &[&str]) -> String {
    let mut seen = ColumnSurvey::default();
    for text in fields {
        seen.look(&Field { bytes: text.as_bytes(), quoted: false, doubled: false }, &[]);
    }
    cell::name_of(&seen.kind())
}

#[test]
fn a_column_has_the_narrowest_type_that_loses_nothing() {
    let cases: [(&[&str], &str); 20] = [
        (&["1", "-2", "", "+3"], "int"),
        (&["1", "2.5"], "float"),
        (&["1e5", ".5", "-0.25"], "float"),
        (&["007", "12"], "string"),
        (&["0", "0.5"], "float"),
        (&["9223372036854775807"], "int"),
        (&["9223372036854775807", "0.5"], "string"),
        (&["9223372036854775808"], "string"),
        (&["true", "FALSE", "NA"], "boolean"),
        (&["true", "1"], "string"),
        (&["2024-02-29", ""], "date"),
        (&["2024-02-30"], "string"),
        (&["0999-01-01"], "date"),
        (&["2024-02-29T10:00:00"], "localdatetime"),
        (&["2024-02-29T10:00:00Z", "2024-02-29T10:00:00+02:00"], "datetime"),
        (&["2024-02-29T10:00:00Z", "2024-02-29"], "string"),
        (&["nan", "1.5"], "float"),
        (&["Infinity"], "string"),
        (&["NA", "none"], "string"),
        (&["", ""], "string"),
    ];
    for (fields, expected) in cases {
        assert_eq!(kind(fields), expected, "{fields:?}");
    }
}

#[test]
fn the_delimiter_is_what_cuts_most_lines_alike() {
    assert_eq!(delimiter_of(b"a,b\n1,2\n"), b',');
    assert_eq!(delimiter_of(b"a;b\n1,5;2,5\n3,5;4,5\n"), b';');
    assert_eq!(delimiter_of(b"a\tb c\n1, 2\t2\n"), b'\t');
    assert_eq!(delimiter_of(b"a|b\n\"x,y\"|\"1,2\"\n"), b'|');
    assert_eq!(delimiter_of(b"id\n1\n2\n"), b',');
}
