//! What a client may cost: every wait, buffer and count of the door, by name. Tests set them small.

use std::time::Duration;

/// Limits of the listener and of each of its connections.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Connections served at once; each has a thread. One more is closed at once.
    pub connections_max: usize,
    /// Of these, connections that have not yet said who they are; one more is closed at once. Strangers cannot take every place.
    pub strangers_max: usize,
    /// Time from connecting until the client has said who it is.
    pub greeting_timeout: Duration,
    /// Time without a byte within a message before the client is let go.
    pub message_timeout: Duration,
    /// Time without a word while a transaction or a result is open; it is ended then, and the client is let go.
    pub neglect_timeout: Duration,
    /// Time without progress of a write: a client that never reads is let go.
    pub write_timeout: Duration,
    /// While a request is waited for, an empty chunk goes out this often, so that the client knows that someone is there.
    pub keep_alive: Duration,
    /// Bytes of one message: a RUN with its parameters must fit.
    pub message_bytes_max: usize,
    /// Bytes of one message of a client that has not said who it is.
    pub stranger_message_bytes_max: usize,
    /// Bytes of all messages that are being put together, beyond what each connection may have for nothing.
    pub incoming_bytes_max: usize,
    /// Bytes of the head of an HTTP request.
    pub head_bytes_max: usize,
    /// Bytes of an HTTP answer in GraphBinary, which must be whole before it is sent; one in JSON goes out as it comes.
    pub whole_answer_bytes_max: usize,
    /// Time that a session waits for the commit whose bookmark it gave.
    pub bookmark_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connections_max: 1_024,
            strangers_max: 256,
            greeting_timeout: Duration::from_secs(15),
            message_timeout: Duration::from_secs(60),
            neglect_timeout: Duration::from_secs(600),
            write_timeout: Duration::from_secs(60),
            keep_alive: Duration::from_secs(30),
            message_bytes_max: 64 << 20,
            stranger_message_bytes_max: 64 << 10,
            incoming_bytes_max: 512 << 20,
            head_bytes_max: 16 << 10,
            whole_answer_bytes_max: 64 << 20,
            bookmark_timeout: Duration::from_secs(30),
        }
    }
}
