//! Notifications to a service manager: that the server is ready, reloads its settings, or ends (systemd's `sd_notify`).
//!
//! A text of one datagram to the socket in `NOTIFY_SOCKET`; nothing where that is not set. Never waits.

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// The variable that names the socket.
pub const NOTIFY_VARIABLE: &str = "NOTIFY_SOCKET";

/// A stage of the server's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceStage {
    /// All interfaces are open.
    Ready,
    /// Settings are read again; [`ServiceStage::Ready`] follows.
    Reloading,
    /// It ends.
    Stopping,
}

impl ServiceStage {
    fn text(self) -> String {
        match self {
            ServiceStage::Ready => "READY=1\nSTATUS=serving\n".into(),
            ServiceStage::Reloading => {
                // systemd holds this against the clock when READY=1 follows.
                let now_us = world::clock::machine_ns() / 1_000;
                format!("RELOADING=1\nMONOTONIC_USEC={now_us}\nSTATUS=reading settings again\n")
            }
            ServiceStage::Stopping => "STOPPING=1\nSTATUS=waiting for running queries\n".into(),
        }
    }
}

/// Notifies the service manager at this socket: a path, or a name behind `@`.
///
/// # Errors
/// There is no such socket.
pub fn tell(socket: &str, stage: ServiceStage) -> io::Result<()> {
    let address = match socket.strip_prefix('@') {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(socket)?,
    };
    let datagram = UnixDatagram::unbound()?;
    // Whoever does not read is not waited for.
    datagram.set_nonblocking(true)?;
    datagram.send_to_addr(stage.text().as_bytes(), &address).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use world::files::TemporaryFolder;

    #[test]
    fn a_service_manager_is_told_at_a_path_and_at_a_name() {
        let folder = TemporaryFolder::new("notify").unwrap();
        let path = folder.path().join("socket");
        let name = format!("tanglewood-{}", std::process::id());
        let by_name = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        let by_path = UnixDatagram::bind(&path).unwrap();
        tell(&format!("@{name}"), ServiceStage::Ready).unwrap();
        tell(path.to_str().unwrap(), ServiceStage::Reloading).unwrap();
        let mut bytes = [0; 200];
        let count = by_name.recv(&mut bytes).unwrap();
        assert!(bytes[..count].starts_with(b"READY=1\n"));
        let count = by_path.recv(&mut bytes).unwrap();
        assert!(bytes[..count].starts_with(b"RELOADING=1\nMONOTONIC_USEC="));
        assert!(tell("/nowhere/at/all", ServiceStage::Stopping).is_err());
    }
}
