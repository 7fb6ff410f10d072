//! One page run from top to bottom, in a folder of its own.
//!
//! Lines of shell blocks run one by one under bash. `tanglewood serve` goes on beside what follows, until something needs the database
//! for itself; it is begun again for the next client. Blocks of a query language go through the library. Ports of the page are replaced
//! by free ones, so that pages run beside each other and beside servers of the machine.

use super::blocks::{Block, matches};
use super::support::TANGLEWOOD;
use database::gremlin::GremlinOptions;
use database::{Database, Options, Params};
use shell::{Format, Look, Style, print_objects, print_result};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use world::files::TemporaryFolder;

/// The ports that the pages name: Bolt's, that of Gremlin Server, those of Kronos, and that of HTTP.
const PORTS: [&str; 7] = ["7687", "8182", "7700", "7701", "7702", "7703", "7474"];
/// How long a server may take to listen, or to end.
const SERVER_TIME: Duration = Duration::from_secs(60);
/// Rows come from a subscription at once, or not at all.
const SUBSCRIPTION_TIME: Duration = Duration::from_millis(500);
/// Commands that use a database which a server has open.
const BESIDE_A_SERVER: [&str; 4] = ["backup", "version", "help", "bench"];

/// The state of one page's run.
pub struct Story {
    folder: TemporaryFolder,
    ports: [String; PORTS.len()],
    /// The last command line of `tanglewood serve`, and the process if it runs.
    server: Option<(String, Option<Child>)>,
    /// Processes of `tanglewood kronos`, by the address they listen on. They run until the page ends, or their address is taken over.
    ordering: Vec<(String, Child)>,
    database: Option<Database>,
    database_path: String,
    params: Params,
    input: String,
    output: String,
    /// True after a block whose requirements are missing; its output is not compared either.
    is_passed_over: bool,
}

impl Story {
    pub fn new() -> Story {
        let folder = TemporaryFolder::new("guide").unwrap();
        let bin = folder.path().join(".bin");
        std::fs::create_dir_all(&bin).unwrap();
        std::os::unix::fs::symlink(TANGLEWOOD, bin.join("tanglewood")).unwrap();
        Story {
            folder,
            ports: PORTS.map(|_| free_port()),
            server: None,
            ordering: Vec::new(),
            database: None,
            database_path: "people.db".to_string(),
            params: Params::new(),
            input: String::new(),
            output: String::new(),
            is_passed_over: false,
        }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Runs a block.
    ///
    /// # Errors
    /// Its result differs from the page.
    pub fn run(&mut self, block: &Block) -> Result<(), String> {
        let code = self.mapped(&block.code);
        if let Some(name) = block.words.split(' ').find_map(|word| word.strip_prefix("file=")) {
            return self.file(name, &code);
        }
        let is_output = block.language == "text" && block.has("output");
        self.is_passed_over &= is_output;
        match (block.language.as_str(), block.hidden) {
            ("sh", _) => self.shell(&code, block.has("fails")),
            ("cypher" | "datalog" | "gremlin", _) => self.query(&code, block),
            _ if is_output && self.is_passed_over => Ok(()),
            _ if is_output => self.shown(&block.code),
            ("text", false) if block.has("session") => self.session(&block.code),
            ("python", _) => self.python(&code),
            ("js", _) => self.javascript(&code),
            // The doctests of src/lib.rs run them.
            ("rust" | "rust,no_run", false) => Ok(()),
            ("database", true) => {
                self.let_go()?;
                self.database_path = code.trim().to_string();
                Ok(())
            }
            ("params", true) => {
                self.params = shell::params::params_from_json(&code)?;
                Ok(())
            }
            ("input", true) => {
                self.input = code;
                Ok(())
            }
            ("certificate", true) => self.certificate(),
            (language, _) => Err(format!(
                "a block of `{language} {}` is not known here: `tests/guide.rs` says which are",
                block.words
            )),
        }
    }

    fn file(&self, name: &str, text: &str) -> Result<(), String> {
        let path = self.path().join(name);
        let made = std::fs::create_dir_all(path.parent().unwrap_or(self.path()));
        made.and_then(|()| std::fs::write(path, text)).map_err(|error| format!("{name}: {error}"))
    }

    fn certificate(&self) -> Result<(), String> {
        let made = rcgen::generate_simple_self_signed(["localhost".to_string()]).unwrap();
        self.file("server.pem", &made.cert.pem())?;
        self.file("server.key", &made.signing_key.serialize_pem())
    }

    /// A text with the ports that are ours.
    fn mapped(&self, text: &str) -> String {
        PORTS.iter().zip(&self.ports).fold(text.to_string(), |text, (port, ours)| text.replace(port, ours))
    }

    fn shown(&self, shown: &str) -> Result<(), String> {
        let theirs = |text: String, (port, ours): (&&str, &String)| text.replace(ours.as_str(), port);
        let actual = PORTS.iter().zip(&self.ports).fold(self.output.clone(), theirs);
        matches(shown, &actual).map_err(|fault| format!("{fault}\nthe whole output:\n{actual}"))
    }

    fn shell(&mut self, code: &str, fails: bool) -> Result<(), String> {
        self.output.clear();
        let lines = logical_lines(code);
        let last = lines.len().saturating_sub(1);
        for (at, line) in lines.iter().enumerate() {
            let line = if line.starts_with("cargo ") || line.starts_with("pip ") {
                cargo(line)?
            } else {
                line.clone()
            };
            let word = line.strip_prefix("tanglewood ").and_then(|rest| rest.split(' ').next());
            match word {
                Some("serve") => {
                    self.let_go()?;
                    self.server = Some((line, None));
                    self.serve()?;
                    continue;
                }
                // With --listen it goes on beside what follows, unless it must not.
                Some("kronos") if !(fails && at == last) => {
                    self.order(&line)?;
                    continue;
                }
                Some("kronos") => {}
                Some(command) if !BESIDE_A_SERVER.contains(&command) => self.let_go()?,
                Some(_) => {}
                None => self.serve()?,
            }
            let mut command = self.command("bash");
            command.args(["-ec", &line]);
            let passed = self.outcome(command, &self.input.clone())?;
            if passed == (fails && at == last) {
                return Err(format!("$ {line}\n{}", self.output));
            }
        }
        Ok(())
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", self.path().join(".bin").display()));
        command.current_dir(self.path()).env("TMPDIR", self.path()).env("NO_COLOR", "1");
        command.env("PYTHONPATH", concat!(env!("CARGO_MANIFEST_DIR"), "/interfaces/kronos-python"));
        command.env("PYTHONDONTWRITEBYTECODE", "1");
        command
    }

    /// Runs it, appends to the output, says whether it went well.
    fn outcome(&mut self, mut command: Command, input: &str) -> Result<bool, String> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| error.to_string())?;
        // A command that failed early does not read.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let output = child.wait_with_output().map_err(|error| error.to_string())?;
        self.output += &String::from_utf8_lossy(&output.stdout);
        self.output += &String::from_utf8_lossy(&output.stderr);
        Ok(output.status.success())
    }

    /// Begins the server of the page, if it has one and that does not run.
    fn serve(&mut self) -> Result<(), String> {
        self.database = None;
        let Some((line, None)) = &self.server else { return Ok(()) };
        let line = line.clone();
        let bolt = if line.contains("--bolt") {
            String::new()
        } else {
            format!(" --bolt 127.0.0.1:{}", self.ports[0])
        };
        let mut command = self.command("bash");
        command.args(["-c", &format!("exec {line}{bolt}")]);
        let errors = std::fs::File::create(self.path().join(".serve")).map_err(|error| error.to_string())?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors);
        let mut child = command.spawn().map_err(|error| error.to_string())?;
        let interfaces = [("", 0), ("--gremlin ", 1), ("--http ", PORTS.len() - 1)];
        let ports = interfaces.iter().filter(|(flag, _)| line.contains(flag)).map(|(_, at)| &self.ports[*at]);
        for port in ports {
            let listens = || {
                std::net::TcpStream::connect(format!("127.0.0.1:{port}")).map(|_| ()).is_ok().then_some(())
            };
            if within(|| (child.try_wait().unwrap().is_some()).then_some(None).or(listens().map(Some)))
                .flatten()
                .is_none()
            {
                let _ = child.kill();
                let said = std::fs::read_to_string(self.path().join(".serve")).unwrap_or_default();
                return Err(format!("$ {line}\ndoes not listen:\n{said}"));
            }
        }
        self.server = Some((line, Some(child)));
        Ok(())
    }

    /// Starts `tanglewood kronos` in the background.
    fn order(&mut self, line: &str) -> Result<(), String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let listen = words.iter().position(|word| *word == "--listen").and_then(|at| words.get(at + 1));
        let address = listen.map_or_else(|| format!("127.0.0.1:{}", self.ports[2]), |said| said.to_string());
        if let Some(at) = self.ordering.iter().position(|(taken, _)| *taken == address) {
            end_in_order(&mut self.ordering.remove(at).1)?;
        }
        let said = self.path().join(".kronos");
        let file = std::fs::File::create(&said).map_err(|error| error.to_string())?;
        let errors = file.try_clone().map_err(|error| error.to_string())?;
        let mut command = self.command("bash");
        let default = if listen.is_some() { String::new() } else { format!(" --listen {address}") };
        command.args(["-c", &format!("exec {line}{default}")]);
        command.stdin(Stdio::null()).stdout(file).stderr(errors);
        let mut child = command.spawn().map_err(|error| error.to_string())?;
        let text = || std::fs::read_to_string(&said).unwrap_or_default();
        let ended = within(|| {
            let has_ended = child.try_wait().unwrap().is_some();
            (has_ended || text().contains("to end")).then_some(has_ended)
        });
        self.output += &text();
        self.ordering.push((address, child));
        if ended == Some(false) { Ok(()) } else { Err(format!("$ {line}\ndoes not listen:\n{}", text())) }
    }

    /// Closes the database, in this process and in the server.
    pub fn let_go(&mut self) -> Result<(), String> {
        self.database = None;
        let Some(mut child) = self.server.as_mut().and_then(|(_, child)| child.take()) else { return Ok(()) };
        end_in_order(&mut child)
    }

    fn query(&mut self, code: &str, block: &Block) -> Result<(), String> {
        self.output.clear();
        if self.database.is_none() {
            self.let_go()?;
            let folder = match self.database_path.as_str() {
                database::MEMORY => PathBuf::from(database::MEMORY),
                path => self.path().join(path),
            };
            let options = Options {
                executors: Some(2),
                import_folder: Some(self.path().to_path_buf()),
                backup_folder: Some(self.path().to_path_buf()),
                ..Options::default()
            };
            self.database = Some(Database::open(folder, options).map_err(|error| error.to_string())?);
        }
        let database = self.database.clone().expect("it was opened");
        let mut failed = None;
        for statement in cypher::split_statements(code) {
            let mut out = Vec::new();
            let ended = answer(&database, &block.language, statement.text, &self.params, &mut out);
            self.output += &String::from_utf8_lossy(&out);
            if let Err(error) = ended {
                self.output += &shell::failure(&error, &Style::plain());
                failed = Some(statement.text.to_string());
                break;
            }
        }
        match failed {
            Some(statement) if !block.has("fails") => Err(format!("{statement}\n{}", self.output)),
            None if block.has("fails") => Err("it does not fail".to_string()),
            _ => Ok(()),
        }
    }

    /// Types lines at the prompt, and compares the answers.
    fn session(&mut self, code: &str) -> Result<(), String> {
        self.let_go()?;
        const PROMPT: &str = "tanglewood> ";
        let typed: Vec<&str> = code.lines().filter_map(|line| line.strip_prefix(PROMPT)).collect();
        let answered: Vec<&str> = code.lines().filter(|line| !line.starts_with(PROMPT)).collect();
        self.output.clear();
        let mut command = self.command("tanglewood");
        command.args(["shell", &self.database_path]);
        let passed = self.outcome(command, &format!("{}\n", typed.join("\n")))?;
        if !passed {
            return Err(self.output.clone());
        }
        self.shown(&answered.join("\n"))
    }

    fn python(&mut self, code: &str) -> Result<(), String> {
        let imports = code.lines().filter_map(|line| line.strip_prefix("from "));
        for package in imports.filter_map(|line| line.split([' ', '.']).next()) {
            let probe = self.command("python3").args(["-c", &format!("import {package}")]).output();
            if !probe.is_ok_and(|output| output.status.success()) {
                eprintln!("passed over: a block needs python3 with the package {package}");
                self.is_passed_over = true;
                return Ok(());
            }
        }
        self.client("python3", "client.py", code)
    }

    fn javascript(&mut self, code: &str) -> Result<(), String> {
        let root = std::env::var_os("TANGLEWOOD_DRIVERS").map(PathBuf::from);
        let root = root.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("target/drivers"));
        let driver = if code.contains("'gremlin'") { "gremlin-javascript" } else { "javascript" };
        let packages = root.join(driver).join("node_modules");
        if !packages.exists() {
            eprintln!("passed over: the {driver} driver was not fetched; `.ci/drivers` does");
            self.is_passed_over = true;
            return Ok(());
        }
        let _ = std::os::unix::fs::symlink(packages, self.path().join("node_modules"));
        self.client("node", "client.mjs", code)
    }

    fn client(&mut self, program: &str, script: &str, code: &str) -> Result<(), String> {
        self.serve()?;
        self.output.clear();
        self.file(script, code)?;
        let mut command = self.command("timeout");
        command.args(["60", program, script]);
        if self.outcome(command, "")? { Ok(()) } else { Err(format!("{code}\n{}", self.output)) }
    }
}

impl Drop for Story {
    fn drop(&mut self) {
        if let Some((_, Some(child))) = &mut self.server {
            let _ = child.kill();
            let _ = child.wait();
        }
        for (_, child) in &mut self.ordering {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn end_in_order(child: &mut Child) -> Result<(), String> {
    let asked = Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
    match within(|| child.try_wait().unwrap()) {
        Some(status) if status.success() => Ok(()),
        other => {
            let _ = child.kill();
            Err(format!("the server did not end in order after SIGTERM ({asked:?}): {other:?}"))
        }
    }
}

/// Asks one statement, and prints its answer as the shell does.
fn answer(
    database: &Database,
    language: &str,
    text: &str,
    params: &Params,
    out: &mut Vec<u8>,
) -> Result<(), database::Error> {
    let look = Look { format: Format::Table, style: Style::plain(), timing: true };
    let mut session = database.session();
    if language == "gremlin" {
        let rows = session.gremlin_text(text, params, &GremlinOptions::default())?;
        return print_objects(rows, &look, out).map(|_| ()).map_err(asked);
    }
    let mut result = session.query(text, params.clone())?;
    if !result.is_endless() {
        return print_result(&mut result, &look, out).map(|_| ()).map_err(asked);
    }
    while let Some(Some(batch)) = result.next_batch_timeout(SUBSCRIPTION_TIME)? {
        (0..batch.len()).for_each(|row| out.extend(format!("{:?}\n", batch.row(row)).bytes()));
    }
    Ok(())
}

fn asked(error: shell::PrintError) -> database::Error {
    match error {
        shell::PrintError::Query(error) => error,
        shell::PrintError::Output(error) => panic!("{error}"),
    }
}

/// The command that stands for a line that calls cargo or pip: the binary is built already.
fn cargo(line: &str) -> Result<String, String> {
    if let Some(arguments) = line.strip_prefix("cargo run --release -- ") {
        return Ok(format!("tanglewood {arguments}"));
    }
    let root = env!("CARGO_MANIFEST_DIR");
    match line {
        "cargo test -p tanglewood-kronos-examples" => {
            Ok(format!("test -f {root}/examples/kronos/Cargo.toml"))
        }
        "pip install ./interfaces/kronos-python" => {
            Ok(format!("test -f {root}/interfaces/kronos-python/pyproject.toml"))
        }
        "cargo demo" => Ok(format!("grep -q '^demo = ' {root}/.cargo/config.toml")),
        "cargo install --path ." => Ok(format!("test -f {root}/src/main.rs")),
        "cargo xtask check" => Ok(format!("grep -q '\\[\"check\"\\]' {root}/xtask/src/main.rs")),
        other => Err(format!("`{other}`: say in tests/guide/story.rs what it stands for")),
    }
}

/// Lines as bash takes them: comments off, those that end with a backslash joined.
fn logical_lines(code: &str) -> Vec<String> {
    let joined = code.replace("\\\n", " ");
    let lines = joined.lines().map(|line| without_comment(line).trim().to_string());
    lines.filter(|line| !line.is_empty()).collect()
}

fn without_comment(line: &str) -> &str {
    let mut quote = None;
    for (at, letter) in line.char_indices() {
        match (letter, quote) {
            ('\'' | '"', None) => quote = Some(letter),
            (letter, Some(open)) if letter == open => quote = None,
            ('#', None) if at == 0 || line[..at].ends_with(' ') => return &line[..at],
            _ => {}
        }
    }
    line
}

fn free_port() -> String {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    taken.local_addr().unwrap().port().to_string()
}

fn within<T>(mut found: impl FnMut() -> Option<T>) -> Option<T> {
    let until = world::clock::after_ns(SERVER_TIME);
    while world::clock::monotonic_ns() < until {
        if let Some(found) = found() {
            return Some(found);
        }
        world::threads::sleep(Duration::from_millis(20));
    }
    None
}
