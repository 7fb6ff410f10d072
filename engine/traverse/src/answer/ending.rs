//! How a traversal ends: `.next(3)`, `.hasNext()`, `.iterate()`, … decide how much of its objects is the answer.

use super::outcome::Objects;
use gremlin::{Object, Terminal};

/// The part of an answer that its terminal step wants.
#[derive(Clone, Copy, Debug)]
pub struct Ending {
    terminal: Terminal,
    left: u64,
}

impl Ending {
    /// As a text says.
    pub fn new(terminal: Terminal) -> Ending {
        let left = match terminal {
            Terminal::Next(count) => count,
            Terminal::TryNext | Terminal::HasNext => 1,
            _ => u64::MAX,
        };
        Ending { terminal, left }
    }
    /// Does it want no objects?
    pub fn is_silent(&self) -> bool {
        self.terminal == Terminal::Iterate
    }
    /// Has it got all objects that it wants?
    pub fn is_over(&self) -> bool {
        self.left == 0
    }
    /// The wanted part of more objects, which `more` waits for; none at the end.
    ///
    /// # Errors
    /// As `more`.
    pub fn next_of<E>(
        &mut self,
        more: impl FnOnce() -> Result<Option<Objects>, E>,
    ) -> Result<Option<Objects>, E> {
        if self.left == 0 {
            return Ok(None);
        }
        let Some(mut found) = more()? else {
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
