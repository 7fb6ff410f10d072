//! Infers precedence between transactions from their reads and writes.
//!
//! Idea: a list that was read is the order of its writers; a reader of a prefix comes after the writer of its last value and before the
//! writer of the next. A set orders each reader after the writers of what it saw and before those of what it missed. For registers, which
//! prove less by themselves, every order that follows from the other edges is added until nothing new follows.
//! Invariant: each edge holds in every serial order that explains the history, so a cycle is never a false alarm. For lists and sets
//! that are read whole in the end the converse holds too; a test compares with trying all orders.
//! Transactions that were refused give no edges, but what they read must have been there: every snapshot is promised to be whole.

use crate::anomaly::Anomaly;
use crate::cycle::{Edge, Graph, Kind};
use crate::history::{History, Object, Observed, Operation, Outcome};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// All accesses to one object: which transaction wrote which value, and which reads saw values of other transactions.
#[derive(Default)]
struct About {
    /// Value to its writer, and whether it was that writer's last here.
    writers: BTreeMap<i64, (usize, bool)>,
    /// The value that each transaction read here before its own writes.
    reads: Vec<(usize, Vec<i64>)>,
}

/// Collects the edges, and the anomalies that show without them.
pub struct Inference<'a> {
    history: &'a History,
    objects: BTreeMap<Object, About>,
    /// Transactions that took effect, as far as anyone can tell.
    took_effect: Vec<bool>,
    anomalies: Vec<Anomaly>,
    graph: Graph,
}

/// The edges of a history, and the anomalies that are none of cycles.
///
/// # Panics
/// When a value was written twice to one object: then a history proves nothing, and the workload is at fault.
pub fn infer(history: &History) -> (Graph, Vec<Anomaly>) {
    let len = history.transactions.len();
    let mut inference = Inference {
        history,
        objects: BTreeMap::new(),
        took_effect: vec![false; len],
        anomalies: Vec::new(),
        graph: Graph::new(len),
    };
    inference.collect();
    inference.decide_effects();
    let objects = std::mem::take(&mut inference.objects);
    for (object, about) in &objects {
        inference.look_at_reads(*object, about);
        match object {
            Object::List(_) => inference.list(*object, about),
            Object::Set(_) => inference.set(*object, about),
            Object::Register(_) => inference.register(*object, about),
        }
        inference.lost(*object, about);
    }
    inference.real_time();
    inference.saturate(&objects);
    (inference.graph, inference.anomalies)
}

impl Inference<'_> {
    fn at(&self, number: usize) -> &Observed {
        &self.history.transactions[number]
    }

    /// Sorts operations by object, and checks that each transaction agrees with itself.
    fn collect(&mut self) {
        for (number, transaction) in self.history.transactions.iter().enumerate() {
            let mut own: BTreeMap<Object, Vec<i64>> = BTreeMap::new();
            let mut outside: BTreeMap<Object, Vec<i64>> = BTreeMap::new();
            for operation in &transaction.operations {
                let object = operation.object();
                let about = self.objects.entry(object).or_default();
                let mine = own.entry(object).or_default();
                if let Some(value) = operation.written() {
                    if let Some((_, last)) = mine.last().and_then(|value| about.writers.get_mut(value)) {
                        *last = false;
                    }
                    let before = about.writers.insert(value, (number, true));
                    assert!(
                        before.is_none(),
                        "{value} was written twice to {object}: the workload is at fault"
                    );
                    mine.push(value);
                    continue;
                }
                match found_outside(operation, mine) {
                    Some(Some(found)) => {
                        let first = outside.entry(object).or_insert_with(|| found.clone());
                        if *first != found {
                            self.anomalies.push(Anomaly::Internal { transaction: number, object });
                        }
                    }
                    Some(None) => {}
                    None => self.anomalies.push(Anomaly::Internal { transaction: number, object }),
                }
            }
            for (object, found) in outside {
                self.objects.entry(object).or_default().reads.push((number, found));
            }
        }
    }

    /// A transaction took effect if it was acknowledged, or if its outcome is unknown and some read saw it.
    fn decide_effects(&mut self) {
        for (number, transaction) in self.history.transactions.iter().enumerate() {
            self.took_effect[number] = transaction.outcome == Outcome::Committed;
        }
        for about in self.objects.values() {
            for (reader, seen) in &about.reads {
                for (writer, _) in seen.iter().filter_map(|value| about.writers.get(value)) {
                    if writer != reader && self.history.transactions[*writer].outcome == Outcome::Unknown {
                        self.took_effect[*writer] = true;
                    }
                }
            }
        }
    }

    /// Values that should not be there, or not so.
    fn look_at_reads(&mut self, object: Object, about: &About) {
        for (reader, seen) in &about.reads {
            let reader = *reader;
            let mut met = HashSet::new();
            let whole: HashSet<i64> = seen.iter().copied().collect();
            for value in seen.iter().copied() {
                if !met.insert(value) {
                    self.anomalies.push(Anomaly::Duplicate { reader, object, value });
                }
                let Some((writer, last)) = about.writers.get(&value).copied() else {
                    self.anomalies.push(Anomaly::Garbage { reader, object, value });
                    continue;
                };
                if self.at(writer).outcome == Outcome::Aborted {
                    self.anomalies.push(Anomaly::AbortedRead { reader, writer, object, value });
                }
                let others = || about.writers.iter().filter(|(_, (other, _))| *other == writer);
                let half = match object {
                    Object::Register(_) => !last,
                    Object::List(_) | Object::Set(_) => others().any(|(other, _)| !whole.contains(other)),
                };
                if half && !self.anomalies.iter().any(|known| is_half_of(known, reader, writer, object)) {
                    self.anomalies.push(Anomaly::IntermediateRead { reader, writer, object, value });
                }
            }
        }
    }

    fn effective<'b>(&'b self, about: &'b About) -> impl Iterator<Item = (usize, &'b [i64])> + 'b {
        let reads = about.reads.iter().filter(|(reader, _)| self.took_effect[*reader]);
        reads.map(|(reader, seen)| (*reader, seen.as_slice()))
    }

    fn effective_writers<'b>(&'b self, about: &'b About) -> impl Iterator<Item = (usize, i64)> + 'b {
        let writers = about.writers.iter().filter(|(_, (writer, _))| self.took_effect[*writer]);
        writers.map(|(value, (writer, _))| (*writer, *value))
    }

    fn list(&mut self, object: Object, about: &About) {
        let Some((longest, order)) = about.reads.iter().max_by_key(|(_, seen)| seen.len()) else {
            return;
        };
        for (reader, seen) in &about.reads {
            if !order.starts_with(seen) {
                self.anomalies.push(Anomaly::Incompatible { one: *longest, other: *reader, object });
            }
        }
        let writer = |value: &i64| about.writers.get(value).map(|(writer, _)| *writer);
        let unseen: Vec<(usize, i64)> =
            self.effective_writers(about).filter(|(_, value)| !order.contains(value)).collect();
        let mut edges = Vec::new();
        let mut push =
            |from, to, kind, value| edges.push(Edge { from, to, kind, about: Some((object, value)) });
        for pair in order.windows(2) {
            if let (Some(from), Some(to)) = (writer(&pair[0]), writer(&pair[1])) {
                push(from, to, Kind::WriteWrite, pair[1]);
            }
        }
        for (to, value) in &unseen {
            if let Some(from) = order.last().and_then(writer) {
                push(from, *to, Kind::WriteWrite, *value);
            }
        }
        for (reader, seen) in self.effective(about) {
            if let Some((value, from)) = seen.last().and_then(|value| Some((*value, writer(value)?))) {
                push(from, reader, Kind::WriteRead, value);
            }
            match order.get(seen.len()) {
                Some(value) => {
                    if let Some(to) = writer(value) {
                        push(reader, to, Kind::ReadWrite, *value);
                    }
                }
                None => unseen.iter().for_each(|(to, value)| push(reader, *to, Kind::ReadWrite, *value)),
            }
        }
        self.add(edges);
    }

    fn set(&mut self, object: Object, about: &About) {
        let writers: Vec<(usize, i64)> = self.effective_writers(about).collect();
        let mut edges = Vec::new();
        for (reader, seen) in self.effective(about) {
            let seen: HashSet<i64> = seen.iter().copied().collect();
            for (writer, value) in writers.iter().copied() {
                let about = Some((object, value));
                edges.push(match seen.contains(&value) {
                    true => Edge { from: writer, to: reader, kind: Kind::WriteRead, about },
                    false => Edge { from: reader, to: writer, kind: Kind::ReadWrite, about },
                });
            }
        }
        self.add(edges);
    }

    /// The edges that a register proves by itself; see [`Inference::saturate`] for the rest.
    fn register(&mut self, object: Object, about: &About) {
        let writers: Vec<(usize, i64)> = self.effective_writers(about).collect();
        let mut edges = Vec::new();
        for (reader, seen) in self.effective(about) {
            match seen.first() {
                None => edges.extend(writers.iter().map(|(writer, value)| Edge {
                    from: reader,
                    to: *writer,
                    kind: Kind::ReadWrite,
                    about: Some((object, *value)),
                })),
                Some(value) => edges.extend(about.writers.get(value).map(|(writer, _)| Edge {
                    from: *writer,
                    to: reader,
                    kind: Kind::WriteRead,
                    about: Some((object, *value)),
                })),
            }
        }
        self.add(edges);
    }

    fn add(&mut self, edges: Vec<Edge>) {
        for edge in edges {
            self.graph.add(edge);
        }
    }

    /// Acknowledged values that later reads of the object did not find.
    fn lost(&mut self, object: Object, about: &About) {
        if matches!(object, Object::Register(_)) {
            return;
        }
        for (value, (writer, _)) in &about.writers {
            let wrote = self.at(*writer);
            if wrote.outcome != Outcome::Committed {
                continue;
            }
            let after: Vec<&(usize, Vec<i64>)> =
                about.reads.iter().filter(|(reader, _)| self.at(*reader).invoked > wrote.returned).collect();
            if let Some((reader, _)) = after.first()
                && after.iter().all(|(_, seen)| !seen.contains(value))
            {
                let (writer, reader, value) = (*writer, *reader, *value);
                self.anomalies.push(Anomaly::Lost { writer, reader, object, value });
            }
        }
    }

    /// Edges of real time, without those that follow from others: a transaction that has answered stays at the front until one that began after it
    /// has answered too.
    fn real_time(&mut self) {
        let mut events: Vec<(u64, bool, usize)> = Vec::new();
        for (number, transaction) in self.history.transactions.iter().enumerate() {
            if !self.took_effect[number] {
                continue;
            }
            events.push((transaction.invoked, false, number));
            // Who never learnt the outcome knows no moment at which it had ended.
            if transaction.outcome == Outcome::Committed {
                events.push((transaction.returned, true, number));
            }
        }
        events.sort_unstable();
        let mut front: BTreeSet<usize> = BTreeSet::new();
        let mut before: HashMap<usize, Vec<usize>> = HashMap::new();
        for (_, answered, number) in events {
            if answered {
                before.remove(&number).iter().flatten().for_each(|earlier| {
                    front.remove(earlier);
                });
                front.insert(number);
            } else {
                before.insert(number, front.iter().copied().collect());
                let edge = |from| Edge { from, to: number, kind: Kind::RealTime, about: None };
                self.add(front.iter().copied().map(edge).collect());
            }
        }
    }

    /// Orders of register writes that follow from all edges: if one writer comes before another, so do the readers of its value; if a
    /// writer comes before the reader of another's value, it comes before that other. Until nothing new follows.
    fn saturate(&mut self, objects: &BTreeMap<Object, About>) {
        const ALL: [Kind; 4] = [Kind::WriteWrite, Kind::WriteRead, Kind::ReadWrite, Kind::RealTime];
        let registers: Vec<(&Object, &About)> =
            objects.iter().filter(|(object, _)| matches!(object, Object::Register(_))).collect();
        let mut rules = [Kind::ReadWrite, Kind::WriteWrite].iter().cycle();
        let mut idle = 0;
        // One rule at a time, reads first: a cycle then shows what was read wrongly, not what follows from it.
        while idle < 2 && !registers.is_empty() && self.graph.components(&ALL).is_empty() {
            let rule = rules.next().expect("a cycle has no end");
            let reach = Reach::of(&self.graph);
            let mut edges = Vec::new();
            for (object, about) in &registers {
                self.register_orders(**object, about, &reach, &mut edges);
            }
            edges.retain(|edge| edge.kind == *rule);
            let grew = edges.into_iter().fold(false, |grew, edge| self.graph.add(edge) | grew);
            idle = if grew { 0 } else { idle + 1 };
        }
    }

    fn register_orders(&self, object: Object, about: &About, reach: &Reach, edges: &mut Vec<Edge>) {
        let last_only = |(_, value): &(usize, i64)| about.writers[value].1;
        let writers: Vec<(usize, i64)> = self.effective_writers(about).filter(last_only).collect();
        for (reader, seen) in self.effective(about) {
            let Some(read) = seen.first() else { continue };
            let Some((first, _)) = about.writers.get(read).copied() else { continue };
            for (second, value) in writers.iter().copied().filter(|(second, _)| *second != first) {
                if reach.is(first, second) && reader != second {
                    let about = Some((object, value));
                    edges.push(Edge { from: reader, to: second, kind: Kind::ReadWrite, about });
                }
                if reach.is(second, reader) {
                    let about = Some((object, *read));
                    edges.push(Edge { from: second, to: first, kind: Kind::WriteWrite, about });
                }
            }
        }
    }
}

fn is_half_of(anomaly: &Anomaly, of_reader: usize, of_writer: usize, at: Object) -> bool {
    matches!(anomaly, Anomaly::IntermediateRead { reader, writer, object, .. }
        if *reader == of_reader && *writer == of_writer && *object == at)
}

/// The part of a read that shows others' writes: `Some(None)` if own writes hide it, `None` if own writes are not where they must be.
fn found_outside(operation: &Operation, own: &[i64]) -> Option<Option<Vec<i64>>> {
    match operation {
        Operation::ReadList(_, seen) => {
            let others = seen.strip_suffix(own)?;
            Some(Some(others.to_vec()))
        }
        Operation::ReadSet(_, seen) => {
            let found = |value: &&i64| seen.iter().filter(|other| other == value).count() == 1;
            if !own.iter().all(|value| found(&value)) {
                return None;
            }
            let mut others: Vec<i64> = seen.iter().copied().filter(|value| !own.contains(value)).collect();
            others.sort_unstable();
            Some(Some(others))
        }
        Operation::Read(_, seen) => match own.last() {
            Some(last) => (*seen == Some(*last)).then_some(None),
            None => Some(Some(seen.iter().copied().collect())),
        },
        Operation::Append(..) | Operation::Add(..) | Operation::Write(..) => Some(None),
    }
}

/// Reachability between transactions, as one bit row per transaction.
struct Reach {
    words: usize,
    bits: Vec<u64>,
}

impl Reach {
    fn of(graph: &Graph) -> Reach {
        let words = graph.len().div_ceil(64);
        let mut reach = Reach { words, bits: vec![0; words * graph.len()] };
        let mut grew = true;
        while grew {
            grew = false;
            for edge in graph.edges().iter().rev() {
                grew |= reach.take_over(edge.from, edge.to);
            }
        }
        reach
    }
    /// Adds everything that `to` reaches, and `to` itself, to what `from` reaches; true if that changed anything.
    fn take_over(&mut self, from: usize, to: usize) -> bool {
        let mut grew = false;
        for word in 0..self.words {
            let own = u64::from(to / 64 == word) << (to % 64);
            let more = self.bits[to * self.words + word] | own;
            let row = &mut self.bits[from * self.words + word];
            grew |= *row | more != *row;
            *row |= more;
        }
        grew
    }
    fn is(&self, from: usize, to: usize) -> bool {
        self.bits[from * self.words + to / 64] >> (to % 64) & 1 == 1
    }
}
