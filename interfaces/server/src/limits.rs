//! Limits of clients: every wait, buffer and count of the interface, by name. Tests set them small, `tanglewood serve` has flags for those that an
//! operator may want to change.

use std::time::Duration;

/// Limits of the listener and of each of its connections.
///
/// Shared resources (places, strangers, unfinished messages) have two limits: one for the server, and a smaller one for each address, so that one
/// address cannot keep others out. An IPv6 network of 64 bits is one address.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Connections served at once; each has a thread. One more is closed at once.
    pub connections_max: usize,
    /// Of these, connections of one address.
    pub connections_per_address_max: usize,
    /// Of these, connections of one user; a further one gets an error and is closed.
    pub connections_per_user_max: usize,
    /// Connections that have not yet logged on; one more is closed at once. Strangers cannot take every place.
    pub strangers_max: usize,
    /// Of these, connections of one address.
    pub strangers_per_address_max: usize,
    /// Time from connecting until the client has logged on.
    pub greeting_timeout: Duration,
    /// Time without a byte within a message before the client is let go.
    pub message_timeout: Duration,
    /// A message may take [`Limits::message_timeout`] in all, and a second more for each this many bytes: a slower client is disconnected.
    pub message_bytes_per_second_min: usize,
    /// Time of silence while a transaction or a result is open; after it that is ended, and the client is disconnected.
    pub neglect_timeout: Duration,
    /// Time without a word while nothing is open. Longer than the hour after which drivers renew their connections.
    pub idle_timeout: Duration,
    /// Time without progress of a write: a client that never reads is let go.
    pub write_timeout: Duration,
    /// Time in which a refused client may read the reason; its further bytes are discarded.
    pub farewell_timeout: Duration,
    /// While a request is waited for, an empty chunk goes out this often, so that the client knows that someone is there.
    pub keep_alive: Duration,
    /// Bytes of one message: a RUN with its parameters must fit.
    pub message_bytes_max: usize,
    /// Bytes of one message of a client that has not logged on.
    pub stranger_message_bytes_max: usize,
    /// Bytes of the values of one message, when they are unpacked.
    pub value_bytes_max: usize,
    /// Bytes of all messages that are being put together or unpacked, beyond the 64 KiB that each connection may have for nothing.
    pub incoming_bytes_max: usize,
    /// Of these, bytes of one address.
    pub incoming_bytes_per_address_max: usize,
    /// Bytes of the head of an HTTP request.
    pub head_bytes_max: usize,
    /// Bytes of an HTTP answer in GraphBinary, which must be complete before it is sent; one in JSON is streamed.
    pub whole_answer_bytes_max: usize,
    /// Headers of an HTTP request.
    pub headers_max: usize,
    /// Transactions that HTTP clients have open between requests.
    pub transactions_max: usize,
    /// Of these, transactions of one address.
    pub transactions_per_address_max: usize,
    /// Idle time of such a transaction before it is rolled back.
    pub transaction_idle_timeout: Duration,
    /// Tokens that are good at once.
    pub tokens_max: usize,
    /// Of these, tokens of one user.
    pub tokens_per_user_max: usize,
    /// Lifetime of a token.
    pub token_lifetime: Duration,
    /// Time that running statements get to end at shutdown.
    pub drain_timeout: Duration,
    /// Time that a session waits for the commit of its bookmark.
    pub bookmark_timeout: Duration,
}

impl Limits {
    /// The default limits with other numbers of places; an address and a user may take three quarters of them.
    pub fn of_connections(connections_max: usize) -> Limits {
        let most = share(connections_max);
        Limits {
            connections_max,
            connections_per_address_max: most,
            connections_per_user_max: most,
            ..Limits::default()
        }
    }
}

/// Three quarters, at least one: the part for one address or user.
pub fn share(of: usize) -> usize {
    (of / 4 * 3 + of % 4 * 3 / 4).max(1)
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connections_max: 1_024,
            connections_per_address_max: 768,
            connections_per_user_max: 768,
            strangers_max: 256,
            strangers_per_address_max: 128,
            greeting_timeout: Duration::from_secs(15),
            message_timeout: Duration::from_secs(60),
            message_bytes_per_second_min: 16 << 10,
            neglect_timeout: Duration::from_secs(600),
            idle_timeout: Duration::from_secs(2 * 3_600),
            write_timeout: Duration::from_secs(60),
            farewell_timeout: Duration::from_secs(3),
            keep_alive: Duration::from_secs(30),
            message_bytes_max: 64 << 20,
            stranger_message_bytes_max: 64 << 10,
            value_bytes_max: 256 << 20,
            incoming_bytes_max: 512 << 20,
            incoming_bytes_per_address_max: 384 << 20,
            head_bytes_max: 16 << 10,
            whole_answer_bytes_max: 64 << 20,
            headers_max: 64,
            transactions_max: 256,
            transactions_per_address_max: 192,
            transaction_idle_timeout: Duration::from_secs(30),
            tokens_max: 10_000,
            tokens_per_user_max: 100,
            token_lifetime: Duration::from_secs(8 * 3_600),
            drain_timeout: Duration::from_secs(1),
            bookmark_timeout: Duration::from_secs(30),
        }
    }
}
