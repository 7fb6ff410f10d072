//! Incoming connections: a thread for each reads frames into the inboxes of their ends.

use super::inbox::{FrameInbox, announce};
use super::shared::{
    HELLO_TIMEOUT, LENGTH_BYTES, MAGIC, NAME_BYTES_MAX, NAME_LENGTH_BYTES, SECRET_BYTES_MAX, Shared,
    TakenConnection, Wire,
};
use crate::clock;
use crate::net::frames::{CONNECTIONS_MAX, FRAME_BYTES_MAX};
use crate::threads::{self, Thread};
use std::io::{self, BufReader, Read};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

/// Pause when the system gives no more sockets or threads.
const BREATH: Duration = Duration::from_millis(20);

/// Takes connections until the network is closed.
pub(super) fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    let mut readers: Vec<Thread<()>> = Vec::new();
    let mut number = 0;
    while !shared.is_closed() {
        let Ok((socket, _)) = listener.accept() else {
            threads::sleep(BREATH);
            continue;
        };
        readers.retain(|reader| !reader.is_finished());
        shared.shut_silent();
        if shared.is_closed() || readers.len() >= CONNECTIONS_MAX {
            continue;
        }
        number += 1;
        let socket = Arc::new(socket);
        let until_ns = Some(clock::after_ns(HELLO_TIMEOUT));
        shared.taken.lock().insert(number, TakenConnection { socket: socket.clone(), until_ns });
        let inner = shared.clone();
        let reader = threads::try_spawn("net-read", move || {
            let _taken = EndTaken { number, socket: &socket, shared: &inner };
            // Why a connection ended does not matter: its peer makes another one.
            let _ = read(number, &socket, &inner);
        });
        match reader {
            Ok(reader) => readers.push(reader),
            Err(_) => {
                shared.taken.lock().remove(&number);
                threads::sleep(BREATH);
            }
        }
    }
    shared.taken.lock().values().for_each(|taken| drop(taken.socket.shutdown(Shutdown::Both)));
}

/// Closes a connection that its thread leaves, by a panic too.
struct EndTaken<'c> {
    number: u64,
    socket: &'c TcpStream,
    shared: &'c Shared,
}

impl Drop for EndTaken<'_> {
    fn drop(&mut self) {
        let _ = self.socket.shutdown(Shutdown::Both);
        self.shared.taken.lock().remove(&self.number);
    }
}

/// Reads frames of one connection into the inbox until it ends.
fn read(number: u64, socket: &TcpStream, shared: &Shared) -> io::Result<()> {
    socket.set_read_timeout(Some(HELLO_TIMEOUT))?;
    socket.set_write_timeout(Some(HELLO_TIMEOUT))?;
    let covered = shared.cover.as_ref().map(|cover| cover.accepted(Wire(socket))).transpose()?;
    let mut from = BufReader::new(covered.unwrap_or_else(|| Box::new(socket)));
    let (mut magic, mut length) = ([0; MAGIC.len()], [0; 2]);
    from.read_exact(&mut magic)?;
    from.read_exact(&mut length)?;
    let length = usize::from(u16::from_le_bytes(length));
    if magic != *MAGIC || length > SECRET_BYTES_MAX {
        return Ok(());
    }
    let mut secret = vec![0; length];
    from.read_exact(&mut secret)?;
    if !is_same(&secret, &shared.secret) {
        return Ok(());
    }
    if let Some(taken) = shared.taken.lock().get_mut(&number) {
        taken.until_ns = None;
    }
    // A quiet peer is no lost one; one that is lost has a successor with a connection of its own.
    socket.set_read_timeout(None)?;
    let (mut length, mut name) = ([0; LENGTH_BYTES], [0; NAME_BYTES_MAX]);
    let mut came: Vec<Arc<FrameInbox>> = Vec::new();
    while !shared.is_closed() {
        from.read_exact(&mut length)?;
        let length = u32::from_le_bytes(length) as usize;
        if length > NAME_LENGTH_BYTES + NAME_BYTES_MAX + FRAME_BYTES_MAX {
            return Ok(());
        }
        let mut name_length = [0; NAME_LENGTH_BYTES];
        from.read_exact(&mut name_length)?;
        let name_length = usize::from(name_length[0]);
        let Some(length) = length.checked_sub(NAME_LENGTH_BYTES + name_length) else { return Ok(()) };
        let name = &mut name[..name_length];
        from.read_exact(name)?;
        // What has not come is not reserved.
        let mut frame = Vec::new();
        from.by_ref().take(length as u64).read_to_end(&mut frame)?;
        if frame.len() < length {
            return Ok(());
        }
        let end = std::str::from_utf8(name).ok().and_then(|name| shared.ends.of(name));
        match end.filter(|end| end.push(frame)) {
            Some(end) if !came.iter().any(|other| Arc::ptr_eq(other, &end)) => came.push(end),
            Some(_) => {}
            None => shared.drop_frames(1),
        }
        // One announcement for all frames of a read.
        if !has_frame(from.buffer()) {
            announce(std::mem::take(&mut came));
        }
    }
    Ok(())
}

/// Do the bytes begin with a whole frame?
fn has_frame(bytes: &[u8]) -> bool {
    let Some((length, behind)) = bytes.split_first_chunk::<LENGTH_BYTES>() else { return false };
    behind.len() >= u32::from_le_bytes(*length) as usize
}

/// Compares without telling by its time where two differ.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.iter().zip(other).fold(0, |all, (one, other)| all | (one ^ other)) == 0
}
