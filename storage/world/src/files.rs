//! Files that are not the database's: those that importers read, exporters write, and tests throw away.
//!
//! Nothing here is durable against power loss; a database's own files go through [`crate::disk`].

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};

use crate::chance::Chance;
use crate::disk::{DiskError, DiskResult, FOLDER_MODE};

/// Where systems keep the certificates that they trust.
pub const SYSTEM_CERTIFICATES: [&str; 3] =
    ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"];

/// Bytes read or written at once: large enough that system calls vanish beside parsing, small enough for a second-level cache.
pub const BUFFER_BYTES: usize = 256 * 1024;

fn named<T>(result: io::Result<T>, path: &Path, operation: &'static str) -> DiskResult<T> {
    result.map_err(|error| DiskError::from_io(&error, path, operation))
}

/// A file for buffered reading; `-` is standard input.
pub fn open_reader(path: &Path) -> DiskResult<Box<dyn io::BufRead + Send>> {
    if path == Path::new("-") {
        return Ok(Box::new(BufReader::with_capacity(BUFFER_BYTES, stdin())));
    }
    let file = named(File::open(path), path, "open")?;
    if named(file.metadata(), path, "look up")?.is_dir() {
        return Err(DiskError::from_io(&io::Error::from(io::ErrorKind::IsADirectory), path, "read"));
    }
    Ok(Box::new(BufReader::with_capacity(BUFFER_BYTES, file)))
}

/// A file of which any part may be read at any time, by many at once.
#[derive(Debug)]
pub struct RandomFile {
    file: File,
    size_bytes: u64,
}

impl RandomFile {
    /// Opens a file.
    ///
    /// # Errors
    /// It is not there, or may not be read.
    pub fn open(path: &Path) -> DiskResult<RandomFile> {
        RandomFile::of(named(File::open(path), path, "open")?, path)
    }
    /// Opens a file below a folder, by the rules of [`open_below`].
    ///
    /// # Errors
    /// As there.
    pub fn open_below(folder: &Path, name: &Path) -> DiskResult<RandomFile> {
        RandomFile::of(file_below(folder, name)?, name)
    }
    /// A file that has no name and is gone when it is closed, with the bytes that `write` gives it; in the system's folder for such files.
    ///
    /// # Errors
    /// The disk refuses, or `write` does.
    pub fn nameless(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<RandomFile> {
        let path = std::env::temp_dir();
        let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::TMPFILE;
        let mut file = match openat(CWD, &path, flags, Mode::RUSR | Mode::WUSR) {
            Ok(file) => File::from(file),
            // Not every file system can.
            Err(_) => named_and_removed(&path)?,
        };
        write(&mut file)?;
        let size_bytes = file.metadata()?.len();
        Ok(RandomFile { file, size_bytes })
    }
    fn of(file: File, path: &Path) -> DiskResult<RandomFile> {
        let size_bytes = named(file.metadata(), path, "look up")?.len();
        Ok(RandomFile { file, size_bytes })
    }
    /// Bytes that it had when it was opened.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }
    /// Reads up to `buffer.len()` bytes from this place on; how many, 0 at the end.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(&self.file, buffer, offset)
    }
}

/// A regular file below a folder for buffered reading, whatever its name says: the kernel follows no link, `..` or mount of `/proc` out of the
/// folder, in the same step in which it opens the file. Links that stay below the folder are followed. Errors name the file as it was named.
pub fn open_below(folder: &Path, name: &Path) -> DiskResult<Box<dyn io::BufRead + Send>> {
    Ok(Box::new(BufReader::with_capacity(BUFFER_BYTES, file_below(folder, name)?)))
}

fn file_below(folder: &Path, name: &Path) -> DiskResult<File> {
    let fail = |error: rustix::io::Errno, operation| {
        let error = match error {
            // As the kernel refuses what would leave the folder.
            rustix::io::Errno::XDEV | rustix::io::Errno::LOOP => {
                io::Error::new(io::ErrorKind::PermissionDenied, "it leads out of the folder")
            }
            other => io::Error::from_raw_os_error(other.raw_os_error()),
        };
        DiskError::from_io(&error, name, operation)
    };
    let path = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder =
        openat(CWD, folder, path, Mode::empty()).map_err(|error| fail(error, "open the folder of"))?;
    let file = File::from(beneath(folder, name).map_err(|error| fail(error, "open"))?);
    let kind = named(file.metadata(), name, "look up")?.file_type();
    if !kind.is_file() {
        let what = if kind.is_dir() { io::ErrorKind::IsADirectory } else { io::ErrorKind::InvalidInput };
        return Err(DiskError::from_io(&io::Error::from(what), name, "read"));
    }
    Ok(file)
}

/// A new file in a folder, whose name is taken away at once.
fn named_and_removed(folder: &Path) -> io::Result<File> {
    let mut chance = Chance::from_system();
    let path = folder.join(format!("tanglewood-{:016x}", chance.next_u64()));
    let file = File::options().read(true).write(true).create_new(true).open(&path)?;
    fs::remove_file(&path)?;
    Ok(file)
}

/// Opens without waiting, since a pipe may have no writer.
const READ: OFlags = OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

/// How often a file is tried whose folders others rename meanwhile.
const OPEN_ROUNDS: usize = 16;

fn beneath(folder: OwnedFd, name: &Path) -> rustix::io::Result<OwnedFd> {
    beneath_by(folder, name, by_kernel)
}

fn by_kernel(folder: &OwnedFd, name: &Path) -> rustix::io::Result<OwnedFd> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    openat2(folder, name, READ, Mode::empty(), resolve)
}

/// `kernel` makes one try and returns the kernel's answer.
fn beneath_by(
    folder: OwnedFd,
    name: &Path,
    kernel: impl Fn(&OwnedFd, &Path) -> rustix::io::Result<OwnedFd>,
) -> rustix::io::Result<OwnedFd> {
    // The kernel gives up where names are changed under its feet.
    let opened = (0..OPEN_ROUNDS)
        .map(|_| kernel(&folder, name))
        .find(|opened| !matches!(opened, Err(rustix::io::Errno::AGAIN)));
    match opened.unwrap_or(Err(rustix::io::Errno::AGAIN)) {
        Err(rustix::io::Errno::NOSYS | rustix::io::Errno::PERM) => step_by_step(folder, name),
        outcome => outcome,
    }
}

/// Where the kernel is older, or a sandbox hides the call: one name after the other, and no links at all.
fn step_by_step(mut folder: OwnedFd, name: &Path) -> rustix::io::Result<OwnedFd> {
    let names: Vec<&OsStr> = name
        .components()
        .filter(|part| *part != Component::CurDir)
        .map(|part| match part {
            Component::Normal(name) => Ok(name),
            _ => Err(rustix::io::Errno::XDEV),
        })
        .collect::<Result<_, _>>()?;
    let Some((last, above)) = names.split_last() else { return Err(rustix::io::Errno::ISDIR) };
    for name in above {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        folder = openat(&folder, *name, flags, Mode::empty())?;
    }
    openat(&folder, *last, READ | OFlags::NOFOLLOW, Mode::empty())
}

/// A new or emptied file for buffered writing; `-` is standard output. Flush it, or the last error is lost.
pub fn create_writer(path: &Path) -> DiskResult<Box<dyn Write + Send>> {
    if path == Path::new("-") {
        return Ok(Box::new(BufWriter::with_capacity(BUFFER_BYTES, io::stdout())));
    }
    let file = named(File::create(path), path, "create")?;
    Ok(Box::new(BufWriter::with_capacity(BUFFER_BYTES, file)))
}

/// A file that is written at its end, made for its owner alone where there is none. Every write goes to the system at once.
pub fn open_appending(path: &Path) -> DiskResult<Box<dyn Write + Send>> {
    use std::os::unix::fs::OpenOptionsExt;
    let file = File::options().append(true).create(true).mode(0o600).open(path);
    Ok(Box::new(named(file, path, "append to")?))
}

/// Prints a line to standard error. Where that is closed, nothing happens: a closed pipe must not end the process, as `eprintln!` would.
pub fn say(line: impl std::fmt::Display) {
    let text = format!("{line}\n");
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Standard error, not buffered.
#[must_use]
pub fn stderr() -> Box<dyn Write + Send> {
    Box::new(io::stderr())
}

/// Standard input.
#[must_use]
pub fn stdin() -> Box<dyn Read + Send> {
    Box::new(io::stdin())
}

/// Standard output.
#[must_use]
pub fn stdout() -> Box<dyn Write + Send> {
    Box::new(io::stdout())
}

/// The bytes of a file.
pub fn read_bytes(path: &Path) -> DiskResult<Vec<u8>> {
    named(fs::read(path), path, "read")
}

/// The text of a file, which must be UTF-8.
pub fn read_text(path: &Path) -> DiskResult<String> {
    named(fs::read_to_string(path), path, "read")
}

/// Writes a file, replacing its content.
pub fn write_bytes(path: &Path, bytes: &[u8]) -> DiskResult<()> {
    named(fs::write(path, bytes), path, "write")
}

/// Removes a file.
pub fn remove_file(path: &Path) -> DiskResult<()> {
    named(fs::remove_file(path), path, "remove")
}

/// Removes a folder that holds nothing.
pub fn remove_empty_folder(path: &Path) -> DiskResult<()> {
    named(fs::remove_dir(path), path, "remove folder")
}

/// Creates a folder and the missing ones above it, for their owner alone.
pub fn create_folder(path: &Path) -> DiskResult<()> {
    create_own_folder(path)
}

/// A folder that only its owner may enter.
fn create_own_folder(path: &Path) -> DiskResult<()> {
    named(DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(path), path, "create folder")
}

/// The entries of a folder, as full paths, sorted.
pub fn list_folder(path: &Path) -> DiskResult<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in named(fs::read_dir(path), path, "list")? {
        paths.push(named(entry, path, "list")?.path());
    }
    paths.sort_unstable();
    Ok(paths)
}

/// Whether the path names a folder.
#[must_use]
pub fn is_folder(path: &Path) -> bool {
    path.is_dir()
}

/// Whether the path names a file or folder.
#[must_use]
pub fn exists(path: &Path) -> bool {
    path.exists()
}

/// Length of a file in bytes.
pub fn size_bytes(path: &Path) -> DiskResult<u64> {
    Ok(named(fs::metadata(path), path, "look up")?.len())
}

/// A fresh folder under the system's place for temporary files; removed with all it holds when dropped.
#[derive(Debug)]
pub struct TemporaryFolder {
    path: PathBuf,
}

impl TemporaryFolder {
    /// Creates one; `purpose` becomes part of its name.
    pub fn new(purpose: &str) -> DiskResult<Self> {
        Self::inside(&std::env::temp_dir(), purpose)
    }

    /// Creates one inside a folder of the caller's choice, on the disk that is to be measured for instance.
    pub fn inside(folder: &Path, purpose: &str) -> DiskResult<Self> {
        let number = Chance::from_system().next_u64();
        let path = folder.join(format!("tanglewood-{purpose}-{number:016x}"));
        create_own_folder(&path)?;
        Ok(Self { path })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        // Nothing depends on it being gone, and a destructor has nobody to tell.
        let _ = fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_temporary_folder_holds_files_and_goes_away() {
        let folder = TemporaryFolder::new("files-test").unwrap();
        let (path, kept) = (folder.path().join("a.csv"), folder.path().to_path_buf());
        let mut writer = create_writer(&path).unwrap();
        writer.write_all(b"id\n1\n").unwrap();
        writer.flush().unwrap();
        let mut text = String::new();
        open_reader(&path).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!((text.as_str(), size_bytes(&path).unwrap()), ("id\n1\n", 5));
        assert_eq!(list_folder(folder.path()).unwrap(), std::slice::from_ref(&path));
        drop(folder);
        assert!(!exists(&kept));
        assert_eq!(read_text(&path), Err(DiskError::NotFound { path }));
    }

    #[test]
    fn a_folder_is_not_a_file() {
        let folder = TemporaryFolder::new("files-test").unwrap();
        assert!(open_reader(folder.path()).is_err());
        assert!(matches!(open_reader(&folder.path().join("none")), Err(DiskError::NotFound { .. })));
    }

    #[test]
    fn files_are_written_added_to_read_listed_and_removed() {
        use std::os::unix::fs::PermissionsExt;
        let folder = TemporaryFolder::new("files-test").unwrap();
        let below = folder.path().join("one/two");
        create_folder(&below).unwrap();
        assert!(is_folder(&below) && exists(&below) && !exists(&below.join("a")));
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&below), FOLDER_MODE);
        let path = below.join("b");
        write_bytes(&path, b"first").unwrap();
        write_bytes(&path, b"one").unwrap();
        let mut end = open_appending(&path).unwrap();
        end.write_all(b" and two").unwrap();
        open_appending(&below.join("a")).unwrap().write_all(&[0xff]).unwrap();
        assert_eq!(mode(&below.join("a")), 0o600);
        assert_eq!(
            (read_bytes(&path).unwrap(), read_text(&path).unwrap()),
            (b"one and two".to_vec(), "one and two".into())
        );
        assert!(read_text(&below.join("a")).is_err(), "it is no UTF-8");
        assert_eq!((size_bytes(&path).unwrap(), size_bytes(&below.join("a")).unwrap()), (11, 1));
        assert_eq!(list_folder(&below).unwrap(), [below.join("a"), path.clone()]);
        assert!(!is_folder(&path) && remove_empty_folder(&below).is_err());
        remove_file(&path).unwrap();
        remove_file(&below.join("a")).unwrap();
        assert!(matches!(remove_file(&path), Err(DiskError::NotFound { .. })));
        assert_eq!(list_folder(&below).unwrap(), Vec::<PathBuf>::new());
        remove_empty_folder(&below).unwrap();
        assert!(!exists(&below) && list_folder(&below).is_err() && size_bytes(&below).is_err());
    }

    /// Files that may be opened below a folder, by the kernel and step by step; the second follows no link at all.
    #[test]
    fn only_what_lies_below_a_folder_is_opened_there() {
        use std::os::unix::fs::symlink;
        let outside = TemporaryFolder::new("files-test").unwrap();
        let folder = outside.path().join("import");
        create_folder(&folder.join("d/e")).unwrap();
        for (name, text) in [("secret", "no"), ("import/a", "a"), ("import/d/b", "b"), ("import/d/e/c", "c")]
        {
            write_bytes(&outside.path().join(name), text.as_bytes()).unwrap();
        }
        let link = |to: &str, name: &str| symlink(to, folder.join(name)).unwrap();
        link("d/b", "inner");
        link("../secret", "outer");
        link("/etc", "etc");
        link("d", "folder");
        link("round", "round");
        let cases: [(&str, Option<&str>, bool); 14] = [
            ("a", Some("a"), true),
            ("d/b", Some("b"), true),
            ("d/e/c", Some("c"), true),
            ("inner", Some("b"), false),
            ("folder/b", Some("b"), false),
            ("./a", Some("a"), true),
            ("d/../a", Some("a"), false),
            ("outer", None, false),
            ("etc/passwd", None, false),
            ("../secret", None, false),
            ("/etc/passwd", None, false),
            ("round", None, false),
            ("none", None, false),
            ("a/b", None, false),
        ];
        for (name, expected, by_steps) in cases {
            let name = Path::new(name);
            let read = |opened: DiskResult<Box<dyn io::BufRead + Send>>| {
                let mut text = String::new();
                opened.ok()?.read_to_string(&mut text).ok()?;
                Some(text)
            };
            assert_eq!(read(open_below(&folder, name)).as_deref(), expected, "{name:?}");
            let random = RandomFile::open_below(&folder, name).ok();
            assert_eq!(random.as_ref().map(RandomFile::size_bytes), expected.map(|text| text.len() as u64));
            let stepped = step_by_step(root_of(&folder), name).ok().map(File::from);
            let text = stepped.and_then(|file| read(Ok(Box::new(BufReader::new(file)))));
            match by_steps {
                true => assert_eq!(text.as_deref(), expected, "{name:?}"),
                false => assert!(text.is_none() || text.as_deref() == expected, "{name:?} gives {text:?}"),
            }
        }
        for folderish in ["d", "d/e", "."] {
            let error = open_below(&folder, Path::new(folderish)).err().unwrap();
            assert!(error.to_string().contains("directory"), "{error}");
        }
        let told = open_below(&folder, Path::new("outer")).err().unwrap().to_string();
        assert!(told.contains("it leads out of the folder") && told.contains("outer"), "{told}");
        assert!(!told.contains(&*folder.display().to_string()), "{told}");
        assert!(matches!(open_below(&folder.join("none"), Path::new("a")), Err(DiskError::NotFound { .. })));
    }

    fn root_of(folder: &Path) -> OwnedFd {
        openat(CWD, folder, OFlags::PATH | OFlags::DIRECTORY, Mode::empty()).unwrap()
    }

    /// The kernel may be older, or hide the call, or give up because names change: no answer of it may be taken for another one.
    #[test]
    fn what_the_kernel_does_not_answer_is_tried_again_or_step_by_step() {
        use rustix::io::Errno;
        use std::cell::Cell;
        let folder = TemporaryFolder::new("files-test").unwrap();
        write_bytes(&folder.path().join("a"), b"a").unwrap();
        std::os::unix::fs::symlink("a", folder.path().join("link")).unwrap();
        // Fails so often with this, and then looks.
        let tried = |name: &str, error: Errno, failures: usize| {
            let tries = Cell::new(0);
            let opened = beneath_by(root_of(folder.path()), Path::new(name), |folder, name| {
                tries.set(tries.get() + 1);
                if tries.get() <= failures { Err(error) } else { by_steps(folder, name) }
            });
            (opened.map(drop), tries.get())
        };
        for failures in 0..OPEN_ROUNDS {
            assert_eq!(tried("a", Errno::AGAIN, failures), (Ok(()), failures + 1));
        }
        assert_eq!(tried("a", Errno::AGAIN, OPEN_ROUNDS), (Err(Errno::AGAIN), OPEN_ROUNDS));
        for hidden in [Errno::NOSYS, Errno::PERM] {
            assert_eq!(tried("a", hidden, usize::MAX), (Ok(()), 1));
            assert_eq!(tried("none", hidden, usize::MAX), (Err(Errno::NOENT), 1));
            assert_eq!(tried("link", hidden, usize::MAX), (Err(Errno::LOOP), 1));
        }
        for answer in [Errno::XDEV, Errno::LOOP, Errno::NOENT, Errno::ACCESS, Errno::NOTDIR, Errno::MFILE] {
            assert_eq!(tried("a", answer, usize::MAX), (Err(answer), 1));
        }
    }

    fn by_steps(folder: &OwnedFd, name: &Path) -> rustix::io::Result<OwnedFd> {
        step_by_step(folder.try_clone().unwrap(), name)
    }

    /// Random folders full of links, and random names in them: the kernel opens the file that a walk by hand reaches, and the steps the one that it
    /// reaches without a link.
    #[test]
    fn what_is_opened_below_a_folder_is_what_a_walk_by_hand_comes_to() {
        let seed = Chance::system_seed();
        println!("seed {seed}");
        let mut chance = Chance::seeded(seed);
        let mut opened = [0; 3];
        let mut folders = 0;
        // As many as it takes until the kernel has opened what is behind links.
        while folders < 8 || (folders < 64 && opened[1] <= 20 && opened[2] == 0) {
            folders += 1;
            let outside = TemporaryFolder::new("files-test").unwrap();
            write_bytes(&outside.path().join("a"), b"outside").unwrap();
            let folder = outside.path().join("import");
            create_folder(&folder).unwrap();
            let mut tree = Tree::default();
            (0..60).for_each(|at| tree.grow(&folder, at, &mut chance));
            compare(&folder, &tree, &mut chance, &mut opened);
        }
        assert!(opened[0] > 20 && (opened[1] > 20 || opened[2] > 0), "{opened:?}");
    }

    /// Asks for many names; counts those that were opened by steps, those that only the kernel opens, and those that it did not answer.
    fn compare(folder: &Path, tree: &Tree, chance: &mut Chance, opened: &mut [usize; 3]) {
        for _ in 0..300 {
            let name = some_name(chance);
            let is_stepped = tree.walk(&name, false).is_some();
            for (links, open) in [(true, by_kernel as Opener), (false, by_steps)] {
                let found = open(&root_of(folder), Path::new(&name)).map(File::from);
                if links && matches!(found, Err(rustix::io::Errno::NOSYS | rustix::io::Errno::PERM)) {
                    opened[2] += 1;
                    continue;
                }
                let text = found.ok().filter(|file| file.metadata().is_ok_and(|file| file.is_file()));
                let text = text.map(|mut file| {
                    let mut text = String::new();
                    file.read_to_string(&mut text).unwrap();
                    text
                });
                let wanted = tree.walk(&name, links);
                assert_eq!(text, wanted, "{name}, links {links}, {tree:?}");
                opened[usize::from(links)] += usize::from(wanted.is_some() && links != is_stepped);
            }
        }
    }

    type Opener = fn(&OwnedFd, &Path) -> rustix::io::Result<OwnedFd>;

    const NAMES: [&str; 4] = ["a", "b", "c", "d"];

    fn some_name(chance: &mut Chance) -> String {
        let parts = (0..1 + chance.below(4)).map(|_| match chance.below(9) {
            0 => "..",
            1 => ".",
            _ => NAMES[chance.index(NAMES.len())],
        });
        parts.collect::<Vec<_>>().join("/")
    }

    #[derive(Debug)]
    enum Entry {
        Folder,
        File(String),
        Link(String),
    }

    /// The entries below a folder, by their paths there.
    #[derive(Debug, Default)]
    struct Tree(std::collections::BTreeMap<Vec<String>, Entry>);

    impl Tree {
        /// A folder, a file or a link more, unless there is something already.
        fn grow(&mut self, root: &Path, at: usize, chance: &mut Chance) {
            let folders = self.0.iter().filter(|(_, entry)| matches!(entry, Entry::Folder));
            let folders: Vec<&Vec<String>> = folders.map(|(path, _)| path).collect();
            let mut path = match chance.index(folders.len() + 1) {
                0 => Vec::new(),
                other => folders[other - 1].clone(),
            };
            path.push(NAMES[chance.index(NAMES.len())].to_string());
            if self.0.contains_key(&path) {
                return;
            }
            let real = path.iter().fold(root.to_path_buf(), |real, part| real.join(part));
            let entry = match chance.below(5) {
                0 | 1 => Entry::Folder,
                2 => Entry::File(at.to_string()),
                3 => Entry::Link(some_name(chance)),
                _ => Entry::Link(root.join(some_name(chance)).display().to_string()),
            };
            match &entry {
                Entry::Folder => create_folder(&real).unwrap(),
                Entry::File(text) => write_bytes(&real, text.as_bytes()).unwrap(),
                Entry::Link(to) => std::os::unix::fs::symlink(to, &real).unwrap(),
            }
            self.0.insert(path, entry);
        }
        /// The text of the file that a name comes to, without ever leaving.
        fn walk(&self, name: &str, links: bool) -> Option<String> {
            if !links && name.split('/').any(|part| part == "..") {
                return None;
            }
            // The steps know a name as a path, in which `.` is nothing.
            let parts = name.split('/').rev().filter(|part| links || *part != ".");
            let mut left: Vec<String> = parts.map(String::from).collect();
            let (mut path, mut followed) = (Vec::new(), 0);
            while let Some(part) = left.pop() {
                let is_folder = path.is_empty() || matches!(self.0.get(&path), Some(Entry::Folder));
                match part.as_str() {
                    _ if !is_folder => return None,
                    "." => continue,
                    ".." => drop(path.pop()?),
                    _ => path.push(part),
                }
                if let Some(Entry::Link(to)) = self.0.get(&path) {
                    followed += 1;
                    if !links || to.starts_with('/') || followed > 40 {
                        return None;
                    }
                    path.pop();
                    left.extend(to.split('/').rev().map(String::from));
                }
            }
            match self.0.get(&path)? {
                Entry::File(text) => Some(text.clone()),
                _ => None,
            }
        }
    }

    /// Opening a pipe without a writer would block for ever.
    #[test]
    fn a_pipe_is_refused_at_once() {
        let folder = TemporaryFolder::new("files-test").unwrap();
        let pipe = folder.path().join("pipe");
        rustix::fs::mknodat(CWD, &pipe, rustix::fs::FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        assert!(open_below(folder.path(), Path::new("pipe")).is_err());
        assert!(RandomFile::open_below(folder.path(), Path::new("pipe")).is_err());
        let stepped = File::from(by_steps(&root_of(folder.path()), Path::new("pipe")).unwrap());
        assert!(!stepped.metadata().unwrap().is_file());
    }

    #[test]
    fn any_part_of_a_file_is_read_at_any_time() {
        let folder = TemporaryFolder::new("files-test").unwrap();
        let bytes = Chance::seeded(5).bytes(5_000);
        let path = folder.path().join("x");
        write_bytes(&path, &bytes).unwrap();
        let nameless = RandomFile::nameless(|file| file.write_all(&bytes)).unwrap();
        let mut removed = named_and_removed(folder.path()).unwrap();
        removed.write_all(&bytes).unwrap();
        let removed = RandomFile::of(removed, &path).unwrap();
        assert_eq!(
            list_folder(folder.path()).unwrap(),
            std::slice::from_ref(&path),
            "it has no name any more"
        );
        for file in [RandomFile::open(&path).unwrap(), nameless, removed] {
            assert_eq!(file.size_bytes(), 5_000);
            for offset in [0, 1, 4_096, 4_999, 5_000, 9_999] {
                let mut buffer = [0; 64];
                let count = file.read_at(offset, &mut buffer).unwrap();
                let rest = bytes.get(offset as usize..).unwrap_or(&[]);
                assert_eq!(buffer[..count], rest[..rest.len().min(64)]);
            }
        }
        assert!(RandomFile::nameless(|_| Err(io::ErrorKind::StorageFull.into())).is_err());
        assert!(matches!(RandomFile::open(&folder.path().join("none")), Err(DiskError::NotFound { .. })));
    }
}
