//! Random commits: what they do follows from the graph and the numbers in them alone, so that a list of them can be replayed.

use tanglewood_database::{Error, Mode, Params, Session};
use world::chance::Chance;

/// What one commit does.
#[derive(Clone, Debug)]
pub struct Commit {
    pub statements: Vec<String>,
    /// Taken back at the end.
    pub is_rolled_back: bool,
}

fn number(chance: &mut Chance) -> &'static str {
    let all = ["0", "1", "2", "3", "1.0", "2.0", "2.5", "0.5", "null", "(0.0 / 0.0)", "-0.0", "1"];
    all[chance.index(all.len())]
}
fn any(chance: &mut Chance) -> &'static str {
    let all =
        ["0", "1", "1.0", "'a'", "'b'", "null", "true", "[1, 2]", "[1.0, 2]", "[]", "date('2026-01-02')"];
    all[chance.index(all.len())]
}
fn text(chance: &mut Chance) -> &'static str {
    ["'a'", "'ab'", "'b'", "null"][chance.index(4)]
}
fn list(chance: &mut Chance) -> &'static str {
    ["[1, 2]", "[1, 1, 2.5]", "[]", "null"][chance.index(4)]
}
fn labels(chance: &mut Chance) -> &'static str {
    [":P", ":Q", ":P:Q", "", ":P"][chance.index(5)]
}
fn kind(chance: &mut Chance) -> &'static str {
    ["R", "R", "S", "T"][chance.index(4)]
}

/// Numbers of what is made: each is given once.
#[derive(Default)]
pub struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 += 1;
        self.0
    }
}

fn vertex(name: &str, numbers: &mut Numbers, chance: &mut Chance) -> String {
    format!(
        "({name}{} {{u: {}, x: {}, y: {}, s: {}, m: {}, l: {}}})",
        labels(chance),
        numbers.next(),
        number(chance),
        chance.index(3),
        text(chance),
        any(chance),
        list(chance)
    )
}

fn one_of(name: &str, chance: &mut Chance) -> String {
    let (factor, shift) = (1 + chance.index(40), chance.index(40));
    format!("{name} ORDER BY ({name}.u * {factor} + {shift}) % 41, {name}.u LIMIT 1")
}

/// A statement that changes something, most often.
fn statement(numbers: &mut Numbers, chance: &mut Chance) -> String {
    let (a, b) = (one_of("a", chance), one_of("b", chance));
    let r = one_of("r", chance);
    match chance.index(22) {
        0 | 1 => format!("CREATE {}", vertex("", numbers, chance)),
        2 => {
            let made = vertex("", numbers, chance);
            format!(
                "MATCH (a) WITH {a} CREATE (a)-[:{} {{u: {}, w: {}}}]->{made}",
                kind(chance),
                numbers.next(),
                number(chance)
            )
        }
        // A loop, or a parallel edge, now and then.
        3..=7 => format!(
            "MATCH (a) WITH {a} MATCH (b) WITH a, {b} CREATE (a)-[:{} {{u: {}, w: {}}}]->(b)",
            kind(chance),
            numbers.next(),
            number(chance)
        ),
        8 => format!("MATCH (a) WITH {a} CREATE (a)-[:R {{u: {}, w: 1}}]->(a)", numbers.next()),
        9..=11 => format!("MATCH ()-[r]->() WITH {r} DELETE r"),
        12 => format!("MATCH (a) WITH {a} DETACH DELETE a"),
        13 | 14 => format!("MATCH (a) WITH {a} SET a.x = {}", number(chance)),
        15 => format!("MATCH (a) WITH {a} SET a.m = {}, a.s = {}", any(chance), text(chance)),
        16 => format!("MATCH (a) WITH {a} SET a.y = {}, a.l = {}", chance.index(3), list(chance)),
        17 => format!("MATCH (a) WITH {a} SET a{}", [":P", ":Q"][chance.index(2)]),
        18 => format!("MATCH (a) WITH {a} REMOVE a{}", [":P", ":Q"][chance.index(2)]),
        19 => format!("MATCH ()-[r]->() WITH {r} SET r.w = {}", number(chance)),
        20 => format!("MATCH (a) WITH {a} REMOVE a.x"),
        // All at once.
        _ => format!("MATCH (a:Q) SET a.x = {}", number(chance)),
    }
}

/// A random commit; `size` bounds the graph from afar.
pub fn commit(numbers: &mut Numbers, chance: &mut Chance) -> Commit {
    let many = match chance.index(10) {
        0 => 4 + chance.index(12),
        1 | 2 => 2,
        _ => 1,
    };
    let mut statements: Vec<String> = (0..many).map(|_| statement(numbers, chance)).collect();
    // What grows is cut back: walks are counted one by one by whoever asks anew.
    statements.push(String::from("MATCH (a) WITH a ORDER BY a.u DESC SKIP 11 DETACH DELETE a"));
    statements.push(String::from("MATCH ()-[r]->() WITH r ORDER BY r.u DESC SKIP 13 DELETE r"));
    Commit { statements, is_rolled_back: chance.index(12) == 0 }
}

impl Commit {
    /// Carries it out.
    pub fn run(&self, session: &mut Session) -> Result<(), Error> {
        session.begin(Mode::Write)?;
        for statement in &self.statements {
            session.query(statement, Params::new())?.rows()?;
        }
        match self.is_rolled_back {
            true => session.rollback(),
            false => session.commit().map(|_| ()),
        }
    }
}
