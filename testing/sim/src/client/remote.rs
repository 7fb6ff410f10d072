//! A client whose database lives in another process, so that the process can be killed and the history stays.
//!
//! ```text
//!   this process: workers ── RemoteClient ──┐  "@2 append 3 17"   ┌── serve ── one thread and one session a client
//!                 history                   ├──────── pipe ───────┤
//!                 reader ── by number ──────┘  "@2 ok"            └── Database          kill -9 strikes here
//! ```
//!
//! Lines of text, each with the number of the client it belongs to; each client waits for its answer before it asks again. Invariant:
//! whoever gets no answer because the other side is gone is told `Unknown`, never `Refused`.

use super::{Client, CypherClient, Failure, Request};
use crate::chores;
use crate::history::Operation;
use database::Database;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use world::threads::{Thread, spawn};

/// The first character of every line, since test harnesses write to the same pipe.
const MARK: char = '@';

/// This end of the pipe.
pub struct Remote {
    requests: Mutex<Box<dyn Write + Send>>,
    waiting: Mutex<HashMap<usize, Sender<String>>>,
}

/// One client over the pipe.
pub struct RemoteClient {
    number: usize,
    remote: Arc<Remote>,
    answers: Receiver<String>,
    open: bool,
}

impl Remote {
    /// Requests go into one end, answers come out of the other. The thread ends when they do.
    pub fn new(
        requests: impl Write + Send + 'static,
        answers: impl Read + Send + 'static,
    ) -> (Arc<Remote>, Thread<()>) {
        let remote = Arc::new(Remote { requests: Mutex::new(Box::new(requests)), waiting: Mutex::default() });
        let shared = remote.clone();
        let reader = spawn("sim-answers", move || {
            for line in BufReader::new(answers).lines().map_while(Result::ok) {
                let Some((number, text)) = numbered(&line) else { continue };
                if let Some(client) = shared.waiting.lock().get(&number) {
                    // A client that is gone waits for nothing.
                    drop(client.send(text.to_string()));
                }
            }
            shared.waiting.lock().clear();
            // Whoever comes from now on finds the pipe closed.
            *shared.requests.lock() = Box::new(Closed);
        });
        (remote, reader)
    }
    /// A client with a number that no other has.
    pub fn client(self: &Arc<Remote>, number: usize) -> RemoteClient {
        let (sender, answers) = channel();
        self.waiting.lock().insert(number, sender);
        RemoteClient { number, remote: self.clone(), answers, open: false }
    }
}

/// A pipe whose other end is gone.
struct Closed;

impl Write for Closed {
    fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
        Err(std::io::ErrorKind::BrokenPipe.into())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl RemoteClient {
    /// Asks, and waits for the answer's words behind `ok`.
    ///
    /// # Errors
    /// As the other side says; `Unknown` if it is gone.
    pub fn ask(&mut self, request: &str) -> Result<String, Failure> {
        let gone = || Failure::Unknown("the process is gone".into());
        let line = format!("{MARK}{} {request}\n", self.number);
        self.remote.requests.lock().write_all(line.as_bytes()).map_err(|_| gone())?;
        let answer = self.answers.recv().map_err(|_| gone())?;
        let (kind, text) = answer.split_once(' ').unwrap_or((&answer, ""));
        match kind {
            "ok" => Ok(text.into()),
            "refused" => Err(Failure::Refused(text.into())),
            "unknown" => Err(Failure::Unknown(text.into())),
            _ => Err(Failure::Broken(answer)),
        }
    }
    fn run_as(&mut self, how: &str, request: Request) -> Result<Operation, Failure> {
        let answer = self.ask(&format!("{how}{}", words(request)))?;
        let seen = answer.split_whitespace().map(|word| word.parse().map_err(|_| word.to_string()));
        let seen = seen.collect::<Result<Vec<i64>, String>>().map_err(Failure::Broken)?;
        Ok(request.answered(seen))
    }
}

impl Client for RemoteClient {
    fn begin(&mut self, reading: bool) -> Result<(), Failure> {
        self.ask(if reading { "begin reading" } else { "begin writing" })?;
        self.open = true;
        Ok(())
    }
    fn run(&mut self, request: Request) -> Result<Operation, Failure> {
        self.run_as("", request)
    }
    fn commit(&mut self) -> Result<(), Failure> {
        self.open = false;
        self.ask("commit").map(|_| ())
    }
    fn rollback(&mut self) {
        if std::mem::take(&mut self.open) {
            // Without the other side there is nothing to roll back.
            drop(self.ask("rollback"));
        }
    }
    fn alone(&mut self, request: Request) -> Result<Operation, Failure> {
        self.run_as("alone ", request)
    }
}

fn numbered(line: &str) -> Option<(usize, &str)> {
    let (number, text) = line[line.find(MARK)? + MARK.len_utf8()..].split_once(' ')?;
    Some((number.parse().ok()?, text))
}

fn words(request: Request) -> String {
    match request {
        Request::Append(id, value) => format!("append {id} {value}"),
        Request::ReadList(id) => format!("readlist {id}"),
        Request::Add(id, value) => format!("add {id} {value}"),
        Request::ReadSet(id) => format!("readset {id}"),
        Request::Write(id, value) => format!("write {id} {value}"),
        Request::Read(id) => format!("read {id}"),
    }
}

fn request(words: &str) -> Option<Request> {
    let words: Vec<&str> = words.split_whitespace().collect();
    let (kind, id) = (*words.first()?, words.get(1)?.parse().ok()?);
    let value = words.get(2).and_then(|word| word.parse().ok());
    match (kind, value) {
        ("append", Some(value)) => Some(Request::Append(id, value)),
        ("readlist", None) => Some(Request::ReadList(id)),
        ("add", Some(value)) => Some(Request::Add(id, value)),
        ("readset", None) => Some(Request::ReadSet(id)),
        ("write", Some(value)) => Some(Request::Write(id, value)),
        ("read", None) => Some(Request::Read(id)),
        _ => None,
    }
}

/// The other end: answers requests until there are no more. Each client is a thread with a session.
pub fn serve(database: &Database, requests: impl Read, answers: impl Write + Send + 'static) {
    let answers: Arc<Mutex<dyn Write + Send>> = Arc::new(Mutex::new(answers));
    let mut clients: HashMap<usize, (Sender<String>, Thread<()>)> = HashMap::new();
    for line in BufReader::new(requests).lines().map_while(Result::ok) {
        let Some((number, text)) = numbered(&line) else { continue };
        let (sender, _) = clients.entry(number).or_insert_with(|| {
            let (sender, receiver) = channel::<String>();
            let (database, answers) = (database.clone(), answers.clone());
            let thread = spawn("sim-served", move || {
                let mut client = CypherClient::new(&database);
                for asked in receiver {
                    let line = format!("{MARK}{number} {}\n", answer(&database, &mut client, &asked));
                    // As one piece, so that a line is whole or missing.
                    drop(answers.lock().write_all(line.as_bytes()));
                }
            });
            (sender, thread)
        });
        sender.send(text.to_string()).expect("a client's thread lives as long as its sender");
    }
    drop(clients);
}

fn answer(database: &Database, client: &mut CypherClient, asked: &str) -> String {
    let done = match asked {
        "begin reading" => client.begin(true).map(|()| String::new()),
        "begin writing" => client.begin(false).map(|()| String::new()),
        "commit" => client.commit().map(|()| String::new()),
        "rollback" => {
            client.rollback();
            Ok(String::new())
        }
        asked => match (asked.strip_prefix("alone "), asked.strip_prefix("chore ")) {
            (Some(words), _) => run(words, |request| client.alone(request)),
            (_, Some(chore)) => chores::perform(database, chore),
            _ => run(asked, |request| client.run(request)),
        },
    };
    let text = match done {
        Ok(text) => format!("ok {text}"),
        Err(Failure::Refused(what)) => format!("refused {what}"),
        Err(Failure::Unknown(what)) => format!("unknown {what}"),
        Err(Failure::Broken(what)) => format!("broken {what}"),
    };
    text.replace('\n', " ")
}

fn run(words: &str, ask: impl FnOnce(Request) -> Result<Operation, Failure>) -> Result<String, Failure> {
    let request = request(words).ok_or_else(|| Failure::Broken(format!("no request: {words}")))?;
    let seen: Vec<String> = ask(request)?.seen().iter().map(i64::to_string).collect();
    Ok(seen.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_understood_as_they_were_meant() {
        let all = [
            Request::Append(1, 2),
            Request::ReadList(3),
            Request::Add(4, -5),
            Request::ReadSet(6),
            Request::Write(7, 8),
            Request::Read(9),
        ];
        all.iter().for_each(|one| assert_eq!(request(&words(*one)), Some(*one)));
        assert_eq!(request("append 1"), None);
        assert_eq!(numbered("test child ... @17 ok 3"), Some((17, "ok 3")));
        assert_eq!(numbered("running 1 test"), None);
    }
}
