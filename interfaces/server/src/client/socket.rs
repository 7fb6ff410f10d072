//! The socket of a client: plain, or wrapped in TLS.

use super::address::{Address, Security};
use database::Error;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, RootCertStore, SignatureScheme, StreamOwned,
};
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Time that connecting to one address may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Reading gives up after this long, so that the reader can check whether it was interrupted.
const READ_TIMEOUT: Duration = Duration::from_millis(50);
/// A server that takes no bytes for so long is gone.
const WRITE_TIMEOUT: Duration = Duration::from_secs(60);
/// A connected socket. A read that brings nothing for [`READ_TIMEOUT`] fails with `WouldBlock` or `TimedOut`.
pub(super) enum Socket {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Socket {
    pub fn connect(address: &Address) -> Result<Socket, Error> {
        let unreachable = |error: io::Error| {
            let message = format!("no server answers at {}:{}: {error}", address.host, address.port);
            Error::new("Tanglewood.ClientError.Client.Unreachable", message)
        };
        let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
        let found = (address.host.as_str(), address.port).to_socket_addrs().map_err(unreachable)?;
        for socket_address in found {
            match TcpStream::connect_timeout(&socket_address, CONNECT_TIMEOUT) {
                Ok(stream) => {
                    return wrap(stream, address).map_err(|error| error.unwrap_or_else(unreachable));
                }
                Err(error) => last = error,
            }
        }
        Err(unreachable(last))
    }
}

/// A fault that has its own error, or one of the system.
enum Fault {
    Told(Error),
    Io(io::Error),
}

impl Fault {
    fn unwrap_or_else(self, told: impl FnOnce(io::Error) -> Error) -> Error {
        match self {
            Fault::Told(error) => error,
            Fault::Io(error) => told(error),
        }
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Fault {
        Fault::Io(error)
    }
}

fn wrap(stream: TcpStream, address: &Address) -> Result<Socket, Fault> {
    stream.set_nodelay(true)?;
    stream.set_write_timeout(Some(WRITE_TIMEOUT))?;
    if address.security == Security::Plain {
        stream.set_read_timeout(Some(READ_TIMEOUT))?;
        return Ok(Socket::Plain(stream));
    }
    let config = config(&address.security).map_err(Fault::Told)?;
    let name = ServerName::try_from(address.host.clone())
        .map_err(|_| Fault::Told(untrusted(&format!("`{}` is no name of a host", address.host))))?;
    let connection = ClientConnection::new(Arc::new(config), name)
        .map_err(|error| Fault::Told(untrusted(&error.to_string())))?;
    stream.set_read_timeout(Some(CONNECT_TIMEOUT))?;
    let mut stream = StreamOwned::new(connection, stream);
    while stream.conn.is_handshaking() {
        let done = stream.conn.complete_io(&mut stream.sock);
        done.map_err(|error| Fault::Told(untrusted(&error.to_string())))?;
    }
    stream.sock.set_read_timeout(Some(READ_TIMEOUT))?;
    Ok(Socket::Tls(Box::new(stream)))
}

fn untrusted(why: &str) -> Error {
    Error::new("Tanglewood.ClientError.Client.Tls", format!("TLS could not be agreed on: {why}")).hint(
        "bolt+ssc:// accepts any certificate; --tls-ca FILE names one to trust; bolt:// goes without TLS",
    )
}

fn config(security: &Security) -> Result<ClientConfig, Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| untrusted(&error.to_string()))?;
    let verifier: Arc<dyn ServerCertVerifier> = match security {
        Security::Plain | Security::Any => Arc::new(Known { certificate: None, provider }),
        Security::Pinned(certificate) => {
            Arc::new(Known { certificate: Some(certificate.clone().into()), provider })
        }
        Security::Trusted(file) => {
            let roots = Arc::new(roots(file.as_deref())?);
            WebPkiServerVerifier::builder_with_provider(roots, provider)
                .build()
                .map_err(|error| untrusted(&error.to_string()))?
        }
    };
    Ok(builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth())
}

fn roots(file: Option<&Path>) -> Result<RootCertStore, Error> {
    let system = || {
        world::files::SYSTEM_CERTIFICATES.iter().map(PathBuf::from).find(|path| world::files::exists(path))
    };
    let path = file.map(Path::to_path_buf).or_else(system);
    let path = path.ok_or_else(|| untrusted("this system says of no certificate that it trusts it"))?;
    let bytes = world::files::read_bytes(&path).map_err(|error| untrusted(&error.to_string()))?;
    let mut roots = RootCertStore::empty();
    let certificates = CertificateDer::pem_slice_iter(&bytes).filter_map(Result::ok);
    let (added, _) = roots.add_parsable_certificates(certificates);
    if added == 0 {
        return Err(untrusted(&format!("{} holds no certificate", path.display())));
    }
    Ok(roots)
}

/// Accepts one certificate, or any; that the server has its key is checked.
#[derive(Debug)]
struct Known {
    certificate: Option<CertificateDer<'static>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Known {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        match &self.certificate {
            Some(known) if known != shown => Err(rustls::Error::General(
                "the server shows another certificate than the one that has the folder open".into(),
            )),
            _ => Ok(ServerCertVerified::assertion()),
        }
    }
    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }
    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }
    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Plain(stream) => stream.read(buffer),
            Socket::Tls(stream) => stream.read(buffer),
        }
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Socket::Plain(stream) => stream.write(bytes),
            Socket::Tls(stream) => stream.write(bytes),
        }
    }
    fn flush(&mut self) -> io::Result<()> {
        match self {
            Socket::Plain(stream) => stream.flush(),
            Socket::Tls(stream) => stream.flush(),
        }
    }
}
