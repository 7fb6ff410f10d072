//! How fast a log is replayed: commits many small transactions without waiting for the disk, opens the database again, and checks that
//! everything is there.
//!
//! `cargo run --release -p tanglewood-transact --example replay -- FOLDER [COMMITS]`; the folder must not exist.
#![allow(clippy::disallowed_methods, missing_docs)]

use model::{Value, VertexId};
use std::path::Path;
use std::sync::Arc;
use tanglewood_transact::{Engine, Mode, OpenOptions, open};
use world::chance::Chance;
use world::clock::monotonic_ns;
use world::disk::{Disk, DiskFile, DiskLock, DiskResult, OpenHow, RealDisk};

/// A real disk whose syncs do nothing: the log is to be long, not safe.
struct Hasty(RealDisk);
struct HastyFile(Box<dyn DiskFile>);

impl Disk for Hasty {
    fn create_dir_all(&self, path: &Path) -> DiskResult<()> {
        self.0.create_dir_all(path)
    }
    fn open(&self, path: &Path, how: OpenHow) -> DiskResult<Box<dyn DiskFile>> {
        Ok(Box::new(HastyFile(self.0.open(path, how)?)))
    }
    fn read_whole(&self, path: &Path) -> DiskResult<Vec<u8>> {
        self.0.read_whole(path)
    }
    fn list(&self, folder: &Path) -> DiskResult<Vec<String>> {
        self.0.list(folder)
    }
    fn rename(&self, from: &Path, to: &Path) -> DiskResult<()> {
        self.0.rename(from, to)
    }
    fn remove(&self, path: &Path) -> DiskResult<()> {
        self.0.remove(path)
    }
    fn sync_dir(&self, _folder: &Path) -> DiskResult<()> {
        Ok(())
    }
    fn exists(&self, path: &Path) -> DiskResult<bool> {
        self.0.exists(path)
    }
    fn is_dir(&self, path: &Path) -> DiskResult<bool> {
        self.0.is_dir(path)
    }
    fn size(&self, path: &Path) -> DiskResult<u64> {
        self.0.size(path)
    }
    fn lock(&self, path: &Path) -> DiskResult<Box<dyn DiskLock>> {
        self.0.lock(path)
    }
}

impl DiskFile for HastyFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> DiskResult<usize> {
        self.0.read_at(buffer, offset)
    }
    fn write_at(&self, bytes: &[u8], offset: u64) -> DiskResult<()> {
        self.0.write_at(bytes, offset)
    }
    fn append(&self, bytes: &[u8]) -> DiskResult<u64> {
        self.0.append(bytes)
    }
    fn sync(&self) -> DiskResult<()> {
        Ok(())
    }
    fn truncate(&self, length: u64) -> DiskResult<()> {
        self.0.truncate(length)
    }
    fn len(&self) -> DiskResult<u64> {
        self.0.len()
    }
}

/// Two in five make a vertex, two an edge, one sets a property.
fn write(engine: &Engine, chance: &mut Chance, vertices: &mut Vec<VertexId>) {
    let t = engine.begin(Mode::Write);
    let pick = |chance: &mut Chance| vertices[chance.below(vertices.len() as u64) as usize];
    match chance.below(5) {
        2 | 3 if !vertices.is_empty() => {
            let (a, b) = (pick(chance), pick(chance));
            let properties = vec![(t.key("at").unwrap(), Value::Int(chance.below(1 << 40) as i64))];
            t.create_edge(a, b, t.edge_type("KNOWS").unwrap(), properties).unwrap();
        }
        4 if !vertices.is_empty() => {
            let value = Value::Int(chance.below(1_000) as i64);
            t.set_property(pick(chance), t.key("age").unwrap(), value).unwrap();
        }
        _ => {
            let name = format!("name {}", chance.below(1_000));
            let properties = vec![
                (t.key("id").unwrap(), Value::Int(vertices.len() as i64)),
                (t.key("name").unwrap(), name.as_str().into()),
            ];
            vertices.push(t.create_vertex(&[t.label("Person").unwrap()], properties).unwrap());
        }
    }
    t.commit().unwrap();
}

fn main() {
    let folder = std::env::args().nth(1).expect("a folder that does not exist");
    let commits: usize = std::env::args().nth(2).map_or(1_000_000, |text| text.parse().unwrap());
    let disk: Arc<dyn Disk> = Arc::new(Hasty(RealDisk));
    let path = Path::new(&folder);
    let began = monotonic_ns();
    let (engine, _) = open(Some((disk.clone(), path)), &OpenOptions::default()).unwrap();
    let (mut chance, mut vertices) = (Chance::seeded(1), Vec::new());
    (0..commits).for_each(|_| write(&engine, &mut chance, &mut vertices));
    let (bytes, commit_version) = (engine.log_bytes(), engine.snapshot().commit_version());
    let counts = |engine: &Engine| {
        let snapshot = engine.snapshot();
        (snapshot.commit_version(), snapshot.statistics().vertices(), snapshot.statistics().edges())
    };
    let wanted = counts(&engine);
    let took = (monotonic_ns() - began) as f64 / 1e9;
    println!(
        "{commits} commits in {took:.1} s without waiting for the disk, {bytes} bytes of log, version {commit_version}"
    );
    drop(engine);
    let began = monotonic_ns();
    let (engine, report) = open(Some((disk, path)), &OpenOptions::default()).unwrap();
    let took = (monotonic_ns() - began) as f64 / 1e9;
    assert_eq!((counts(&engine), report.replayed), (wanted, commits as u64));
    println!("replayed {} commits in {took:.2} s: {:.0} a second", report.replayed, commits as f64 / took);
}
