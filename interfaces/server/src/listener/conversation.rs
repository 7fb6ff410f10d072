//! One connection from its first byte to its last, on a thread of its own.

use super::Shared;
use super::acceptor::Guest;
use super::wire::{Listener, Wire, WireSink, Word};
use crate::bolt::Version;
use crate::bolt::connection::{Connection, Interrupt, Next};
use crate::bolt::handshake::{self, HANDSHAKE_BYTES, Proposal};
use database::Interrupter;
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::time::Duration;
use world::clock::after_ns;

/// Talks with a client until one of them has enough.
pub(super) fn converse(shared: &Arc<Shared>, mut guest: Guest) -> io::Result<()> {
    let (socket, number) = (guest.socket.clone(), guest.number);
    let greeted_by_ns = after(shared.limits.greeting_timeout);
    let local = socket.local_addr()?.to_string();
    let peer = socket.peer_addr()?;
    let account = guest.crowd.account(guest.origin);
    let wire = Arc::new(Wire::new(socket, &shared.limits, account)?);
    if let Some(tls) = &shared.tls {
        wire.dig(tls.tunnel()?);
    }
    let Some(version) = shake_hands(&wire, greeted_by_ns)? else { return Ok(()) };
    let mut connection = Connection::new(&shared.database, version, number, local);
    connection.guard(shared.gate.clone(), peer);
    connection.set_limits(&shared.limits);
    connection.route_to(shared.peers.clone());
    connection.join(guest.crowd.clone(), guest.origin);
    let (interrupt, interrupter) = connection.interrupter();
    wire.listen(Attentive { interrupt, interrupter });
    let watched = wire.clone();
    connection.set_meanwhile(move || watched.look());
    let outcome = talk(shared, &wire, &mut connection, greeted_by_ns, &mut guest)?;
    // What the client had open, and sent, is given back before it is waited for.
    drop(connection);
    wire.forget();
    if outcome == End::Refused {
        guest.bid_farewell(shared.limits.farewell_timeout);
    }
    Ok(())
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

/// How a conversation ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// The client had enough.
    Left,
    /// The server had, and said why.
    Refused,
}

/// Answers messages as they come; answers go out when there is nothing more to answer.
fn talk(
    shared: &Shared,
    wire: &Arc<Wire>,
    connection: &mut Connection,
    greeted_by_ns: u64,
    guest: &mut Guest,
) -> io::Result<End> {
    let mut sink = WireSink(wire.clone());
    let mut greeted_by_ns = Some(greeted_by_ns);
    loop {
        let message = match next_word(wire, connection, &mut sink, greeted_by_ns, shared) {
            Ok(Word::Message(message)) => message,
            Ok(Word::Silence) => return refuse(connection, "nothing was heard for too long", &mut sink),
            Ok(Word::Gone) => return Ok(End::Left),
            Err(error) if error.kind() == ErrorKind::InvalidData => {
                return refuse(connection, &error.to_string(), &mut sink);
            }
            Err(error) => return Err(error),
        };
        if connection.handle(&message, &mut sink)? == Next::Close {
            connection.flush(&mut sink)?;
            return Ok(if connection.was_refused() { End::Refused } else { End::Left });
        }
        if connection.is_known() && guest.stranger.take().is_some() {
            greeted_by_ns = None;
            wire.trust(shared.limits.message_bytes_max);
        } else if !connection.is_known() && guest.stranger.is_none() {
            // After LOGOFF it is a stranger as at the beginning.
            let Ok(stranger) = guest.crowd.strangers.take(guest.origin, 1) else {
                return refuse(connection, "too many clients have not logged on", &mut sink);
            };
            guest.stranger = Some(stranger);
            greeted_by_ns = Some(after(shared.limits.greeting_timeout));
            wire.trust(shared.limits.stranger_message_bytes_max);
        }
    }
}

/// Sends the client the reason for the end.
fn refuse(connection: &mut Connection, why: &str, sink: &mut WireSink) -> io::Result<End> {
    connection.refuse(why);
    connection.flush(sink)?;
    Ok(End::Refused)
}

fn after(time: Duration) -> u64 {
    after_ns(time)
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
    let limits = &shared.limits;
    let silence = if connection.has_open_work() { limits.neglect_timeout } else { limits.idle_timeout };
    wire.hear(Some(greeted_by_ns.unwrap_or_else(|| after(silence))))
}

/// The effect of a RESET and of the client's end on running statements.
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
