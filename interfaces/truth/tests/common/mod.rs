//! A PostgreSQL of the test's own: in a temporary folder, reached by a socket in it, run by a user other than root.

use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tanglewood_truth::PostgresTruth;

/// Where Debian puts the server's programs; others have them in PATH.
const FOLDERS: [&str; 5] = [
    "/usr/lib/postgresql/15/bin/",
    "/usr/lib/postgresql/16/bin/",
    "/usr/lib/postgresql/17/bin/",
    "/usr/local/bin/",
    "",
];

pub struct Server {
    bin: String,
    folder: String,
    process: Child,
    settings: Vec<String>,
}

/// A command, as another user where this one is root: the server refuses to be run by root.
fn command(program: &str) -> Command {
    let root = Command::new("id").arg("-u").output().is_ok_and(|out| out.stdout == b"0\n");
    let mut command = if root { Command::new("setpriv") } else { Command::new(program) };
    if root {
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", program]);
    }
    command.current_dir("/").stderr(Stdio::null());
    command
}

fn run(bin: &str, folder: &str, more: &[String]) -> Child {
    command(&format!("{bin}postgres"))
        .args(["-D", &format!("{folder}/data"), "-k", folder, "-c", "listen_addresses="])
        .args(more.iter().flat_map(|setting| ["-c", setting]))
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

impl Server {
    /// Starts one; nothing, with a word, where PostgreSQL is not installed.
    pub fn start() -> Option<Server> {
        let found = FOLDERS.iter().find(|folder| {
            Command::new(format!("{folder}initdb"))
                .arg("--version")
                .output()
                .is_ok_and(|out| out.status.success())
        });
        let Some(bin) = found else {
            println!("PostgreSQL is not installed (Debian: apt-get install postgresql): passed over");
            return None;
        };
        let made = command("mktemp").args(["-d", "/tmp/tanglewood-truth-XXXXXX"]).output().ok()?;
        let folder = String::from_utf8(made.stdout).ok()?.trim().to_string();
        assert!(!folder.is_empty(), "no temporary folder can be made");
        let data = format!("{folder}/data");
        let made = command(&format!("{bin}initdb"))
            .args(["-D", &data, "-A", "trust", "-U", "tanglewood", "--no-sync"])
            .stdout(Stdio::null())
            .status();
        assert!(made.is_ok_and(|status| status.success()), "initdb failed in {data}");
        let process = run(bin, &folder, &[]);
        let server = Server { bin: bin.to_string(), folder, process, settings: Vec::new() };
        server.await_answer();
        Some(server)
    }
    /// The folder of the server, which is its user's.
    #[allow(dead_code)]
    pub fn folder(&self) -> &str {
        &self.folder
    }
    /// Starts it again with these settings.
    #[allow(dead_code)]
    pub fn set(&mut self, settings: &[String]) {
        self.settings = settings.to_vec();
        self.crash();
    }
    /// Kills the server, without a word to it, and starts it again on what is on disk.
    #[allow(dead_code)]
    pub fn crash(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        // While processes of the old one are left it does not start.
        for _ in 0..100 {
            self.process = run(&self.bin, &self.folder, &self.settings);
            world::threads::sleep(Duration::from_millis(300));
            if self.process.try_wait().unwrap().is_none() {
                break;
            }
        }
        self.await_answer();
    }
    fn await_answer(&self) {
        for _ in 0..600 {
            if PostgresTruth::connect(&self.address()).is_ok() {
                return;
            }
            world::threads::sleep(Duration::from_millis(100));
        }
        panic!("PostgreSQL does not answer in a minute");
    }
    pub fn address(&self) -> String {
        let port = self.settings.iter().find(|setting| setting.starts_with("port="));
        let port = port.map_or("port=5432", String::as_str);
        format!("host={} {port} user=tanglewood dbname=postgres", self.folder)
    }
    #[allow(dead_code)]
    pub fn truth(&self) -> PostgresTruth {
        PostgresTruth::connect(&self.address()).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The program that starts it becomes it, so this is the server itself.
        self.process.kill().ok();
        self.process.wait().ok();
        command("rm").args(["-rf", &self.folder]).status().ok();
    }
}
