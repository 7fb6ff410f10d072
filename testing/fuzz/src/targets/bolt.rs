//! A whole Bolt connection: any messages in any order, to a database that answers.

use super::packstream::packed;
use database::{Database, MEMORY, Options};
use server::bolt::Version;
use server::bolt::chunks::Assembler;
use server::bolt::connection::{Connection, Next, Sink};
use server::bolt::packstream::Packer;
use std::sync::LazyLock;

/// Bytes of answers that one input may cause, before it is left.
const ANSWER_BYTES_MAX: usize = 1 << 20;

static DATABASE: LazyLock<Database> = LazyLock::new(|| {
    let options = Options { executors: Some(1), query_bytes_max: 16 << 20, ..Options::default() };
    Database::open(MEMORY, options).expect("memory can be opened")
});

struct Answers(usize);

impl Sink for Answers {
    fn send(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.0 += bytes.len();
        if self.0 > ANSWER_BYTES_MAX { Err(std::io::ErrorKind::OutOfMemory.into()) } else { Ok(()) }
    }
}

/// Hands every message in these chunked bytes to a connection.
pub fn bolt(bytes: &[u8]) {
    let version = Version { major: 5, minor: 4 };
    let mut connection = Connection::new(&DATABASE, version, 1, "fuzz".into());
    let (mut assembler, mut answers) = (Assembler::default(), Answers(0));
    assembler.feed(bytes);
    while let Ok(Some(message)) = assembler.next_message() {
        match connection.handle(&message, &mut answers) {
            Ok(Next::Close) | Err(_) => break,
            Ok(_) => {}
        }
    }
}

type Say = Box<dyn Fn(&mut Packer)>;

fn empty_map(packer: &mut Packer) {
    packer.map(0);
}

pub(super) fn seeds() -> Vec<Vec<u8>> {
    let hello: Say = Box::new(|packer| {
        packer.structure(0x01, 1);
        packer.map(1);
        packer.text("user_agent");
        packer.text("fuzz/1.0");
    });
    let logon: Say = Box::new(|packer| {
        packer.structure(0x6a, 1);
        packer.map(1);
        packer.text("scheme");
        packer.text("none");
    });
    let run = |text: &'static str| -> Say {
        Box::new(move |packer| {
            packer.structure(0x10, 3);
            packer.text(text);
            empty_map(packer);
            empty_map(packer);
        })
    };
    let pull: Say = Box::new(|packer| {
        packer.structure(0x3f, 1);
        packer.map(1);
        packer.text("n");
        packer.int(1_000);
    });
    let plain = |tag: u8| -> Say { Box::new(move |packer| packer.structure(tag, 0)) };
    let begin: Say = Box::new(|packer| {
        packer.structure(0x11, 1);
        empty_map(packer);
    });
    let talks: Vec<Vec<Say>> = vec![
        vec![run("RETURN 1 AS one"), pull],
        vec![begin, run("CREATE (n:A {x: 1}) RETURN n"), plain(0x12)],
        vec![run("UNWIND range(1, 50) AS x RETURN x"), plain(0x0f), run("MATCH (n) RETURN n LIMIT 3")],
    ];
    let talk = |says: &Vec<Say>| {
        let mut out = Vec::new();
        for say in [&hello, &logon].into_iter().chain(says) {
            server::bolt::chunks::write(&packed(say), &mut out);
        }
        out
    };
    talks.iter().map(talk).collect()
}
