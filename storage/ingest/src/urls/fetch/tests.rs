//! URLs of a server in this process: read, refused, too long, too slow, redirected.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a server of this test's own")]

use super::*;
use std::net::TcpListener;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Answers each request by its path, for as long as the process lives; its address.
fn server(answer: impl Fn(&str) -> Vec<u8> + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::mem::forget(world::threads::spawn("server of a test", move || {
        for socket in listener.incoming() {
            let Ok(mut socket) = socket else { continue };
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                if socket.read(&mut byte).unwrap_or(0) == 0 {
                    break;
                }
                request.push(byte[0]);
            }
            let text = String::from_utf8_lossy(&request);
            let path = text.split(' ').nth(1).unwrap_or_default().to_string();
            // Whoever asked may have gone.
            let _ = socket.write_all(&answer(&path));
        }
    }));
    address
}

fn body(bytes: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", bytes.len());
    [head.as_bytes(), bytes].concat()
}

fn on_to(url: &str) -> Vec<u8> {
    format!("HTTP/1.1 302 Found\r\nLocation: {url}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        .into_bytes()
}

fn read(rules: &str, bytes_max: u64, url: &str) -> Result<Vec<u8>, String> {
    let fetcher = Fetcher { bytes_max, ..Fetcher::new(UrlRules::parse(rules).unwrap()) };
    let mut found = Vec::new();
    fetcher.read(url, &mut found, &|| true).map(|()| found)
}

#[test]
fn a_url_is_read_where_its_host_is_listed() {
    let address = server(|path| match path {
        "/short" => body(b"id\n1\n"),
        "/cut" => b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nConnection: close\r\n\r\nid".to_vec(),
        "/chunks" => {
            let chunks = "3\r\nid\n\r\n2\r\n1\n\r\n0\r\n\r\n";
            format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n{chunks}")
                .into_bytes()
        }
        "/nonsense" => b"nonsense\r\n\r\n".to_vec(),
        path if path.starts_with("/loop") => on_to(&format!("{path}x")),
        _ => b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_vec(),
    });
    let url = |path: &str| format!("http://{address}{path}");
    let listed = "http://127.0.0.1";
    for path in ["/short", "/chunks"] {
        assert_eq!(read(listed, 5, &url(path)).unwrap(), b"id\n1\n", "{path}");
    }
    for (rules, path, wanted) in [
        (listed, "/absent", "status 404"),
        (listed, "/nonsense", ""),
        (listed, "/cut", "to its end"),
        (listed, "/loop", "more than 5 times"),
        ("http://x.org", "/short", "does not list http://127.0.0.1"),
        ("127.0.0.1", "/short", "does not list http://"),
        ("http://*", "/short", "not public"),
    ] {
        let error = read(rules, 5, &url(path)).unwrap_err();
        assert!(error.contains(wanted), "{path}: {error}");
    }
    assert!(read(listed, 4, &url("/short")).unwrap_err().contains("more than 4 bytes"));
    assert!(read(listed, 4, &format!("http://127.0.0.1/{}", "x".repeat(URL_LENGTH_MAX))).is_err());
    assert!(read("http://localhost.invalid", 4, "http://localhost.invalid/").is_err());
    let port = address.rsplit_once(':').unwrap().1;
    let named = format!("http://localhost:{port}/short");
    assert!(read("http://*", 5, &named).unwrap_err().contains("not public"), "after its name was resolved");
    assert_eq!(read(&format!("http://localhost:{port}"), 5, &named).unwrap(), b"id\n1\n");
}

#[test]
fn what_an_answer_leads_on_to_is_under_the_same_rules() {
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    let inner = server(|_| {
        ASKED.fetch_add(1, Ordering::Relaxed);
        body(b"secret")
    });
    let target = format!("http://{inner}/");
    let outer = server(move |_| on_to(&target));
    let (inner_port, outer_port) = (inner.rsplit_once(':').unwrap().1, outer.rsplit_once(':').unwrap().1);
    let url = format!("http://{outer}/");
    let error = read(&format!("http://127.0.0.1:{outer_port}"), 9, &url).unwrap_err();
    assert!(error.contains(&format!("does not list http://127.0.0.1:{inner_port}")), "{error}");
    assert_eq!(ASKED.load(Ordering::Relaxed), 0, "nobody was asked");
    let both = format!("http://127.0.0.1:{outer_port}, http://127.0.0.1:{inner_port}");
    assert_eq!(read(&both, 9, &url).unwrap(), b"secret");
}

#[test]
fn a_reading_ends_when_nobody_wants_it() {
    let address = server(|_| body(&vec![7; 4 << 20]));
    let fetcher =
        Fetcher { bytes_max: u64::MAX, ..Fetcher::new(UrlRules::parse("http://127.0.0.1").unwrap()) };
    let asked = AtomicUsize::new(0);
    let mut found = Vec::new();
    let goes_on = || asked.fetch_add(1, Ordering::Relaxed) < 2;
    let error = fetcher.read(&format!("http://{address}/"), &mut found, &goes_on).unwrap_err();
    assert!(error.contains("was ended"), "{error}");
    assert!(found.len() <= 2 * PIECE_BYTES, "{}", found.len());
}

/// A server that speaks TLS by a certificate that it signed itself; its address, and the certificate.
fn tls_server() -> (String, String) {
    let own = rcgen::generate_simple_self_signed(["localhost".to_string()]).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::try_from(own.signing_key.serialize_der()).unwrap();
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.unwrap().with_no_client_auth();
    let config = config.with_single_cert(vec![own.cert.der().clone()], key).unwrap();
    let config = std::sync::Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("localhost:{}", listener.local_addr().unwrap().port());
    std::mem::forget(world::threads::spawn("server of a test", move || {
        for socket in listener.incoming().flatten() {
            let connection = rustls::ServerConnection::new(config.clone()).unwrap();
            let mut stream = rustls::StreamOwned::new(connection, socket);
            // Whoever does not trust the certificate goes.
            if stream.read(&mut [0; 4096]).is_ok() {
                let _ = stream.write_all(&body(b"id\n1\n")).and_then(|()| stream.flush());
            }
        }
    }));
    (address, own.cert.pem())
}

/// A server of one's own has a certificate that no public list knows.
#[test]
fn certificates_of_ones_own_are_trusted_where_a_file_names_them() {
    let (address, pem) = tls_server();
    let folder = world::files::TemporaryFolder::new("certificates").unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        world::files::write_bytes(&path, text.as_bytes()).unwrap();
        path.into_os_string()
    };
    let other = rcgen::generate_simple_self_signed(["localhost".to_string()]).unwrap().cert.pem();
    let read = |file: Option<std::ffi::OsString>| {
        let tls = certificates::tls_by(file.as_deref());
        let fetcher = Fetcher { tls, ..Fetcher::new(UrlRules::everything()) };
        let mut found = Vec::new();
        fetcher.read(&format!("https://{address}/a.csv"), &mut found, &|| true).map(|()| found)
    };
    assert_eq!(read(Some(write("own.pem", &pem))).unwrap(), b"id\n1\n");
    assert_eq!(read(Some(write("both.pem", &format!("{other}{pem}")))).unwrap(), b"id\n1\n");
    for (file, wanted) in [
        (None, "SSL_CERT_FILE"),
        (Some("".into()), "SSL_CERT_FILE"),
        (Some(write("other.pem", &other)), "SSL_CERT_FILE"),
        (Some(write("none.pem", "nothing")), "none in PEM"),
        (Some(folder.path().join("absent.pem").into_os_string()), "no file of certificates"),
    ] {
        let error = read(file.clone()).unwrap_err();
        assert!(error.contains(wanted), "{file:?}: {error}");
    }
}
