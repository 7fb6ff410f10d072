//! Running the command as a user does.
#![allow(dead_code, reason = "each test file uses a part")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use world::files::TemporaryFolder;

/// The built binary.
pub const TANGLEWOOD: &str = env!("CARGO_BIN_EXE_tanglewood");

/// What came of a command.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Ran {
    /// Its output, if it went well.
    #[track_caller]
    pub fn ok(self) -> String {
        assert_eq!(self.code, 0, "{}{}", self.out, self.err);
        self.out
    }
    /// What it complained about, if it failed with this exit code.
    #[track_caller]
    pub fn failed(self, code: i32) -> String {
        assert_eq!(self.code, code, "{}{}", self.out, self.err);
        self.err
    }
}

/// The command, ready to be run in `folder`.
pub fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(TANGLEWOOD);
    command.args(arguments).current_dir(folder).env("TMPDIR", folder).env_remove("NO_COLOR");
    command
}

/// A folder to run commands in.
pub struct Place {
    folder: TemporaryFolder,
}

impl Place {
    pub fn new() -> Place {
        Place { folder: TemporaryFolder::new("test").unwrap() }
    }
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
    /// Writes a file, with the folders above it.
    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }
    pub fn run(&self, arguments: &[&str]) -> Ran {
        self.run_with_input(arguments, "")
    }
    pub fn run_with_input(&self, arguments: &[&str], input: &str) -> Ran {
        let mut command = command(self.path(), arguments);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // A command that failed early does not read.
        let _ = stdin.write_all(input.as_bytes());
        drop(stdin);
        let output = child.wait_with_output().unwrap();
        Ran {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// Two persons, one friendship.
pub fn people(place: &Place) {
    place.file("people/Person.csv", "id:ID(Person),name,age:int\n1,Ada,36\n2,Charles,41\n");
    place.file("people/KNOWS.csv", ":START_ID(Person),:END_ID(Person),since:int\n1,2,1833\n");
    place.run(&["import", "people.db", "--from", "people"]).ok();
}
