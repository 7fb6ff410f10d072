//! Limits of frames, queues and peers, which all networks share, and who is told that frames came.

/// Bytes of one frame; a longer one is not sent, and ends the connection that it comes by.
pub const FRAME_BYTES_MAX: usize = 64 << 20;
/// Frames that wait for one peer; at the limit the next one is dropped.
pub const PEER_FRAMES_MAX: usize = 4_096;
/// Bytes that wait for one peer, or in the inbox; one frame may pass the limit.
pub const QUEUED_BYTES_MAX: usize = 128 << 20;
/// Frames that came and were not received; at the limit the next one is dropped.
pub const INBOX_FRAMES_MAX: usize = 16_384;
/// Addresses that one process sends to.
pub const PEERS_MAX: usize = 256;
/// Connections that one process takes; one more is closed at once.
pub const CONNECTIONS_MAX: usize = 256;

/// Called when a frame has come. It may send, and must not wait.
pub type Arrived = Box<dyn Fn() + Send + Sync>;
