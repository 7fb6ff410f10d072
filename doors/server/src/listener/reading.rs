//! What a client sent and nobody took yet: bytes, half a message, messages read ahead; all of it on an account.

use crate::bolt::chunks::Assembler;
use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes of messages read ahead of a conversation that is busy; the message that goes beyond is still read.
const AHEAD_BYTES_MAX: usize = 1 << 20;
/// Messages read ahead of it.
const AHEAD_MESSAGES_MAX: usize = 64;
/// Bytes that each connection may hold without an account.
const FREE_BYTES: usize = 64 << 10;
const RESET: u8 = 0x0F;

/// Bytes that all connections hold together, and may.
#[derive(Clone)]
pub(crate) struct Incoming {
    held: Arc<AtomicUsize>,
    max: usize,
}

impl Incoming {
    pub fn new(max: usize) -> Incoming {
        Incoming { held: Arc::default(), max }
    }
    /// One connection holds `now` instead of `before`.
    pub(crate) fn change(&self, before: usize, now: usize) -> bool {
        let (before, now) = (before.saturating_sub(FREE_BYTES), now.saturating_sub(FREE_BYTES));
        let held = self.held.fetch_add(now.wrapping_sub(before), Ordering::AcqRel);
        now <= before || held.wrapping_add(now - before) <= self.max
    }
}

/// Puts one client's bytes together to messages.
pub(super) struct Assembly {
    assembler: Assembler,
    ahead: VecDeque<Vec<u8>>,
    ahead_bytes: usize,
    resets: usize,
    incoming: Incoming,
    charged: usize,
}

impl Assembly {
    pub fn new(incoming: Incoming, message_bytes_max: usize) -> Assembly {
        Assembly {
            assembler: Assembler::within(message_bytes_max),
            ahead: VecDeque::new(),
            ahead_bytes: 0,
            resets: 0,
            incoming,
            charged: 0,
        }
    }
    /// From now on messages may be so long.
    pub fn trust(&mut self, message_bytes_max: usize) {
        self.assembler.message_bytes_max = message_bytes_max;
    }
    /// Takes what came from the socket.
    pub fn feed(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.assembler.feed(bytes);
        self.charge()
    }
    fn charge(&mut self) -> io::Result<()> {
        let held = self.assembler.held() + self.ahead_bytes;
        let fits = self.incoming.change(self.charged, held);
        self.charged = held;
        if fits {
            Ok(())
        } else {
            Err(refused("the server holds too many unfinished messages; try again later"))
        }
    }
    /// Bytes as they came, before messages begin.
    pub fn take_raw(&mut self, bytes: &mut [u8]) -> usize {
        self.assembler.take_raw(bytes)
    }
    /// The next message.
    pub fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        if let Some(message) = self.ahead.pop_front() {
            self.ahead_bytes -= message.len();
            self.charge()?;
            return Ok(Some(message));
        }
        let next = self.take_message()?;
        if next.is_some() {
            self.charge()?;
        }
        Ok(next)
    }
    fn take_message(&mut self) -> io::Result<Option<Vec<u8>>> {
        let max = self.assembler.message_bytes_max;
        self.assembler.next_message().map_err(|_| refused(&format!("a message is longer than {max} bytes")))
    }
    /// May more be read ahead?
    pub fn has_room(&self) -> bool {
        self.ahead_bytes < AHEAD_BYTES_MAX && self.ahead.len() < AHEAD_MESSAGES_MAX
    }
    /// Has a message begun that has not ended?
    pub fn is_amid_message(&self) -> bool {
        self.assembler.is_amid_message()
    }
    /// Puts messages together ahead of who takes them, to meet RESETs among them.
    pub fn gather(&mut self) -> io::Result<()> {
        while self.has_room() {
            let Some(message) = self.take_message()? else { break };
            self.resets += usize::from(message.get(1) == Some(&RESET));
            self.ahead_bytes += message.len();
            self.ahead.push_back(message);
        }
        self.charge()
    }
    /// RESETs met since the last call.
    pub fn take_resets(&mut self) -> usize {
        std::mem::take(&mut self.resets)
    }
}

impl Drop for Assembly {
    fn drop(&mut self) {
        self.incoming.change(self.charged, 0);
    }
}

/// An error that the client is told.
fn refused(what: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::bolt::chunks::write;

    #[test]
    fn all_connections_share_one_account() {
        let incoming = Incoming::new(1 << 20);
        let half = [&[0xFF, 0xFF][..], &[7; 65_535]].concat();
        let mut clients: Vec<Assembly> = (0..4).map(|_| Assembly::new(incoming.clone(), 64 << 20)).collect();
        let mut rounds = 0;
        let refused = loop {
            rounds += 1;
            let fed = clients.iter_mut().map(|client| client.feed(&half).and_then(|()| client.next()));
            if let Some(error) = fed.filter_map(Result::err).next() {
                break error;
            }
        };
        assert!(refused.to_string().contains("unfinished"), "{refused}");
        assert!((4..8).contains(&rounds), "{rounds} rounds of 4 x 64 KiB");
        drop(clients);
        assert_eq!(incoming.held.load(Ordering::Acquire), 0, "everything was given back");
    }

    #[test]
    fn resets_are_met_ahead_of_their_turn() {
        let mut assembly = Assembly::new(Incoming::new(1 << 20), 1 << 20);
        let mut bytes = Vec::new();
        for message in [&[0xB1, 0x3F, 0xA0][..], &[0xB0, RESET], &[0xB0, 0x12]] {
            write(message, &mut bytes);
        }
        assembly.feed(&bytes).unwrap();
        assembly.gather().unwrap();
        assert_eq!((assembly.take_resets(), assembly.take_resets()), (1, 0));
        let tags: Vec<u8> = (0..3).map(|_| assembly.next().unwrap().unwrap()[1]).collect();
        assert_eq!(tags, [0x3F, RESET, 0x12]);
        (0..200).for_each(|_| {
            assembly.feed(&bytes).unwrap();
            assembly.gather().unwrap();
        });
        assert!(assembly.ahead.len() <= AHEAD_MESSAGES_MAX);
    }
}
