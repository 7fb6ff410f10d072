//! The edges among vertices of the first ranks as bits, and triangles of two of them and one vertex.
//!
//! Idea: a row of bits a vertex. Of a vertex's neighbours in the core, each is looked up in the rows of the others: one by one where they are
//! few, all at once by `and` where they are many. Cost: a bit a pair, twice that where edges have a direction.

use super::lists::is_double;
use crate::work::Work;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Vertices in the core: two megabytes of bits, about what lies near a processor.
pub(super) const CORE_MAX: usize = 4096;
/// Neighbours that are looked up one by one, for each word of a row.
const FEW_PER_WORD: usize = 2;

pub(super) struct Core {
    size: usize,
    words: usize,
    is_directed: bool,
    /// While they are made. Row after row: is there an edge to, either way? And, if they have a direction: does one lead there?
    making: [Vec<AtomicU64>; 2],
    made: OnceLock<[Vec<u64>; 2]>,
}

impl Core {
    pub(super) fn new(size: usize, is_directed: bool) -> Core {
        let words = size.div_ceil(64);
        let bits = |count: usize| (0..count).map(|_| AtomicU64::new(0)).collect::<Vec<_>>();
        let making = [bits(size * words), bits(if is_directed { size * words } else { 0 })];
        Core { size, words, is_directed, making, made: OnceLock::new() }
    }
    pub(super) fn size(&self) -> usize {
        self.size
    }
    /// There are edges between these two; bit 0 says that one leads from the first, bit 1 that one leads to it.
    pub(super) fn join(&self, one: usize, other: usize, ways: u64) {
        let set = |bits: &[AtomicU64], row: usize, at: usize| {
            bits[row * self.words + at / 64].fetch_or(1 << (at % 64), Relaxed);
        };
        set(&self.making[0], one, other);
        set(&self.making[0], other, one);
        if self.is_directed && ways & 1 > 0 {
            set(&self.making[1], one, other);
        }
        if self.is_directed && ways & 2 > 0 {
            set(&self.making[1], other, one);
        }
    }
    /// All edges are here.
    pub(super) fn settle(&self) {
        let plain = |bits: &Vec<AtomicU64>| bits.iter().map(|word| word.load(Relaxed)).collect::<Vec<_>>();
        let [all, out] = &self.making;
        self.made.get_or_init(|| [plain(all), plain(out)]);
    }
    /// Empty where edges have no direction and that is asked for.
    #[inline(always)]
    fn row<'a>(&self, bits: &'a [u64], one: u32) -> &'a [u64] {
        let start = (one >> 1) as usize * self.words;
        bits.get(start..start + self.words).unwrap_or_default()
    }
    pub(super) fn bytes(&self) -> usize {
        let bits: usize = self.making.iter().map(|bits| bits.capacity() * 8).sum();
        bits * if self.made.get().is_some() { 2 } else { 1 }
    }
}

/// A worker's counts, by rank, and the neighbours of the vertex that is crossed.
#[derive(Default)]
pub(super) struct Gathered {
    pub(super) among: Vec<u64>,
    /// Bits: neighbours, and those to which edges lead both ways.
    all: Vec<u64>,
    double: Vec<u64>,
}

impl Gathered {
    pub(super) fn make(&mut self, core: &Core) {
        self.among.resize(core.size, 0);
        self.all.resize(core.words, 0);
        self.double.resize(core.words, 0);
    }

    /// Triangles of a vertex and two of its neighbours in the core; the edges opposite to it.
    pub(super) fn cross(&mut self, core: &Core, list: &[u32], work: &mut Work<'_>) -> u64 {
        let Some([all, out]) = core.made.get() else { return 0 };
        if list.len() < 2 {
            work.charge(list.len());
            return 0;
        }
        let is_few = list.len() <= core.words * FEW_PER_WORD;
        if !is_few {
            self.spread(list);
        }
        let mut among = 0;
        for one in list {
            let (all, out) = (core.row(all, *one), core.row(out, *one));
            let (opposite, own) = match (is_few, core.is_directed) {
                (true, false) => few(list, all),
                (true, true) => few_directed(list, all, out),
                (false, false) => many(&self.all, all),
                (false, true) => many_directed(&self.all, &self.double, all, out),
            };
            among += opposite;
            self.among[(one >> 1) as usize] += own;
        }
        work.charge(list.len() * if is_few { list.len() } else { core.words });
        if !is_few {
            self.all.fill(0);
            self.double.fill(0);
        }
        among
    }

    fn spread(&mut self, list: &[u32]) {
        for one in list {
            let (word, bit) = ((one >> 7) as usize, 1 << (one >> 1 & 63));
            self.all[word] |= bit;
            self.double[word] |= if is_double(*one) > 0 { bit } else { 0 };
        }
    }

    pub(super) fn hand_in(&mut self, among: &[AtomicU64]) {
        for (mine, all) in self.among.iter_mut().zip(among).filter(|(mine, _)| **mine > 0) {
            all.fetch_add(std::mem::take(mine), Relaxed);
        }
    }
}

/// Of one neighbour, given all and its row: the edges opposite to the vertex, and those opposite to the neighbour. Each edge among
/// neighbours is met at both of its ends, and counts two, one for each way.
#[inline(always)]
fn few(list: &[u32], all: &[u64]) -> (u64, u64) {
    let met: u64 = list.iter().map(|other| bit(all, *other)).sum();
    (met, 2 * met)
}

/// The same where edges have a direction: opposite to the vertex those that lead from the neighbour, opposite to the neighbour as many as
/// there are between the vertex and the others.
#[inline(always)]
fn few_directed(list: &[u32], all: &[u64], out: &[u64]) -> (u64, u64) {
    let (mut opposite, mut own) = (0, 0);
    for other in list {
        opposite += bit(out, *other);
        own += bit(all, *other) * (1 + is_double(*other));
    }
    (opposite, own)
}

#[inline(always)]
fn bit(row: &[u64], one: u32) -> u64 {
    row[(one >> 7) as usize] >> (one >> 1 & 63) & 1
}

fn many(list: &[u64], all: &[u64]) -> (u64, u64) {
    let met = in_common(list, all);
    (met, 2 * met)
}

fn many_directed(list: &[u64], double: &[u64], all: &[u64], out: &[u64]) -> (u64, u64) {
    (in_common(list, out), in_common(list, all) + in_common(double, all))
}

fn in_common(one: &[u64], other: &[u64]) -> u64 {
    one.iter().zip(other).map(|(one, other)| u64::from((one & other).count_ones())).sum()
}
