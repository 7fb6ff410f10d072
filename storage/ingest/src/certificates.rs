//! Whose certificates are trusted when a host is read by TLS: those of Mozilla's list, or those of the file that the variable `SSL_CERT_FILE` of the
//! environment names, as for other programs.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};
use world::files;

/// The variable of the environment.
const VARIABLE: &str = "SSL_CERT_FILE";
/// Certificates that the file may have.
const CERTIFICATES_MAX: usize = 1024;

/// How TLS is spoken.
pub(crate) fn tls() -> Result<TlsConfig, String> {
    tls_by(std::env::var_os(VARIABLE).as_deref())
}

/// The same by a file that was named; an empty name is none.
pub(crate) fn tls_by(file: Option<&OsStr>) -> Result<TlsConfig, String> {
    let roots = match file.filter(|name| !name.is_empty()) {
        Some(name) => roots(Path::new(name)).map_err(|what| {
            format!("{} (of {VARIABLE}) is no file of certificates: {what}", Path::new(name).display())
        })?,
        None => RootCerts::WebPki,
    };
    Ok(TlsConfig::builder().root_certs(roots).build())
}

fn roots(path: &Path) -> Result<RootCerts, String> {
    let text = files::read_bytes(path).map_err(|error| error.to_string())?;
    let mut certificates: Vec<Certificate<'static>> = Vec::new();
    for item in parse_pem(&text) {
        match item.map_err(|error| error.to_string())? {
            PemItem::Certificate(_) if certificates.len() >= CERTIFICATES_MAX => {
                return Err(format!("it has more than {CERTIFICATES_MAX}"));
            }
            PemItem::Certificate(certificate) => certificates.push(certificate),
            _ => {}
        }
    }
    match certificates.is_empty() {
        true => Err("it has none in PEM".into()),
        false => Ok(RootCerts::Specific(Arc::new(certificates))),
    }
}
