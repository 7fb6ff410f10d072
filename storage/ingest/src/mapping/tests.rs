use super::*;
use world::files::{TemporaryFolder, write_bytes};

#[test]
fn flags_name_labels_files_and_columns() {
    let nodes = nodes_flag("Person:Employee=s3://a/people.csv:id").unwrap();
    assert_eq!(nodes.labels(), ["Person", "Employee"]);
    assert_eq!((nodes.file.to_str().unwrap(), nodes.id.as_deref()), ("s3://a/people.csv", Some("id")));
    let edges = edges_flag("KNOWS=a,b.csv:from:Person,to:City").unwrap();
    assert_eq!((edges.edge_type.as_str(), edges.file.to_str().unwrap()), ("KNOWS", "a,b.csv"));
    assert_eq!((edges.from.column.as_str(), edges.from.label.as_str()), ("from", "Person"));
    assert_eq!((edges.to.column.as_str(), edges.to.label.as_str()), ("to", "City"));
    for wrong in ["", "Person", "Person=people.csv", "=people.csv:id", "Person=:id", "Person=people.csv:"] {
        assert!(nodes_flag(wrong).unwrap_err().contains("Person=people.csv:id"), "{wrong}");
    }
    for wrong in ["KNOWS=f.csv", "KNOWS=f.csv:a:A", "KNOWS=f.csv:a:A,b", "=f.csv:a:A,b:B", "K=:a:A,b:B"] {
        assert!(edges_flag(wrong).is_err(), "{wrong}");
    }
}

/// Nesting below, at and above the limit of the TOML reader, and far beyond it.
#[test]
fn a_mapping_of_any_nesting_is_read_or_refused() {
    let folder = TemporaryFolder::new("mapping").unwrap();
    let path = folder.path().join("m.toml");
    for depth in [1, 2, 78, 79, 80, 81, 82, 5_000, 100_000] {
        let lists = format!("nodes = {}{}\n", "[".repeat(depth), "]".repeat(depth));
        let tables = format!("nodes = {}a = 1{}\n", "{ a = ".repeat(depth), " }".repeat(depth));
        let dotted = format!("nodes{} = 1\n", ".a".repeat(depth));
        let heads = format!("[[nodes{}]]\na = 1\n", ".a".repeat(depth));
        for (form, text) in [("lists", lists), ("tables", tables), ("dotted keys", dotted), ("heads", heads)]
        {
            write_bytes(&path, text.as_bytes()).unwrap();
            let told = Mapping::read(&path, None).unwrap_err().to_string();
            assert!(told.contains("m.toml"), "{form}, {depth} deep: {told:.300}");
            let is_deep = told.contains("nested deeper than 80; a mapping needs three");
            assert!(
                is_deep == (depth > 82) || (79..=82).contains(&depth),
                "{form}, {depth} deep: {told:.300}"
            );
        }
    }
}

#[test]
fn a_mapping_says_where_it_is_wrong() {
    let folder = TemporaryFolder::new("mapping").unwrap();
    let path = folder.path().join("m.toml");
    let read = |text: &str| {
        write_bytes(&path, text.as_bytes()).unwrap();
        Mapping::read(&path, None).map_err(|error| error.to_string())
    };
    let mapping = read(
        "[[nodes]]\nfile = 'p.csv'\nlabel = 'Person'\nid = 'id'\n\
         columns = { a = { type = 'int' }, b = 'c', d = false }\n\
         [[edges]]\nfile = 'f.csv'\ntype = 'KNOWS'\nfrom = { column = 'x', label = 'Person' }\n\
         to = { column = 'y', label = 'Person' }\n",
    )
    .unwrap();
    assert_eq!(mapping.files(), [folder.path().join("p.csv"), folder.path().join("f.csv")]);
    assert_eq!(mapping.nodes[0].columns["d"], MappedColumn::Kept(false));
    let says = |text: &str, part: &str| {
        let error = read(text).unwrap_err();
        assert!(error.contains(part), "{error}");
    };
    says("[[nodes]]\nfile = 'p.csv'\nlable = 'Person'\n", "m.toml:3:1: unknown field `lable`");
    says("[[nodes]\n", "m.toml:1:");
    says("", "names neither");
    says("[[nodes]]\nfile = 'p.csv'\n", "have no label");
}
