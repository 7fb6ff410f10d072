//! A script in a group of processes of its own: its lines with a limit for silence, and an end for all of the group.

use serde_json::Value as Json;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt as _;
use std::process::{self, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;
use world::threads::{self, Thread};

/// Lines that may wait to be read.
const LINES_MAX: usize = 64;
/// Bytes of the script's error output that are kept.
const COMPLAINT_BYTES_MAX: usize = 16 << 10;

/// A line of output, or why there is none.
pub(crate) enum Line {
    /// A line of JSON.
    Said(Json),
    /// It ended; its last complaint.
    Ended(String),
    /// Nothing came within the limit.
    Silent,
}

/// A running script. It is ended, with all processes it started, when this goes.
pub(crate) struct Child {
    child: process::Child,
    lines: Receiver<Json>,
    /// Both end when the group has ended, since it holds the other ends of their pipes.
    _reader: Thread<()>,
    complaints: Option<Thread<String>>,
}

impl Child {
    /// Starts `command` as the head of a new group.
    pub fn start(mut command: Command) -> Result<Child, String> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let mut child = command.spawn().map_err(|error| error.to_string())?;
        let output = child.stdout.take().expect("it was asked for as a pipe");
        let errors = child.stderr.take().expect("it was asked for as a pipe");
        let (sender, lines) = sync_channel(LINES_MAX);
        let reader = threads::spawn("peer-lines", move || forward(output, &sender));
        let complaints = threads::spawn("peer-complaints", move || last_line(errors));
        Ok(Child { child, lines, _reader: reader, complaints: Some(complaints) })
    }

    /// The next line, if one comes within the limit.
    pub fn line(&mut self, limit_seconds: u64) -> Line {
        match self.lines.recv_timeout(Duration::from_secs(limit_seconds)) {
            Ok(line) => Line::Said(line),
            Err(RecvTimeoutError::Timeout) => Line::Silent,
            Err(RecvTimeoutError::Disconnected) => {
                self.kill();
                Line::Ended(self.complaints.take().map(Thread::join).unwrap_or_default())
            }
        }
    }

    /// Ends the whole group at once.
    pub fn kill(&mut self) {
        // A group that has ended already cannot be killed; that is as well.
        let group = format!("-{}", self.child.id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
        let _ = self.child.wait();
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.kill();
    }
}

fn forward(output: ChildStdout, lines: &SyncSender<Json>) {
    let said = BufReader::new(output).lines().map_while(Result::ok);
    for line in said.filter_map(|line| serde_json::from_str(&line).ok()) {
        if lines.send(line).is_err() {
            return;
        }
    }
}

fn last_line(mut errors: impl Read) -> String {
    let (mut kept, mut piece) = (Vec::new(), [0; 4096]);
    while let Ok(length @ 1..) = errors.read(&mut piece) {
        kept.extend_from_slice(&piece[..length]);
        let surplus = kept.len().saturating_sub(COMPLAINT_BYTES_MAX);
        kept.drain(..surplus);
    }
    let text = String::from_utf8_lossy(&kept);
    text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("no output").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Child {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Child::start(command).expect("a shell can be started")
    }

    #[test]
    fn lines_come_and_the_end_is_told_with_the_last_complaint() {
        let mut child = shell("echo noise; echo '{\"a\": 1}'; echo because >&2; exit 3");
        assert!(matches!(child.line(5), Line::Said(line) if line["a"] == 1));
        assert!(matches!(child.line(5), Line::Ended(why) if why == "because"));
    }

    #[test]
    fn a_silent_group_is_killed_whole() {
        let mut child = shell("sleep 600 & sleep 600");
        assert!(matches!(child.line(1), Line::Silent));
        child.kill();
        assert!(matches!(child.line(5), Line::Ended(_)), "the pipes are closed: no process of it is left");
    }
}
