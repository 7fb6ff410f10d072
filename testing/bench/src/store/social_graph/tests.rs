use super::*;
use database::{Database, ImportOptions};
use world::files::{self, TemporaryFolder};

const SMALL: Shape = Shape {
    persons: 60,
    forums: 40,
    posts: 300,
    comments: 500,
    tags: 90,
    tag_classes: 9,
    places: 30,
    organisations: 20,
    ..SF1
};

fn bytes(folder: &Path) -> Vec<Vec<u8>> {
    let folders = files::list_folder(folder).unwrap();
    let paths = folders.iter().flat_map(|folder| files::list_folder(folder).unwrap());
    paths.map(|path| files::read_bytes(&path).unwrap()).collect()
}

#[test]
fn the_same_seed_writes_the_same_files() {
    let (one, two) = (TemporaryFolder::new("network").unwrap(), TemporaryFolder::new("network").unwrap());
    let counts = write(&SMALL, one.path()).unwrap();
    assert_eq!(counts, write(&SMALL, two.path()).unwrap());
    assert!(bytes(one.path()) == bytes(two.path()));
    write(&Shape { seed: 1, ..SMALL }, two.path()).unwrap();
    assert!(bytes(one.path()) != bytes(two.path()));
}

#[test]
fn every_row_is_imported() {
    let folder = TemporaryFolder::new("network").unwrap();
    let counts = write(&SMALL, folder.path()).unwrap();
    assert_eq!(counts.vertices, 60 + 40 + 300 + 500 + 90 + 9 + 30 + 20);
    let database = Database::open(":memory:", database::Options::default()).unwrap();
    let options = ImportOptions { from: folder.path().to_path_buf(), ..ImportOptions::default() };
    let report = database.import(&options).unwrap();
    assert_eq!((report.vertices, report.edges, report.rejected), (counts.vertices, counts.edges, 0));
}
