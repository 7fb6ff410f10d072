//! Lines of edge lists.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use super::file::edge_file;
use super::lines::Fields;

fn fields(line: &str, delimiter: Option<u8>) -> Vec<String> {
    let fields = Fields { rest: line.as_bytes(), delimiter };
    fields.map(|field| String::from_utf8_lossy(field).into_owned()).collect()
}

#[test]
fn fields_are_separated_by_what_people_use() {
    for line in ["1\t2\t3", "1 2 3", "  1   2\t 3 ", "1,2,3", "1, 2 ,3", "1;2;3"] {
        assert_eq!(fields(line, None), ["1", "2", "3"], "{line:?}");
    }
    assert_eq!(fields("1|2", Some(b'|')), ["1", "2"]);
    assert_eq!(fields("1 | 2", Some(b'|')), ["1", "2"]);
    assert_eq!(fields("", None), [""; 0]);
    assert_eq!(fields("1,,2", None), ["1", "", "2"]);
}

#[test]
fn the_first_line_tells_what_the_file_is() {
    let found = |head: &str| edge_file(0, head.as_bytes(), None);
    let plain = found("# a graph\n\n1\t2\n").unwrap();
    assert_eq!((plain.columns, plain.header_line), (2, None));
    let named = found("source,target,since\n1,2,3\n").unwrap();
    assert_eq!((named.columns, named.header_line, named.property_names), (3, Some(1), vec!["since".into()]));
    let four = found("% x\n6 2 4 1289241911.72836\n").unwrap();
    assert_eq!(four.property_names, ["weight", "timestamp"]);
    assert_eq!(found("7\n8\n").unwrap().columns, 1);
    for other in ["", "# only a comment", "from,type,to\na,b,c\n", "a b\nc d\n1 2\n", "1 b\n"] {
        assert_eq!(found(other), None, "{other:?}");
    }
}
