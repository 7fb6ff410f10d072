//! Messages as chunks: a length of two bytes, that many bytes, …, and a chunk of length zero at the end.

use super::packstream::Packer;
use std::ops::Deref;
use std::panic::resume_unwind;
use world::memory::Pages;
use world::panics::caught;

/// Bytes of one message, unless other limits are set.
pub const MESSAGE_BYTES_MAX: usize = 64 << 20;
/// Capacity that an assembler keeps when it is empty.
const KEPT_BYTES_MAX: usize = 64 << 10;
const CHUNK_BYTES_MAX: usize = 0xFFFF;
/// A longer message lies in pages of its own, which the system has back when it was answered.
const SHORT_BYTES_MAX: usize = 64 << 10;

/// A message.
#[derive(Debug)]
pub enum Message {
    /// Of a usual length.
    Short(Vec<u8>),
    /// A long one.
    Long(Pages),
}

impl Default for Message {
    fn default() -> Message {
        Message::Short(Vec::new())
    }
}

impl From<Message> for Vec<u8> {
    fn from(message: Message) -> Vec<u8> {
        match message {
            Message::Short(bytes) => bytes,
            Message::Long(pages) => pages.to_vec(),
        }
    }
}

impl Deref for Message {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match self {
            Message::Short(bytes) => bytes,
            Message::Long(pages) => pages,
        }
    }
}

impl Message {
    fn push(&mut self, chunk: &[u8]) -> Result<(), TooLong> {
        // A system that has no more memory refuses it like one that is too long.
        match self {
            Message::Short(bytes) if bytes.len() + chunk.len() <= SHORT_BYTES_MAX => {
                bytes.extend_from_slice(chunk);
            }
            Message::Short(bytes) => {
                let mut pages = Pages::default();
                [&**bytes, chunk]
                    .iter()
                    .try_for_each(|part| pages.extend_from_slice(part))
                    .map_err(|_| TooLong)?;
                *self = Message::Long(pages);
            }
            Message::Long(pages) => pages.extend_from_slice(chunk).map_err(|_| TooLong)?,
        }
        Ok(())
    }
    /// Bytes of memory that it takes.
    pub fn held(&self) -> usize {
        match self {
            Message::Short(bytes) => bytes.capacity(),
            Message::Long(pages) => pages.resident_bytes(),
        }
    }
}

/// Puts chunks together to messages, from any pieces of the stream.
#[derive(Debug)]
pub struct Assembler {
    pending: Vec<u8>,
    read: usize,
    message: Message,
    /// A message must not be longer.
    pub message_bytes_max: usize,
}

impl Default for Assembler {
    fn default() -> Assembler {
        Assembler::within(MESSAGE_BYTES_MAX)
    }
}

/// A message longer than it may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong;

impl Assembler {
    /// An assembler of messages no longer than this.
    pub fn within(message_bytes_max: usize) -> Assembler {
        Assembler { pending: Vec::new(), read: 0, message: Message::default(), message_bytes_max }
    }
    /// Takes bytes from the socket.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.pending.drain(..self.read);
        self.read = 0;
        self.pending.extend_from_slice(bytes);
    }
    /// Takes bytes as they came, before messages begin; how many.
    pub fn take_raw(&mut self, bytes: &mut [u8]) -> usize {
        let rest = &self.pending[self.read..];
        let count = rest.len().min(bytes.len());
        bytes[..count].copy_from_slice(&rest[..count]);
        self.read += count;
        count
    }
    /// Bytes in its buffer.
    pub fn held(&self) -> usize {
        self.pending.capacity() + self.message.held()
    }
    /// Has a message begun that has not ended?
    pub fn is_amid_message(&self) -> bool {
        !self.message.is_empty() || self.read < self.pending.len()
    }
    /// The next whole message, if it is there. Empty chunks between messages (keep-alive) are passed over.
    pub fn next_message(&mut self) -> Result<Option<Message>, TooLong> {
        loop {
            let rest = &self.pending[self.read..];
            let Some(head) = rest.get(..2) else {
                self.give_back();
                return Ok(None);
            };
            let len = u16::from_be_bytes([head[0], head[1]]) as usize;
            if len == 0 {
                self.read += 2;
                if !self.message.is_empty() {
                    return Ok(Some(std::mem::take(&mut self.message)));
                }
                continue;
            }
            let Some(chunk) = rest.get(2..2 + len) else { return Ok(None) };
            if self.message.len() + len > self.message_bytes_max {
                return Err(TooLong);
            }
            self.message.push(chunk)?;
            self.read += 2 + len;
        }
    }
    /// Frees the capacity that one large message needed.
    fn give_back(&mut self) {
        if self.read == self.pending.len() {
            self.pending.clear();
            self.read = 0;
            self.pending.shrink_to(KEPT_BYTES_MAX);
        }
    }
}

/// Appends the message that `pack` writes to `out` in chunks. It is written in place, behind a length that is filled in afterwards; only
/// one longer than a chunk is moved. A panic of `pack` goes on in the caller, and leaves `out` as it was.
pub fn write_with(out: &mut Vec<u8>, pack: impl FnOnce(&mut Packer)) {
    let start = out.len();
    let mut packer = Packer { bytes: std::mem::take(out) };
    packer.bytes.extend_from_slice(&[0, 0]);
    let packed = caught(|| pack(&mut packer));
    *out = packer.bytes;
    if let Err(panicked) = packed {
        out.truncate(start);
        resume_unwind(Box::new(panicked.message));
    }
    let len = out.len() - start - 2;
    if len <= CHUNK_BYTES_MAX {
        out[start..start + 2].copy_from_slice(&(len as u16).to_be_bytes());
        out.extend_from_slice(&[0, 0]);
    } else {
        let message = out.split_off(start + 2);
        out.truncate(start);
        write(&message, out);
    }
}

/// Appends a message to `out` in chunks.
pub fn write(message: &[u8], out: &mut Vec<u8>) {
    for chunk in message.chunks(CHUNK_BYTES_MAX) {
        out.extend_from_slice(&(chunk.len() as u16).to_be_bytes());
        out.extend_from_slice(chunk);
    }
    out.extend_from_slice(&[0, 0]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_survive_any_cutting() {
        let messages: Vec<Vec<u8>> = [
            1,
            65_535,
            65_536,
            200_000,
            SHORT_BYTES_MAX - 1,
            SHORT_BYTES_MAX,
            SHORT_BYTES_MAX + 1,
            2_000_000,
        ]
        .iter()
        .map(|len| (0..*len).map(|at| at as u8).collect())
        .collect();
        let mut stream = Vec::new();
        messages.iter().for_each(|message| write(message, &mut stream));
        for piece in [7, 4_096, stream.len()] {
            let mut assembler = Assembler::default();
            let mut got = Vec::new();
            for bytes in stream.chunks(piece) {
                assembler.feed(bytes);
                while let Some(message) = assembler.next_message().unwrap() {
                    got.push(message.to_vec());
                }
            }
            assert_eq!(got, messages);
        }
    }

    #[test]
    fn messages_written_in_place_are_the_same() {
        for len in [1, 65_533, 65_535, 65_536, 200_000] {
            let message = vec![7; len];
            let (mut copied, mut in_place) = (vec![9, 9], vec![9, 9]);
            write(&message, &mut copied);
            write_with(&mut in_place, |packer| packer.bytes.extend_from_slice(&message));
            assert!(copied == in_place, "{len} bytes");
        }
    }

    #[test]
    fn endless_messages_are_refused() {
        let mut assembler = Assembler::default();
        let chunk = [&[0xFF, 0xFF][..], &[7; 65_535]].concat();
        let refused = (0..2_000).any(|_| {
            assembler.feed(&chunk);
            assembler.next_message().is_err()
        });
        assert!(refused);
    }
}
