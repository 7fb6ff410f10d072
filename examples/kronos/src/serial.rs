//! One order for all operations of a history, if there is one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Which operations must come before which: a graph over numbers.
pub(crate) struct Precedence {
    after: Vec<Vec<u32>>,
    before: Vec<u32>,
}

impl Precedence {
    pub(crate) fn new(operations: usize) -> Precedence {
        Precedence { after: vec![Vec::new(); operations], before: vec![0; operations] }
    }
    pub(crate) fn add(&mut self, first: usize, second: usize) {
        self.after[first].push(second as u32);
        self.before[second] += 1;
    }
    /// A serial order, or why there is none.
    pub(crate) fn order(mut self) -> Result<Vec<usize>, String> {
        let free = |(at, count): (usize, &u32)| (*count == 0).then_some(Reverse(at));
        let mut ready: BinaryHeap<Reverse<usize>> = self.before.iter().enumerate().filter_map(free).collect();
        let mut order = Vec::with_capacity(self.before.len());
        while let Some(Reverse(at)) = ready.pop() {
            order.push(at);
            for next in std::mem::take(&mut self.after[at]) {
                self.before[next as usize] -= 1;
                if self.before[next as usize] == 0 {
                    ready.push(Reverse(next as usize));
                }
            }
        }
        let left = self.before.len() - order.len();
        if left == 0 {
            Ok(order)
        } else {
            Err(format!("{left} operations come before each other in a circle"))
        }
    }
}
