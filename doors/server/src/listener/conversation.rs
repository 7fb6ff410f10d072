//! One connection from its first byte to its last, on a thread of its own.

use super::Shared;
use super::doorway::{Guest, Stranger};
use super::wire::{Listener, Wire, WireSink, Word};
use crate::bolt::Version;
use crate::bolt::connection::{Connection, Interrupt, Next};
use crate::bolt::handshake::{self, HANDSHAKE_BYTES, Proposal};
use database::Interrupter;
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::time::Duration;
use world::clock::monotonic_ns;

/// Talks with a client until one of them has enough.
pub(super) fn converse(shared: &Arc<Shared>, mut guest: Guest) -> io::Result<()> {
    let (socket, number) = (guest.socket.clone(), guest.number);
    let greeted_by_ns = monotonic_ns() + shared.limits.greeting_timeout.as_nanos() as u64;
    let local = socket.local_addr()?.to_string();
    let peer = socket.peer_addr()?.ip();
    let wire = Arc::new(Wire::new(socket, &shared.limits, shared.incoming.clone())?);
    if let Some(tls) = &shared.tls {
        wire.dig(tls.tunnel()?);
    }
    let Some(version) = shake_hands(&wire, greeted_by_ns)? else { return Ok(()) };
    let mut connection = Connection::new(&shared.database, version, number, local);
    connection.guard(shared.gate.clone(), peer);
    connection.set_limits(&shared.limits);
    let (interrupt, interrupter) = connection.interrupter();
    wire.listen(Attentive { interrupt, interrupter });
    let watched = wire.clone();
    connection.set_meanwhile(move || watched.look());
    talk(shared, &wire, &mut connection, greeted_by_ns, &mut guest.stranger)
}

/// Agrees on a version; none where the client speaks something else.
fn shake_hands(wire: &Wire, until_ns: u64) -> io::Result<Option<Version>> {
    let mut hello = [0; HANDSHAKE_BYTES];
    wire.exactly(&mut hello, until_ns)?;
    match handshake::negotiate(&hello) {
        None => {
            wire.say(&handshake::answer(None))?;
            Ok(None)
        }
        Some(Proposal::Version(version)) => {
            wire.say(&handshake::answer(Some(version)))?;
            Ok(Some(version))
        }
        Some(Proposal::Manifest) => {
            wire.say(&handshake::manifest())?;
            let mut choice = [0; 4];
            wire.exactly(&mut choice, until_ns)?;
            let mut byte = [0x80];
            for _ in 0..handshake::CAPABILITY_BYTES_MAX {
                wire.exactly(&mut byte, until_ns)?;
                if byte[0] & 0x80 == 0 {
                    break;
                }
            }
            Ok(handshake::chosen(choice).filter(|_| byte[0] & 0x80 == 0))
        }
    }
}

/// Answers messages as they come; answers go out when there is nothing more to answer.
fn talk(
    shared: &Shared,
    wire: &Arc<Wire>,
    connection: &mut Connection,
    greeted_by_ns: u64,
    stranger: &mut Option<Stranger>,
) -> io::Result<()> {
    let mut sink = WireSink(wire.clone());
    loop {
        let word =
            match next_word(wire, connection, &mut sink, stranger.is_some().then_some(greeted_by_ns), shared)
            {
                Ok(word) => word,
                Err(error) if error.kind() == ErrorKind::InvalidData => {
                    connection.refuse(&error.to_string());
                    return connection.flush(&mut sink);
                }
                Err(error) => return Err(error),
            };
        let message = match word {
            Word::Message(message) => message,
            Word::Silence => {
                connection.refuse("nothing was heard for too long");
                return connection.flush(&mut sink);
            }
            Word::Gone => return Ok(()),
        };
        if connection.handle(&message, &mut sink)? == Next::Close {
            return connection.flush(&mut sink);
        }
        if stranger.is_some() && connection.is_known() {
            *stranger = None;
            wire.trust(shared.limits.message_bytes_max);
        }
    }
}

fn next_word(
    wire: &Wire,
    connection: &mut Connection,
    sink: &mut WireSink,
    greeted_by_ns: Option<u64>,
    shared: &Shared,
) -> io::Result<Word> {
    if let Some(message) = wire.at_hand()? {
        return Ok(Word::Message(message));
    }
    connection.flush(sink)?;
    let neglected = |timeout: Duration| monotonic_ns() + timeout.as_nanos() as u64;
    let until_ns = greeted_by_ns
        .or_else(|| connection.has_open_work().then(|| neglected(shared.limits.neglect_timeout)));
    wire.hear(until_ns)
}

/// What a RESET and the end of a client do to what runs.
struct Attentive {
    interrupt: Arc<Interrupt>,
    interrupter: Interrupter,
}

impl Listener for Attentive {
    fn reset(&self) {
        self.interrupt.raise();
        self.interrupter.interrupt("the client sent RESET");
    }
    fn gone(&self) {
        self.interrupter.close();
    }
}
