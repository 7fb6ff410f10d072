//! PostgreSQL of the cluster's own, where no other database is given: found on the system, in the cluster's folder, reached by a socket in it.
//!
//! It refuses to be run by root; then it is run by the user `nobody`, with the right to pass through the folders above its own.

use super::up::shell;
use database::Error;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use world::clock;

/// Where Debian and others put the server's programs, the newest first; then PATH.
const FOLDERS: [&str; 9] = [
    "/usr/lib/postgresql/18/bin/",
    "/usr/lib/postgresql/17/bin/",
    "/usr/lib/postgresql/16/bin/",
    "/usr/lib/postgresql/15/bin/",
    "/usr/lib/postgresql/14/bin/",
    "/usr/lib/postgresql/13/bin/",
    "/usr/pgsql-17/bin/",
    "/usr/local/bin/",
    "",
];
/// One that has ended is started again so long after its last start.
const AGAIN_AFTER: Duration = Duration::from_millis(500);
/// The user and the group `nobody`.
const NOBODY: &str = "65534";
/// A socket's path may have 107 bytes, its own name included.
const SOCKET_FOLDER_BYTES_MAX: usize = 80;

/// A server that runs until this is dropped.
pub struct Postgres {
    bin: &'static str,
    data: PathBuf,
    sockets: PathBuf,
    process: Child,
    began_ns: u64,
}

fn failed(message: String) -> Error {
    Error::new("Tanglewood.DatabaseError.Cluster.Truth", message)
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|out| out.stdout == b"0\n")
}

/// A command by a user who may run the server.
fn command(program: &str) -> Command {
    let mut command = if is_root() {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"]);
        command.args(["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search", program]);
        command
    } else {
        Command::new(program)
    };
    command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::null());
    command
}

fn find() -> Result<&'static str, Error> {
    let found = FOLDERS.into_iter().find(|folder| {
        let version = Command::new(format!("{folder}initdb")).arg("--version").output();
        version.is_ok_and(|out| out.status.success())
    });
    found.ok_or_else(|| {
        Error::new("Tanglewood.ClientError.Cluster.NoPostgres", "PostgreSQL is not installed")
            .hint("install it (Debian: apt-get install postgresql), or name a database with --truth")
    })
}

impl Postgres {
    /// Starts the server, and makes its data where there is none.
    pub fn start(folder: &Path) -> Result<Postgres, Error> {
        let bin = find()?;
        let home = folder.join("truth");
        let data = home.join("data");
        world::files::create_folder(&home).map_err(|error| failed(error.to_string()))?;
        if is_root() {
            shell("chown", &[&format!("{NOBODY}:{NOBODY}"), &home.display().to_string()])?;
            let enters = command("touch").arg(home.join("mark")).status();
            if !enters.is_ok_and(|status| status.success()) {
                let message =
                    "PostgreSQL does not run as root, and the user nobody cannot enter the cluster's folder";
                return Err(failed(message.to_string()).hint(
                    "choose a folder that all users may enter, run this as another user, or give --truth",
                ));
            }
        }
        if !world::files::exists(&data.join("PG_VERSION")) && !has_data(&data) {
            let initdb = command(&format!("{bin}initdb"))
                .args(["-A", "trust", "-U", "tanglewood", "-E", "UTF8", "--locale", "C", "-D"])
                .arg(&data)
                .status();
            if !initdb.is_ok_and(|status| status.success()) {
                return Err(failed(format!("initdb failed in {}", data.display())));
            }
        }
        let sockets = match home.as_os_str().len() {
            0..=SOCKET_FOLDER_BYTES_MAX => home,
            _ => {
                let mut made = command("mktemp");
                made.args(["-d", "/tmp/tanglewood-XXXXXX"]).stdout(Stdio::piped());
                let made = made.output().map_err(|error| failed(error.to_string()))?;
                PathBuf::from(String::from_utf8_lossy(&made.stdout).trim())
            }
        };
        let process = run(bin, &data, &sockets)?;
        Ok(Postgres { bin, data, sockets, process, began_ns: clock::monotonic_ns() })
    }
    /// How it is reached.
    pub fn address(&self) -> String {
        format!("host={} user=tanglewood dbname=postgres", self.sockets.display())
    }
    /// Its process.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }
    /// Starts it again if it has ended.
    pub fn keep(&mut self) -> Result<(), Error> {
        let is_due = clock::monotonic_ns() > self.began_ns + clock::span_ns(AGAIN_AFTER);
        if is_due && matches!(self.process.try_wait(), Ok(Some(_))) {
            self.began_ns = clock::monotonic_ns();
            self.process = run(self.bin, &self.data, &self.sockets)?;
        }
        Ok(())
    }
}

/// Data of which only another user sees what is in it.
fn has_data(data: &Path) -> bool {
    command("test").arg("-e").arg(data.join("PG_VERSION")).status().is_ok_and(|status| status.success())
}

fn run(bin: &str, data: &Path, sockets: &Path) -> Result<Child, Error> {
    let mut server = command(&format!("{bin}postgres"));
    server.arg("-D").arg(data).arg("-k").arg(sockets).args(["-c", "listen_addresses="]);
    server.spawn().map_err(|error| failed(format!("PostgreSQL cannot be started: {error}")))
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // A fast shutdown: clients are cut off, and what is written is flushed.
        let _ = shell("kill", &["-INT", &self.process.id().to_string()]);
        let _ = self.process.wait();
    }
}
