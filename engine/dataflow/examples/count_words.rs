//! The smallest whole query: words from a source, split by their hash over all executors, counted there, gathered for the client.
//!
//! `cargo run -p tanglewood-dataflow --example count_words`

use std::collections::BTreeMap;
use std::sync::Arc;
use tanglewood_dataflow::{
    Context, Flow, GraphBuilder, Message, Operator, Outcome, QueryOptions, Route, Runtime, RuntimeOptions,
    VertexOptions,
};

const TEXT: &str = "a rose is a rose is a rose and a violet is not a rose";

/// Words with how often each was seen.
struct Words(Vec<(&'static str, u64)>);

impl Message for Words {
    fn rows(&self) -> usize {
        self.0.len()
    }
    fn bytes(&self) -> usize {
        self.0.len() * size_of::<(&str, u64)>()
    }
}

/// A source: says `Again` until the text is read.
struct Read(std::iter::Peekable<std::str::SplitWhitespace<'static>>);

impl Operator<Words> for Read {
    fn receive(&mut self, _port: usize, _message: Words, _context: &mut Context<'_, Words>) -> Outcome {
        unreachable!("a source has no ports")
    }
    fn resume(&mut self, context: &mut Context<'_, Words>) -> Outcome {
        let batch: Vec<_> = self.0.by_ref().take(4).map(|word| (word, 1)).collect();
        context.send(Words(batch));
        Ok(if self.0.peek().is_some() { Flow::Again } else { Flow::Ready })
    }
}

/// One twin on each executor, each with its share of the words.
#[derive(Default)]
struct Count(BTreeMap<&'static str, u64>);

impl Operator<Words> for Count {
    fn receive(&mut self, _port: usize, message: Words, context: &mut Context<'_, Words>) -> Outcome {
        context.charge(message.bytes())?;
        message.0.into_iter().for_each(|(word, count)| *self.0.entry(word).or_default() += count);
        Ok(Flow::Ready)
    }
    fn on_completion(&mut self, _port: usize, context: &mut Context<'_, Words>) -> Outcome {
        context.send(Words(std::mem::take(&mut self.0).into_iter().collect()));
        Ok(Flow::Ready)
    }
}

/// Passes on; only there to gather.
struct Gather;

impl Operator<Words> for Gather {
    fn receive(&mut self, _port: usize, message: Words, context: &mut Context<'_, Words>) -> Outcome {
        context.send(message);
        Ok(Flow::Ready)
    }
}

fn by_word(words: Words, parts: usize) -> Vec<(usize, Words)> {
    let mut split: Vec<Vec<_>> = (0..parts).map(|_| Vec::new()).collect();
    words.0.into_iter().for_each(|(word, count)| split[word.len() % parts].push((word, count)));
    split
        .into_iter()
        .enumerate()
        .filter(|(_, part)| !part.is_empty())
        .map(|(to, part)| (to, Words(part)))
        .collect()
}

fn main() {
    let runtime = Runtime::start(RuntimeOptions::default()).unwrap();
    let mut graph = GraphBuilder::new();
    let read =
        graph.vertex("Read", VertexOptions::source(), |_| Box::new(Read(TEXT.split_whitespace().peekable())));
    let count = graph.vertex("Count", VertexOptions::default(), |_| Box::new(Count::default()));
    let gather = graph.vertex("Gather", VertexOptions::default(), |_| Box::new(Gather));
    graph.connect(read, 0, count, 0, Route::Partition(Arc::new(by_word)));
    graph.connect(count, 0, gather, 0, Route::Gather);
    graph.output(gather);

    let mut query = runtime
        .submit(graph.finish().unwrap(), QueryOptions { label: "count".into(), ..QueryOptions::default() });
    let mut counted = BTreeMap::new();
    while let Some(batch) = query.next() {
        counted.extend(batch.unwrap().0);
    }
    assert_eq!(
        counted,
        BTreeMap::from([("a", 5), ("and", 1), ("is", 3), ("not", 1), ("rose", 4), ("violet", 1)])
    );
    counted.iter().for_each(|(word, count)| println!("{count} {word}"));
    for vertex in query.profile() {
        println!(
            "{:8} x{} {:3} rows in {:3} out {:6} ns",
            vertex.name, vertex.instances, vertex.rows_in, vertex.rows_out, vertex.cpu_ns
        );
    }
}
