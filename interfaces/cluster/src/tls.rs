//! TLS between the processes of a cluster: each shows a certificate, and accepts only those that the cluster's own authority signed.
//!
//! Connections carry frames one way (`world::net`), so nothing comes back on one behind its handshake: no session tickets, TLS 1.3 alone.

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, InvalidDnsNameError, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::version::TLS13;
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection, StreamOwned};
use std::fmt::Display;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use world::clock;
use world::net::{Cover, Wire};

/// How often refusals of peers are logged at most.
const TELL_EVERY: Duration = Duration::from_secs(10);

/// The certificate of a process, and the authority it accepts.
pub struct PeerTls {
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
    told_ns: AtomicU64,
    servers: Arc<WebPkiServerVerifier>,
    clients: Arc<dyn ClientCertVerifier>,
    chain: Vec<CertificateDer<'static>>,
}

impl PeerTls {
    /// Reads a chain of certificates (the process' own first), its private key, and the certificates of the cluster's authority, all PEM.
    ///
    /// # Errors
    /// A file cannot be read, holds none, or the key is not the certificate's; in words.
    pub fn from_files(certificate: &Path, key: &Path, authority: &Path) -> Result<PeerTls, String> {
        let read = |path: &Path| {
            world::files::read_bytes(path)
                .map_err(|error| format!("{} cannot be read: {error}", path.display()))
        };
        PeerTls::from_pem(&read(certificate)?, &read(key)?, &read(authority)?)
    }
    /// The same from texts.
    ///
    /// # Errors
    /// As [`PeerTls::from_files`].
    pub fn from_pem(certificate: &[u8], key: &[u8], authority: &[u8]) -> Result<PeerTls, String> {
        let wrong = |what: &str, error: &dyn Display| format!("{what}: {error}");
        let certificates = |pem: &[u8], whose: &str| match CertificateDer::pem_slice_iter(pem).collect() {
            Ok(found) => Ok::<Vec<CertificateDer<'static>>, String>(found),
            Err(error) => Err(wrong(&format!("the certificate of {whose} is not PEM"), &error)),
        };
        let chain = certificates(certificate, "the process")?;
        let signers = certificates(authority, "the authority")?;
        if chain.is_empty() || signers.is_empty() {
            return Err("a file of certificates holds none".into());
        }
        let key = PrivateKeyDer::from_pem_slice(key)
            .map_err(|error| wrong("the private key is not PEM", &error))?;
        let unusable = |error: &dyn Display| wrong("the authority's certificate cannot be used", error);
        let mut roots = RootCertStore::empty();
        for signer in signers {
            roots.add(signer).map_err(|error| unusable(&error))?;
        }
        let (roots, provider) = (Arc::new(roots), Arc::new(ring::default_provider()));
        let clients = WebPkiClientVerifier::builder_with_provider(roots.clone(), provider.clone())
            .build()
            .map_err(|error| unusable(&error))?;
        let servers = WebPkiServerVerifier::builder_with_provider(roots, provider.clone())
            .build()
            .map_err(|error| unusable(&error))?;
        let misfit = |error: rustls::Error| wrong("certificate and key do not fit", &error);
        let mut server = ServerConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&[&TLS13])
            .map_err(misfit)?
            .with_client_cert_verifier(clients.clone())
            .with_single_cert(chain.clone(), key.clone_key())
            .map_err(misfit)?;
        server.send_tls13_tickets = 0;
        let client = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13])
            .map_err(misfit)?
            .with_webpki_verifier(servers.clone())
            .with_client_auth_cert(chain.clone(), key)
            .map_err(misfit)?;
        let (client, server, told_ns) = (Arc::new(client), Arc::new(server), AtomicU64::new(0));
        Ok(PeerTls { client, server, told_ns, servers, clients, chain })
    }
    /// Would another process accept this one's certificate, as a server at this address and as a client?
    ///
    /// # Errors
    /// The reason, in words.
    pub fn check(&self, address: &str) -> Result<(), String> {
        let refused = |error: &dyn Display| format!("the certificate is not taken for {address}: {error}");
        let name = name_of(address).map_err(|error| refused(&error))?;
        let Some((own, above)) = self.chain.split_first() else {
            return Err("there is no certificate".into());
        };
        let now = UnixTime::now();
        let as_server = self.servers.verify_server_cert(own, above, &name, &[], now);
        as_server.map_err(|error| refused(&error))?;
        self.clients.verify_client_cert(own, above, now).map(drop).map_err(|error| refused(&error))
    }
    /// Reports to the operator why a peer is refused: nothing else shows it.
    fn tell(&self, peer: &dyn Display, error: &io::Error) {
        let (now, told_ns) = (clock::monotonic_ns(), self.told_ns.load(Ordering::Relaxed));
        let is_due = told_ns == 0 || now.saturating_sub(told_ns) > clock::span_ns(TELL_EVERY);
        let is_of_tls = matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput);
        if is_due && is_of_tls {
            self.told_ns.store(now, Ordering::Relaxed);
            world::files::say(format_args!("no TLS with {peer}: {error}"));
        }
    }
}

/// The name that the process at an address must prove to have.
fn name_of(address: &str) -> Result<ServerName<'static>, InvalidDnsNameError> {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    ServerName::try_from(host.trim_start_matches('[').trim_end_matches(']').to_string())
}

/// The accepting end of a connection; reports a handshake that fails.
struct AcceptedStream<'s> {
    stream: StreamOwned<ServerConnection, Wire<'s>>,
    wire: Wire<'s>,
    tls: &'s PeerTls,
}

impl Read for AcceptedStream<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.stream.read(into).inspect_err(|error| {
            if self.stream.conn.is_handshaking()
                && let Some(peer) = self.wire.peer()
            {
                self.tls.tell(&peer, error);
            }
        })
    }
}

impl Cover for PeerTls {
    fn connected<'s>(&self, wire: Wire<'s>, address: &str) -> io::Result<Box<dyn Write + 's>> {
        let name = name_of(address).map_err(io::Error::other)?;
        let mut connection = ClientConnection::new(self.client.clone(), name).map_err(io::Error::other)?;
        let mut both = wire;
        while connection.is_handshaking() {
            connection.complete_io(&mut both).inspect_err(|error| self.tell(&address, error))?;
        }
        Ok(Box::new(StreamOwned::new(connection, wire)))
    }
    fn accepted<'s>(&'s self, wire: Wire<'s>) -> io::Result<Box<dyn Read + 's>> {
        let connection = ServerConnection::new(self.server.clone()).map_err(io::Error::other)?;
        Ok(Box::new(AcceptedStream { stream: StreamOwned::new(connection, wire), wire, tls: self }))
    }
}

#[cfg(test)]
mod tests;
