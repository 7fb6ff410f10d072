//! TLS: encrypts and decrypts bytes, without a socket. The handshake happens along the way: its messages are put out like other bytes.

use super::error::ServeError;
use parking_lot::Mutex;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::path::Path;
use std::sync::Arc;

/// Plain bytes wrapped at once.
const WRAP_BYTES: usize = 64 << 10;

/// A certificate and its key, ready to serve. All clones serve the same, also after [`Tls::reload`].
#[derive(Clone)]
pub struct Tls {
    current: Arc<Mutex<Served>>,
}

/// The present certificate and key.
#[derive(Clone)]
struct Served {
    config: Arc<ServerConfig>,
    certificate: CertificateDer<'static>,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls")
    }
}

impl Tls {
    /// Reads a chain of certificates (the server's own first) and its private key, both PEM.
    ///
    /// # Errors
    /// A file cannot be read, holds none, or the key is not the certificate's.
    pub fn from_files(certificate: &Path, key: &Path) -> Result<Tls, ServeError> {
        let read = |path: &Path| {
            world::files::read_bytes(path)
                .map_err(|error| ServeError::Tls(format!("{} cannot be read: {error}", path.display())))
        };
        Tls::from_pem(&read(certificate)?, &read(key)?)
    }
    /// The same from texts.
    ///
    /// # Errors
    /// One of them holds none, or the key is not the certificate's.
    pub fn from_pem(certificate: &[u8], key: &[u8]) -> Result<Tls, ServeError> {
        let wrong = |what: &str, error: &dyn fmt::Display| ServeError::Tls(format!("{what}: {error}"));
        let chain = CertificateDer::pem_slice_iter(certificate)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| wrong("the certificate is not PEM", &error))?;
        if chain.is_empty() {
            return Err(ServeError::Tls("the file of certificates holds none".into()));
        }
        let certificate = chain[0].clone();
        let key = PrivateKeyDer::from_pem_slice(key)
            .map_err(|error| wrong("the private key is not PEM", &error))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| wrong("TLS cannot be set up", &error))?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(|error| wrong("certificate and key do not fit", &error))?;
        let served = Served { config: Arc::new(config), certificate };
        Ok(Tls { current: Arc::new(Mutex::new(served)) })
    }
    /// Serves other files from now on, to new clients; if they are wrong, the old ones stay.
    ///
    /// # Errors
    /// As [`Tls::from_files`].
    pub fn reload(&self, certificate: &Path, key: &Path) -> Result<(), ServeError> {
        let other = Tls::from_files(certificate, key)?.served();
        *self.current.lock() = other;
        Ok(())
    }
    fn served(&self) -> Served {
        self.current.lock().clone()
    }
    /// The server's own certificate, DER.
    pub fn certificate(&self) -> Vec<u8> {
        self.served().certificate.to_vec()
    }
    /// The same over a socket that the reader blocks on.
    pub(crate) fn stream<S: Read + Write>(&self, socket: S) -> io::Result<StreamOwned<ServerConnection, S>> {
        let connection = ServerConnection::new(self.config()).map_err(io::Error::other)?;
        Ok(StreamOwned::new(connection, socket))
    }
    /// The configuration, for an own listener.
    pub(crate) fn config(&self) -> Arc<ServerConfig> {
        self.served().config
    }
    pub(super) fn tunnel(&self) -> io::Result<Tunnel> {
        ServerConnection::new(self.config())
            .map(|connection| Tunnel { connection: Box::new(connection), plain: vec![0; WRAP_BYTES / 4] })
            .map_err(io::Error::other)
    }
}

/// One connection's tunnel.
pub(super) struct Tunnel {
    connection: Box<ServerConnection>,
    plain: Vec<u8>,
}

impl Tunnel {
    /// Decrypts bytes from the socket; true if the client closed the tunnel.
    pub fn take_in(
        &mut self,
        mut bytes: &[u8],
        mut take: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<bool> {
        let mut ended = bytes.is_empty();
        while !bytes.is_empty() {
            self.connection.read_tls(&mut bytes)?;
            let state = self
                .connection
                .process_new_packets()
                .map_err(|error| io::Error::new(ErrorKind::InvalidInput, error))?;
            let mut left = state.plaintext_bytes_to_read();
            while left > 0 {
                let count = self.connection.reader().read(&mut self.plain)?;
                take(&self.plain[..count])?;
                left -= count;
            }
            if state.peer_has_closed() {
                ended = true;
                break;
            }
        }
        Ok(ended)
    }
    /// Takes the tunnel's own messages.
    pub fn put_out(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        while self.connection.wants_write() {
            self.connection.write_tls(out)?;
        }
        Ok(())
    }
    /// Wraps bytes.
    pub fn wrap(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        for piece in bytes.chunks(WRAP_BYTES) {
            // Its own buffer takes as much as a piece and is emptied after each.
            self.connection.writer().write_all(piece)?;
            self.put_out(out)?;
        }
        Ok(())
    }
}
