//! How a traversal ends: `.next(3)`, `.hasNext()`, `.iterate()`, … decide how much of its objects is the answer.

use super::GremlinAnswer;
use crate::Error;
use gremlin::{Object, Terminal};

/// The part of an answer that its terminal asks for.
pub struct Ended {
    /// The answer; tells what stands behind its vertices and edges.
    pub answer: GremlinAnswer,
    terminal: Terminal,
    left: u64,
}

impl GremlinAnswer {
    /// Ends it as a text says.
    pub fn ended_by(self, terminal: Terminal) -> Ended {
        let left = match terminal {
            Terminal::Next(count) => count,
            Terminal::TryNext | Terminal::HasNext => 1,
            _ => u64::MAX,
        };
        Ended { answer: self, terminal, left }
    }
}

impl Ended {
    /// Are no objects asked for?
    pub fn is_silent(&self) -> bool {
        self.terminal == Terminal::Iterate
    }
    /// Waits for more objects, each with how often it is there; none at the end.
    ///
    /// # Errors
    /// The traversal fails.
    pub fn next_objects(&mut self) -> Result<Option<Vec<(Object, u64)>>, Error> {
        if self.left == 0 {
            return Ok(None);
        }
        let Some(mut found) = self.answer.next_objects()? else {
            self.left = 0;
            let is_there = self.terminal == Terminal::HasNext;
            return Ok(is_there.then(|| vec![(Object::Bool(false), 1)]));
        };
        match self.terminal {
            Terminal::Iterate => found.clear(),
            Terminal::HasNext if !found.is_empty() => {
                self.left = 0;
                found = vec![(Object::Bool(true), 1)];
            }
            _ => {
                found.retain_mut(|(_, bulk)| {
                    *bulk = (*bulk).min(self.left);
                    self.left -= *bulk;
                    *bulk > 0
                });
            }
        }
        Ok(Some(found))
    }
}
