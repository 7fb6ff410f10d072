//! A blockchain explorer: blocks as a graph, rendered in one transaction, and what money did.
//!
//! A block has transactions; a transaction pays addresses, and spends what others paid. [`Explorer::render`] shows all of a block at one moment.
//! [`Explorer::taint`] finds every transaction that spends money of an address, over any number of steps. Addresses whose money was spent together belong
//! to one owner, most likely: [`Explorer::clusters`]. For flagged addresses a standing query tells of each transaction that taint reaches, when its block
//! comes. Taint is by transaction, not by output: one that spends any output of a tainted transaction is tainted, and with it all that it pays.
//!
//! A block comes in one commit. Where blocks come in their order, an input whose output is known leads to its address.

use crate::ask::{self, Told, keep, rows, run, text};
use database::{Database, Error, Mode, Options, Session, Value, params};
use serde_json::Value as Json;
use std::path::Path;
use world::chance::Chance;

/// Kept true: what spends money that a flagged address had, over any number of steps.
const TAINTED: &str = "CREATE STANDING QUERY tainted AS DATALOG {
    tainted(t) :- Flagged(a), PAYS(t, a).
    tainted(t) :- tainted(s), SPENDS(t, s).
    answer(txid) :- tainted(t), Transaction.txid(t, txid).
    ?- answer(txid).
}";

const NAMES: &str = "CREATE (a:Transaction:Address:Flagged {txid: ''}), (a)-[:PAYS]->(a), (a)-[:SPENDS]->(a), \
    (a)-[:FROM]->(a) DETACH DELETE a";

/// A block as it comes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Its name.
    pub hash: String,
    /// That of the block before it.
    pub previous: String,
    /// Blocks before it.
    pub height: i64,
    /// When, in seconds since 1970.
    pub time: i64,
    /// In their order.
    pub transactions: Vec<Transaction>,
}

/// A transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transaction {
    /// Its name.
    pub txid: String,
    /// What it spends: the transaction that paid it, and which output of that.
    pub inputs: Vec<(String, i64)>,
    /// What it pays: how much, and to whom; some scripts have no address.
    pub outputs: Vec<(i64, Option<String>)>,
}

impl Block {
    /// A block from a text of JSON, as block explorers have it.
    ///
    /// # Errors
    /// It is no block.
    pub fn read(json: &str) -> Result<Block, String> {
        let json: Json = serde_json::from_str(json).map_err(|error| format!("it is no JSON: {error}"))?;
        let word = |json: &Json, name: &str| json[name].as_str().map(str::to_string);
        let list = |json: &Json, name: &str| json[name].as_array().cloned().unwrap_or_default();
        let input = |input: &Json| Some((word(input, "txid")?, input["vout"].as_i64()?));
        let output = |output: &Json| (output["value"].as_i64().unwrap_or(0), word(output, "address"));
        let transaction = |transaction: &Json| {
            Some(Transaction {
                txid: word(transaction, "txid")?,
                inputs: list(transaction, "vin").iter().filter_map(input).collect(),
                outputs: list(transaction, "vout").iter().map(output).collect(),
            })
        };
        Ok(Block {
            hash: word(&json, "hash").ok_or("a block has a `hash`")?,
            previous: word(&json, "previousblockhash").unwrap_or_default(),
            height: json["height"].as_i64().ok_or("a block has a `height`")?,
            time: json["time"].as_i64().unwrap_or(0),
            transactions: list(&json, "tx").iter().filter_map(transaction).collect(),
        })
    }
}

/// Blocks that are drawn, from small ones to one of so many transactions: each spends a few outputs of earlier ones and pays a few addresses.
pub fn drawn(blocks: usize, transactions: usize, seed: u64) -> Vec<Block> {
    let mut chance = Chance::seeded(seed);
    let (mut unspent, mut next) = (Vec::<(String, i64)>::new(), 0);
    let mut transaction = |chance: &mut Chance| {
        next += 1;
        let spent = chance.index(3).min(unspent.len());
        let inputs = (0..spent).map(|_| unspent.swap_remove(chance.index(unspent.len())));
        let inputs: Vec<(String, i64)> = inputs.collect();
        let mut output =
            |_| (1 + chance.below(1_000_000) as i64, Some(format!("address{}", chance.below(3_000))));
        let outputs: Vec<_> = (0..2).map(&mut output).collect();
        let txid = format!("transaction{next}");
        unspent.extend((0..2).map(|at| (txid.clone(), at)));
        Transaction { txid, inputs, outputs }
    };
    let block = |height: usize| Block {
        hash: format!("block{height}"),
        previous: height.checked_sub(1).map(|before| format!("block{before}")).unwrap_or_default(),
        height: height as i64,
        time: 600 * height as i64,
        transactions: (0..(transactions * (height + 1)).div_ceil(blocks))
            .map(|_| transaction(&mut chance))
            .collect(),
    };
    (0..blocks).map(block).collect()
}

/// Blocks, and what can be asked of them.
pub struct Explorer {
    database: Database,
    session: Session,
}

/// A transaction as it is shown: its name, what it spends, and what it pays.
pub type Rendered = Transaction;

/// A transaction that taint reached (1), or does no more (-1).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TaintChange {
    /// Which.
    pub txid: String,
    /// 1 or -1.
    pub difference: i64,
}

impl Explorer {
    /// The blocks in this folder, or in memory.
    ///
    /// # Errors
    /// The folder cannot be opened, or holds something else.
    pub fn open(folder: Option<&Path>) -> Result<Explorer, Error> {
        Explorer::open_within(folder, None)
    }
    /// The blocks in this folder, or in memory, where the graph may hold so many bytes in memory; no bound where absent.
    ///
    /// # Errors
    /// The folder cannot be opened, or holds something else.
    pub fn open_within(folder: Option<&Path>, memory_bytes: Option<u64>) -> Result<Explorer, Error> {
        let database = ask::open(folder, Options { memory_bytes, ..Options::default() })?;
        let mut session = database.session();
        let keys = [
            ("block", "Block", "hash"),
            ("transaction", "Transaction", "txid"),
            ("address", "Address", "address"),
        ];
        for (name, label, key) in keys {
            let rule =
                format!("CREATE CONSTRAINT {name} IF NOT EXISTS FOR (n:{label}) REQUIRE n.{key} IS UNIQUE");
            run(&mut session, &rule, params! {})?;
        }
        keep(&mut session, "tainted", NAMES, TAINTED)?;
        Ok(Explorer { database, session })
    }
    /// One more user of the same blocks.
    pub fn share(&self) -> Explorer {
        Explorer { database: self.database.clone(), session: self.database.session() }
    }
    /// Bytes that the graph holds in memory now.
    pub fn memory_bytes(&self) -> u64 {
        self.database.snapshot().memory().total_bytes() as u64
    }
    /// Parts of the graph that were read from disk since the folder was opened.
    pub fn pages_read(&self) -> u64 {
        self.database.snapshot().memory().paging.loads
    }
    /// Writes everything to disk and closes the folder, once no other user is left.
    ///
    /// # Errors
    /// The disk fails.
    pub fn close(self) -> Result<(), Error> {
        drop(self.session);
        self.database.close()
    }
    /// Adds a block, in one commit.
    ///
    /// # Errors
    /// The block is there already; the disk fails.
    pub fn add(&mut self, block: &Block) -> Result<(), Error> {
        let list = |values: Vec<Value>| Value::list(values);
        let name = |name: &str| Value::string(name);
        let all = block.transactions.iter().enumerate();
        let transactions = all.map(|(at, one)| list(vec![name(&one.txid), Value::Int(at as i64)]));
        let (mut outputs, mut scripts) = (Vec::new(), Vec::new());
        for one in &block.transactions {
            for (at, (value, to)) in (0..).zip(&one.outputs) {
                let mut output = vec![name(&one.txid), Value::Int(at), Value::Int(*value)];
                let to = to.as_deref().map(Value::string);
                let place = if to.is_some() { &mut outputs } else { &mut scripts };
                output.extend(to);
                place.push(list(output));
            }
        }
        let inputs = block.transactions.iter().flat_map(|one| {
            let input = |(at, (from, output)): (usize, &(String, i64))| {
                list(vec![name(&one.txid), name(from), Value::Int(*output), Value::Int(at as i64)])
            };
            one.inputs.iter().enumerate().map(input).collect::<Vec<_>>()
        });
        let given = params! {
            "hash" => block.hash.as_str(), "previous" => block.previous.as_str(),
            "height" => block.height, "time" => block.time,
            "transactions" => list(transactions.collect()),
            "outputs" => list(outputs), "scripts" => list(scripts), "inputs" => list(inputs.collect()),
        };
        self.session.transaction(|transaction| {
            for text in ADD {
                transaction.query(text, given.clone())?.finish()?;
            }
            Ok(())
        })
    }
    /// The names of all blocks, by height.
    ///
    /// # Errors
    /// The graph cannot be read.
    pub fn blocks(&mut self) -> Result<Vec<String>, Error> {
        let question = "MATCH (b:Block) WHERE b.height IS NOT NULL RETURN b.hash ORDER BY b.height, b.hash";
        Ok(rows(&mut self.session, question, params! {})?.iter().map(|row| text(row, 0)).collect())
    }
    /// All transactions of a block with everything that they spend and pay, at one moment, in their order.
    ///
    /// # Errors
    /// The graph cannot be read.
    pub fn render(&mut self, hash: &str) -> Result<Vec<Rendered>, Error> {
        self.session.begin(Mode::Read)?;
        let rendered = self.rendered(hash);
        self.session.rollback()?;
        rendered
    }
    /// Three flat statements: rows of a large block come in batches, and no list is made for each transaction.
    fn rendered(&mut self, hash: &str) -> Result<Vec<Rendered>, Error> {
        let mut all = Vec::new();
        self.each(SHOWN, hash, |row| all.push((int(&row[0]), Ordered::new(word(&row[1])))))?;
        all.sort_by_key(|(place, _)| *place);
        let mut add = |place: &Value, add: &mut dyn FnMut(&mut Ordered)| {
            if let Ok(at) = all.binary_search_by_key(&int(place), |(place, _)| *place) {
                add(&mut all[at].1);
            }
        };
        self.each(SHOWN_INPUTS, hash, |row| {
            let mut input = Some((int(&row[1]), (word(&row[3]), int(&row[2]))));
            add(&row[0], &mut |one| one.inputs.extend(input.take()));
        })?;
        self.each(SHOWN_OUTPUTS, hash, |row| {
            let to = row[3].as_str().map(str::to_string);
            let mut output = Some((int(&row[1]), (int(&row[2]), to)));
            add(&row[0], &mut |one| one.outputs.extend(output.take()));
        })?;
        Ok(all.into_iter().map(|(_, one)| one.in_order()).collect())
    }
    /// Takes each row that a statement has of a block.
    fn each(&mut self, text: &str, hash: &str, mut take: impl FnMut(Vec<Value>)) -> Result<(), Error> {
        let mut found = self.session.query(text, params! { "hash" => hash })?;
        while let Some(batch) = found.next_batch()? {
            (0..batch.len()).for_each(|row| take(batch.row(row)));
        }
        Ok(())
    }
    /// Every transaction that money of an address reached, and over how many spendings; those that paid the address at 0. Taint is by transaction, not by
    /// output: whoever spends any output of one of these is reached too, also an output that went to another address.
    ///
    /// # Errors
    /// The graph cannot be read.
    pub fn taint(&mut self, address: &str) -> Result<Vec<(String, i64)>, Error> {
        let question = "MATCH (t:Transaction)-[:PAYS]->(:Address {address: $address}) WITH collect(DISTINCT t) AS first \
             CALL program.reach(first, {types: 'SPENDS', direction: 'in'}) YIELD node, value \
             RETURN node.txid, value ORDER BY value, node.txid";
        let found = rows(&mut self.session, question, params! { "address" => address })?;
        Ok(found.iter().map(|row| (text(row, 0), row[1].as_int().unwrap_or_default())).collect())
    }
    /// Addresses whose money was spent by the same transactions, over any number of them: the largest such groups, and how many addresses each has.
    ///
    /// # Errors
    /// The graph cannot be read.
    pub fn clusters(&mut self, most: i64) -> Result<Vec<(String, i64)>, Error> {
        let question = "CALL graph.wcc({types: ['FROM']}) YIELD node, component WHERE node:Address \
             WITH component, count(*) AS size, min(node.address) AS first \
             WHERE size > 1 RETURN first, size ORDER BY size DESC, first LIMIT $most";
        let found = rows(&mut self.session, question, params! { "most" => most })?;
        Ok(found.iter().map(|row| (text(row, 0), row[1].as_int().unwrap_or_default())).collect())
    }
    /// Flags an address: from now on its taint is told. False where there is no such address.
    ///
    /// # Errors
    /// The disk fails.
    pub fn flag(&mut self, address: &str) -> Result<bool, Error> {
        let text = "MATCH (a:Address {address: $address}) SET a:Flagged RETURN count(*)";
        Ok(ask::number(&mut self.session, text, params! { "address" => address })? > 0)
    }
    /// Takes a flag back.
    ///
    /// # Errors
    /// The disk fails.
    pub fn unflag(&mut self, address: &str) -> Result<(), Error> {
        let text = "MATCH (a:Address {address: $address}) REMOVE a:Flagged";
        run(&mut self.session, text, params! { "address" => address })
    }
    /// Is told of every transaction that taint of a flagged address reaches, from now on.
    ///
    /// # Errors
    /// The standing query was dropped.
    pub fn watch(&self, with_all: bool) -> Result<Told<TaintChange>, Error> {
        Told::begin(&self.database, "tainted", with_all, |difference, row| TaintChange {
            txid: text(row, 0),
            difference,
        })
    }
}

/// What shows a block: its transactions, all that they spend, and all that they pay, each with the place of the transaction.
const SHOWN: &str = "MATCH (:Block {hash: $hash})-[h:HAS]->(t) RETURN h.n, t.txid";
const SHOWN_INPUTS: &str =
    "MATCH (:Block {hash: $hash})-[h:HAS]->()-[s:SPENDS]->(u) RETURN h.n, s.n, s.output, u.txid";
const SHOWN_OUTPUTS: &str =
    "MATCH (:Block {hash: $hash})-[h:HAS]->()-[p:PAYS]->(a) RETURN h.n, p.n, p.value, a.address";

/// A transaction whose inputs and outputs come in any order, each with its place.
struct Ordered {
    txid: String,
    inputs: Vec<(i64, (String, i64))>,
    outputs: Vec<(i64, (i64, Option<String>))>,
}

impl Ordered {
    fn new(txid: String) -> Ordered {
        Ordered { txid, inputs: Vec::new(), outputs: Vec::new() }
    }
    fn in_order(mut self) -> Transaction {
        self.inputs.sort_by_key(|(place, _)| *place);
        self.outputs.sort_by_key(|(place, _)| *place);
        Transaction {
            txid: self.txid,
            inputs: self.inputs.into_iter().map(|(_, input)| input).collect(),
            outputs: self.outputs.into_iter().map(|(_, output)| output).collect(),
        }
    }
}

fn int(value: &Value) -> i64 {
    value.as_int().unwrap_or_default()
}

fn word(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_string()
}

/// What adds a block. An output without an address pays a node without one.
const ADD: [&str; 6] = [
    "CREATE (b:Block {hash: $hash}) SET b.height = $height, b.time = $time, b.previous = $previous",
    "MATCH (b:Block {hash: $hash}) UNWIND $transactions AS one MERGE (t:Transaction {txid: one[0]}) \
     CREATE (b)-[:HAS {n: one[1]}]->(t)",
    "UNWIND $outputs AS out MATCH (t:Transaction {txid: out[0]}) MERGE (a:Address {address: out[3]}) \
     CREATE (t)-[:PAYS {n: out[1], value: out[2]}]->(a)",
    "UNWIND $scripts AS out MATCH (t:Transaction {txid: out[0]}) CREATE (t)-[:PAYS {n: out[1], value: out[2]}]->(:Script)",
    "UNWIND $inputs AS spent MATCH (t:Transaction {txid: spent[0]}) MERGE (u:Transaction {txid: spent[1]}) \
     CREATE (t)-[:SPENDS {output: spent[2], n: spent[3]}]->(u)",
    "UNWIND $inputs AS spent MATCH (t:Transaction {txid: spent[0]}), (u:Transaction {txid: spent[1]})-[p:PAYS]->(a:Address) \
     WHERE p.n = spent[2] CREATE (t)-[:FROM {value: p.value}]->(a)",
];
