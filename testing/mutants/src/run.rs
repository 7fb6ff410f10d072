//! Builds a crate with its sample, runs its tests against each change, and reports the outcomes.

use crate::find::Mutant;
use crate::package;
use crate::same;
use crate::write::{self, SWITCHES, Written};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A change ends with a timeout after this many times the duration of the unchanged tests.
const TIMEOUT_MULTIPLIER: u32 = 3;
/// And not before so long.
const TIMEOUT_MIN: Duration = Duration::from_secs(20);
/// A timeout counts only while the unchanged tests are in time; else they are timed anew, so often at most.
const TIMINGS_MAX: usize = 3;
/// Runs in which a test that failed once must fail again with the change on: on a busy machine one may fail by chance.
const REPEATS: usize = 2;
/// How often a run is looked at.
const POLL: Duration = Duration::from_millis(5);
/// Looks, after a run failed, for the name of the test.
const TOLD_POLLS: usize = 20;
/// Kilobytes of address space that tests may take: a change may make them take everything.
const SPACE_KB_MAX: u64 = 12 << 20;
/// Builds after each of which changes that do not build are left out.
const BUILDS_MAX: usize = 40;
/// Most changes of one build, limited by the memory of the switches.
const SWITCHES_MAX: usize = 4_096;

/// Outcomes of the changes.
#[derive(Default)]
pub struct Outcome {
    caught: usize,
    timeout: usize,
    unviable: usize,
    missed: usize,
    /// Those that are known to make the same program, and are not run.
    pub same: usize,
    /// Each with the line that it changed.
    pub survivors: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    Caught,
    Timeout,
    Missed,
}

/// How a run of tests ended.
enum Run {
    Passed,
    /// The test that failed first, where one is named: an abort names none.
    Failed(Option<String>),
    OutOfTime,
}

impl Outcome {
    fn viable(&self) -> usize {
        self.caught + self.timeout + self.missed
    }
    /// True if at least this percentage was caught.
    pub fn is_at_least(&self, percent: usize) -> bool {
        (self.caught + self.timeout) * 100 >= self.viable() * percent
    }
    /// A line.
    pub fn summary(&self) -> String {
        let held = self.caught + self.timeout;
        let percent = (held * 100).checked_div(self.viable()).unwrap_or(100);
        format!(
            "{} caught, {} timeouts, {} missed, {} do not build, {} make the same program: {percent} % of {}",
            self.caught,
            self.timeout,
            self.missed,
            self.unviable,
            self.same,
            self.viable()
        )
    }
    /// Both.
    pub fn add(&mut self, other: Outcome) {
        self.caught += other.caught;
        self.timeout += other.timeout;
        self.unviable += other.unviable;
        self.missed += other.missed;
        self.same += other.same;
        self.survivors.extend(other.survivors);
    }
    fn count(&mut self, mutant: &Mutant, end: End) {
        match end {
            End::Caught => self.caught += 1,
            End::Timeout => self.timeout += 1,
            End::Missed => {
                self.missed += 1;
                self.survivors.push(format!("survived: {}\n{}", mutant.name, same::entry(mutant)));
            }
        }
    }
}

/// A test binary of a crate.
struct Binary {
    path: PathBuf,
    tests: Vec<Test>,
}

/// One of its tests.
struct Test {
    name: String,
    /// Its time without a change, and the changes that its run reaches.
    time: Duration,
    reaches: BTreeSet<usize>,
}

/// A crate in the copy of the tree.
struct Package<'a> {
    tree: &'a Path,
    folder: PathBuf,
    package: String,
    /// Its files as they are.
    texts: BTreeMap<String, String>,
}

/// Runs the crate's own tests, of its library and its folder `tests`, against each of these.
pub fn try_crate(tree: &Path, layer: &str, name: &str, mutants: &[&Mutant]) -> Result<Outcome, String> {
    let begin = Instant::now();
    let folder = tree.join(layer).join(name);
    let lib = format!("{layer}/{name}/src/lib.rs");
    let mut texts = BTreeMap::new();
    for file in mutants.iter().map(|mutant| &mutant.file).chain([&lib]) {
        let text = std::fs::read_to_string(tree.join(file)).map_err(|error| format!("{file}: {error}"))?;
        texts.insert(file.clone(), text);
    }
    let package = Package { tree, folder, package: format!("tanglewood-{name}"), texts };
    let outcome = package.try_all(mutants.get(..SWITCHES_MAX).unwrap_or(mutants), &lib);
    package.restore()?;
    println!("{name}: {:.0} s", begin.elapsed().as_secs_f64());
    outcome
}

impl Package<'_> {
    fn restore(&self) -> Result<(), String> {
        self.texts.iter().try_for_each(|(file, text)| package::write(&self.tree.join(file), text.as_bytes()))
    }

    fn try_all(&self, mutants: &[&Mutant], lib: &str) -> Result<Outcome, String> {
        let mut on: BTreeSet<usize> =
            (0..mutants.len()).filter(|number| !mutants[*number].is_constant).collect();
        self.leave_out_what_does_not_build(mutants, lib, &mut on)?;
        let mut binaries = self
            .binaries()?
            .map_err(|told| format!("the tests do not build with the switches in them:\n{told}"))?;
        self.run_unchanged(&mut binaries)?;
        let mut outcome = Outcome::default();
        for number in &on {
            let mutant = mutants[*number];
            let end = self.against(&binaries, *number)?;
            let tests = binaries.iter().flat_map(|binary| &binary.tests);
            let reaching = tests.filter(|test| test.reaches.contains(number)).count();
            eprintln!("{end:?}, {reaching} tests come to it: {}", mutant.name);
            outcome.count(mutant, end);
        }
        self.restore()?;
        for number in (0..mutants.len()).filter(|number| !on.contains(number)) {
            let (mutant, text) = (mutants[number], &self.texts[&mutants[number].file]);
            package::write(&self.tree.join(&mutant.file), write::changed(text, mutant).as_bytes())?;
            let end = match self.faults()?.is_empty() {
                true => self.binaries()?.ok().map(|own| self.alone(&own, &binaries)).transpose()?,
                false => None,
            };
            package::write(&self.tree.join(&mutant.file), text.as_bytes())?;
            eprintln!("{end:?}, by itself: {}", mutant.name);
            match end {
                Some(end) => outcome.count(mutant, end),
                None => outcome.unviable += 1,
            }
        }
        Ok(outcome)
    }

    /// Writes the files with switches, until they build.
    fn leave_out_what_does_not_build(
        &self,
        mutants: &[&Mutant],
        lib: &str,
        on: &mut BTreeSet<usize>,
    ) -> Result<(), String> {
        for _ in 0..BUILDS_MAX {
            let written = self.write_switched(mutants, lib, on)?;
            let faults = self.faults()?;
            if faults.is_empty() {
                return Ok(());
            }
            let guilty: BTreeSet<usize> = faults.iter().flat_map(|fault| fault.guilty(&written)).collect();
            if guilty.is_empty() {
                return Err(format!("{} does not build:\n{}", self.package, faults[0].told));
            }
            on.retain(|number| !guilty.contains(number));
        }
        Err(format!("{} does not build, whatever is left out", self.package))
    }

    fn write_switched(
        &self,
        mutants: &[&Mutant],
        lib: &str,
        on: &BTreeSet<usize>,
    ) -> Result<BTreeMap<String, Written>, String> {
        let mut all = BTreeMap::new();
        for (file, text) in &self.texts {
            let own = on.iter().map(|number| (*number, mutants[*number]));
            let own: Vec<_> = own.filter(|(_, mutant)| mutant.file == *file).collect();
            let mut written = write::switched(text, &own);
            if file == lib {
                written.text.push_str(SWITCHES);
            }
            package::write(&self.tree.join(file), written.text.as_bytes())?;
            all.insert(file.clone(), written);
        }
        Ok(all)
    }

    fn cargo(&self, arguments: &[&str]) -> Result<Vec<Value>, String> {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.args(arguments).args(["--package", &self.package, "--message-format", "json"]);
        command.current_dir(self.tree).stderr(Stdio::null());
        // A folder of its own: cargo takes a package of the copy for the one of the tree, and what is built of a changed one would be linked there.
        command.env("CARGO_TARGET_DIR", self.tree.with_file_name("build"));
        let output = command.output().map_err(|error| format!("cargo: {error}"))?;
        let lines = output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        Ok(lines.filter_map(|line| serde_json::from_slice(line).ok()).collect())
    }

    /// The errors that keep the library from building.
    fn faults(&self) -> Result<Vec<Fault>, String> {
        // Not `check`: the tests need what this builds, the crates below it first of all.
        let messages = self.cargo(&["build", "--lib"])?;
        let of = |message: &Value| {
            let is_error = message["message"]["level"] == "error";
            is_error.then(|| Fault::of(&message["message"]))
        };
        let faults: Vec<Fault> = messages.iter().filter_map(of).collect();
        let is_built = messages.iter().any(|message| message["success"] == true);
        match faults.is_empty() && !is_built {
            true => Err(format!("{} cannot be built", self.package)),
            false => Ok(faults),
        }
    }

    /// Builds the tests; the compiler's output, if they do not build.
    fn binaries(&self) -> Result<Result<Vec<Binary>, String>, String> {
        let messages = self.cargo(&["test", "--tests", "--no-run"])?;
        if !messages.iter().any(|message| message["success"] == true) {
            let errors = messages.iter().filter(|message| message["message"]["level"] == "error");
            let told = errors.filter_map(|message| message["message"]["rendered"].as_str());
            return Ok(Err(told.collect()));
        }
        let paths = messages.iter().filter_map(|message| {
            let is_test = message["profile"]["test"] == true;
            message["executable"].as_str().filter(|_| is_test)
        });
        let binary = |path: &str| Binary { path: path.into(), tests: Vec::new() };
        Ok(Ok(paths.map(binary).collect()))
    }

    /// Runs every test by itself without a change, and records the changes it reaches.
    fn run_unchanged(&self, binaries: &mut [Binary]) -> Result<(), String> {
        for binary in binaries.iter_mut() {
            for name in self.names(binary)? {
                let note = self.tree.join("reached");
                let _ = std::fs::remove_file(&note);
                let begin = Instant::now();
                let environment = [("TANGLEWOOD_MUTANTS_REACHED", &*note.display().to_string())];
                let child = self.start(binary, &[&name], &environment)?;
                if !matches!(end_of(child, Duration::MAX)?, Run::Passed) {
                    // One that counts what the allocator gave, say, counts what the switches take.
                    println!(
                        "{name} is passed over: with the switches built in it fails with nothing changed"
                    );
                    continue;
                }
                let time = begin.elapsed();
                let reached = std::fs::read_to_string(&note).unwrap_or_default();
                let reaches = reached.lines().filter_map(|line| line.parse().ok()).collect();
                binary.tests.push(Test { name, time, reaches });
            }
        }
        match binaries.iter().any(|binary| !binary.tests.is_empty()) {
            true => Ok(()),
            false => Err(format!("{}: no test passes with nothing changed", self.package)),
        }
    }

    /// Names of the tests in a binary.
    fn names(&self, binary: &Binary) -> Result<Vec<String>, String> {
        let mut command = Command::new(&binary.path);
        command.args(["--list", "--format", "terse"]).current_dir(&self.folder).stderr(Stdio::null());
        let output = command.output().map_err(|error| format!("{}: {error}", binary.path.display()))?;
        let listed = String::from_utf8_lossy(&output.stdout).into_owned();
        Ok(listed.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_string).collect())
    }

    /// Starts these tests of a binary, or all where none is named.
    fn start(&self, binary: &Binary, tests: &[&str], environment: &[(&str, &str)]) -> Result<Child, String> {
        let mut command = Command::new("sh");
        let script = format!("ulimit -v {SPACE_KB_MAX}; exec \"$0\" \"$@\" 2>/dev/null");
        command.args(["-c", &script]).arg(&binary.path).args(tests);
        if !tests.is_empty() {
            command.arg("--exact");
        }
        command.current_dir(&self.folder).env("CARGO_MANIFEST_DIR", &self.folder);
        command.envs(environment.iter().copied()).stdin(Stdio::null()).stdout(Stdio::piped());
        command.spawn().map_err(|error| format!("{}: {error}", binary.path.display()))
    }

    /// Runs the tests that come to a change with that change on, those of the quickest binary first.
    fn against(&self, binaries: &[Binary], on: usize) -> Result<End, String> {
        let reaching = |binary: &Binary| -> (Duration, Vec<String>) {
            let tests = binary.tests.iter().filter(|test| test.reaches.contains(&on));
            tests.fold((Duration::ZERO, Vec::new()), |(time, mut names), test| {
                names.push(test.name.clone());
                (time + test.time, names)
            })
        };
        let mut all: Vec<_> = binaries.iter().map(|binary| (binary, reaching(binary))).collect();
        all.retain(|(_, (_, names))| !names.is_empty());
        all.sort_by_key(|(_, (time, _))| *time);
        for (binary, (time, names)) in all {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let end = self.against_one(binary, &names, time, on)?;
            if end != End::Missed {
                return Ok(end);
            }
        }
        Ok(End::Missed)
    }

    /// Tests of one binary with a change on, with their times without it. Tests that fail or hang by chance do not count.
    fn against_one(
        &self,
        binary: &Binary,
        names: &[&str],
        mut time: Duration,
        on: usize,
    ) -> Result<End, String> {
        let number = on.to_string();
        let changed = [("TANGLEWOOD_MUTANT", &*number)];
        for _ in 0..TIMINGS_MAX {
            let limit = limit(time);
            match end_of(self.start(binary, names, &changed)?, limit)? {
                Run::Passed => return Ok(End::Missed),
                Run::Failed(None) => return Ok(End::Caught),
                Run::Failed(Some(name)) => {
                    for _ in 0..REPEATS {
                        let again = self.start(binary, &[&name], &changed)?;
                        if !matches!(end_of(again, limit)?, Run::Passed) {
                            return Ok(End::Caught);
                        }
                    }
                    eprintln!("{name} failed by chance: with the same change on it passes");
                    return Ok(End::Missed);
                }
                Run::OutOfTime => {
                    let begin = Instant::now();
                    end_of(self.start(binary, names, &[])?, Duration::MAX)?;
                    time = begin.elapsed();
                    if self::limit(time) <= limit {
                        return Ok(End::Timeout);
                    }
                }
            }
        }
        eprintln!("the machine is too busy to tell whether a change hangs");
        Ok(End::Missed)
    }

    /// All tests of one change that has no switch, with the time limit of those with switches.
    fn alone(&self, own: &[Binary], known: &[Binary]) -> Result<End, String> {
        let tests = known.iter().flat_map(|binary| &binary.tests);
        let all: Duration = tests.map(|test| test.time).sum();
        for binary in own {
            match end_of(self.start(binary, &[], &[])?, limit(all))? {
                Run::Passed => {}
                Run::Failed(_) => return Ok(End::Caught),
                Run::OutOfTime => return Ok(End::Timeout),
            }
        }
        Ok(End::Missed)
    }
}

/// The time limit of tests with a change on, from their time without it.
fn limit(time: Duration) -> Duration {
    (time * TIMEOUT_MULTIPLIER).max(TIMEOUT_MIN)
}

/// How a run of tests ends; it is ended at the first test that fails.
fn end_of(mut child: Child, time: Duration) -> Result<Run, String> {
    let failed = Arc::new(Mutex::new(None));
    let told = child.stdout.take().map(|out| {
        let failed = failed.clone();
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                if let (Some(name), Ok(mut first)) = (failed_test(&line), failed.lock()) {
                    first.get_or_insert(name.to_string());
                }
            }
        })
    });
    let first = || failed.lock().ok().and_then(|first| first.clone());
    let begin = Instant::now();
    let run = loop {
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            if status.success() {
                break Run::Passed;
            }
            // What it printed last may not have been read yet.
            (0..TOLD_POLLS).take_while(|_| first().is_none()).for_each(|_| std::thread::sleep(POLL));
            break Run::Failed(first());
        }
        let (is_over, name) = (begin.elapsed() > time, first());
        if is_over || name.is_some() {
            let _ = child.kill();
            let _ = child.wait();
            break if name.is_some() { Run::Failed(name) } else { Run::OutOfTime };
        }
        std::thread::sleep(POLL);
    };
    drop(told);
    Ok(run)
}

/// The name of a test that this line of its binary says has failed.
fn failed_test(line: &str) -> Option<&str> {
    let name = line.strip_prefix("test ")?.strip_suffix(" ... FAILED")?;
    Some(name.strip_suffix(" - should panic").unwrap_or(name))
}

/// An error of the compiler.
struct Fault {
    told: String,
    /// Files and bytes that it names; the first are those that it is about.
    places: Vec<(bool, String, Range<usize>)>,
}

impl Fault {
    fn of(message: &Value) -> Fault {
        let spans = message["spans"].as_array().cloned().unwrap_or_default();
        let place = |span: &Value| {
            let byte = |name: &str| span[name].as_u64().unwrap_or(0) as usize;
            let file = span["file_name"].as_str().unwrap_or_default().to_string();
            (span["is_primary"] == true, file, byte("byte_start")..byte("byte_end"))
        };
        let told = message["rendered"].as_str().unwrap_or_default().to_string();
        let mut places: Vec<_> = spans.iter().map(place).collect();
        places.sort_by_key(|(is_primary, ..)| !is_primary);
        Fault { told, places }
    }

    /// The changes that an error is about: those it names, or else all behind the innermost switch around its position.
    fn guilty(&self, written: &BTreeMap<String, Written>) -> Vec<usize> {
        let lies_in =
            |inner: &Range<usize>, outer: &Range<usize>| outer.start <= inner.start && inner.end <= outer.end;
        for (_, file, bytes) in &self.places {
            let Some(written) = written.get(file) else { continue };
            let own = written.places.iter().filter(|(_, own, _)| lies_in(bytes, own));
            let own: Vec<usize> = own.map(|(number, ..)| *number).collect();
            if !own.is_empty() {
                return own;
            }
        }
        for (_, file, bytes) in &self.places {
            let Some(written) = written.get(file) else { continue };
            let around = written.places.iter().filter(|(.., whole)| lies_in(bytes, whole));
            if let Some((.., whole)) = around.min_by_key(|(.., whole)| whole.len()) {
                let behind = written.places.iter().filter(|(.., other)| other == whole);
                return behind.map(|(number, ..)| *number).collect();
            }
        }
        // Something within what it names.
        for (_, file, bytes) in &self.places {
            let Some(written) = written.get(file) else { continue };
            let inner = written.places.iter().filter(|(.., whole)| lies_in(whole, bytes));
            let inner: Vec<usize> = inner.map(|(number, ..)| *number).collect();
            if !inner.is_empty() {
                return inner;
            }
        }
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Child {
        Command::new("sh").args(["-c", script]).stdout(Stdio::piped()).spawn().unwrap()
    }

    #[test]
    fn a_run_ends_at_the_first_failure_with_its_name_or_out_of_time() {
        let end = |script: &str| end_of(shell(script), Duration::from_millis(300)).unwrap();
        assert!(matches!(end("echo test a ... ok"), Run::Passed));
        let failed = end("echo test a::b - should panic ... FAILED; echo test c ... FAILED; exec sleep 9");
        assert!(matches!(failed, Run::Failed(Some(name)) if name == "a::b"));
        assert!(matches!(end("exit 101"), Run::Failed(_)));
        assert!(matches!(end("exec sleep 9"), Run::OutOfTime));
    }
}
