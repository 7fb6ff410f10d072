//! The receive buffer of a client: bytes, half a message, messages read ahead; all of it on an account.

use super::crowd::Account;
use crate::bolt::chunks::{Assembler, Message};
use std::collections::VecDeque;
use std::io::{self, ErrorKind};

/// Bytes of messages read ahead of a conversation that is busy; the message that goes beyond is still read.
const AHEAD_BYTES_MAX: usize = 1 << 20;
/// Messages read ahead of it.
const AHEAD_MESSAGES_MAX: usize = 64;
const RESET: u8 = 0x0F;

/// Puts one client's bytes together to messages.
pub(super) struct Assembly {
    assembler: Assembler,
    ahead: VecDeque<Message>,
    ahead_bytes: usize,
    resets: usize,
    account: Account,
    /// Bytes of the message that was taken last, and is still in use.
    taken_bytes: usize,
}

impl Assembly {
    pub fn new(account: Account, message_bytes_max: usize) -> Assembly {
        Assembly {
            assembler: Assembler::within(message_bytes_max),
            ahead: VecDeque::new(),
            ahead_bytes: 0,
            resets: 0,
            account,
            taken_bytes: 0,
        }
    }
    /// From now on messages may be so long.
    pub fn trust(&mut self, message_bytes_max: usize) {
        self.assembler.message_bytes_max = message_bytes_max;
    }
    /// Takes bytes from the socket. They are charged first.
    pub fn feed(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Err(why) = self.account.hold(self.held() + bytes.len()) {
            // Others may need the room while this one is told.
            self.forget();
            return Err(refused(&why));
        }
        self.assembler.feed(bytes);
        self.charge()
    }
    fn held(&self) -> usize {
        self.assembler.held() + self.ahead_bytes + self.taken_bytes
    }
    fn charge(&mut self) -> io::Result<()> {
        self.account.hold(self.held()).map_err(|why| refused(&why))
    }
    /// Discards all received bytes.
    pub fn forget(&mut self) {
        self.assembler = Assembler::within(0);
        self.ahead.clear();
        (self.ahead_bytes, self.taken_bytes) = (0, 0);
        let _ = self.account.hold(0);
    }
    /// Bytes as they came, before messages begin.
    pub fn take_raw(&mut self, bytes: &mut [u8]) -> usize {
        self.assembler.take_raw(bytes)
    }
    /// The next message.
    pub fn next(&mut self) -> io::Result<Option<Message>> {
        let before = std::mem::take(&mut self.taken_bytes);
        let next = match self.ahead.pop_front() {
            Some(message) => {
                self.ahead_bytes -= message.held();
                Some(message)
            }
            None => self.take_message()?,
        };
        self.taken_bytes = next.as_ref().map_or(0, Message::held);
        if before + self.taken_bytes > 0 {
            self.charge()?;
        }
        Ok(next)
    }
    fn take_message(&mut self) -> io::Result<Option<Message>> {
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
    /// Assembles messages ahead of their reader, to find RESETs among them.
    pub fn gather(&mut self) -> io::Result<()> {
        while self.has_room() {
            let Some(message) = self.take_message()? else { break };
            self.resets += usize::from(message.get(1) == Some(&RESET));
            self.ahead_bytes += message.held();
            self.ahead.push_back(message);
        }
        self.charge()
    }
    /// RESETs met since the last call.
    pub fn take_resets(&mut self) -> usize {
        std::mem::take(&mut self.resets)
    }
}

/// An error for the client.
fn refused(what: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;
    use crate::bolt::chunks::write;
    use crate::listener::crowd::Crowd;
    use std::net::IpAddr;
    use std::sync::Arc;

    fn crowd(incoming_bytes_max: usize) -> Arc<Crowd> {
        let incoming_bytes_per_address_max = incoming_bytes_max;
        Crowd::new(&Limits { incoming_bytes_max, incoming_bytes_per_address_max, ..Limits::default() })
    }
    fn assembly(crowd: &Arc<Crowd>) -> Assembly {
        Assembly::new(crowd.account(IpAddr::from([127, 0, 0, 1]).into()), 64 << 20)
    }

    #[test]
    fn all_connections_share_one_account() {
        let crowd = crowd(4 << 20);
        let half = [&[0xFF, 0xFF][..], &[7; 65_535]].concat();
        let mut clients: Vec<Assembly> = (0..4).map(|_| assembly(&crowd)).collect();
        let mut rounds = 0;
        let refused = loop {
            rounds += 1;
            let fed = clients.iter_mut().map(|client| client.feed(&half).and_then(|()| client.next()));
            if let Some(error) = fed.filter_map(Result::err).next() {
                break error;
            }
        };
        assert!(refused.to_string().contains("unfinished"), "{refused}");
        assert!((8..17).contains(&rounds), "{rounds} rounds of 4 x 64 KiB");
        clients[0].forget();
        assert!(clients[1].feed(&half).is_ok(), "one that was refused gives back what it held");
        drop(clients);
        assert!(assembly(&crowd).feed(&[7; 1 << 20]).is_ok(), "everything was given back");
    }

    #[test]
    fn resets_are_met_ahead_of_their_turn() {
        let mut assembly = assembly(&crowd(1 << 20));
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
