//! A client of HTTP over a real socket, as simple as can be.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a client needs a socket")]

use serde_json::Value as Json;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// An answer, read to its end.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    /// Names in small letters.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// Did it end as it must?
    pub is_whole: bool,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }
    pub fn json(&self) -> Json {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }
    /// The code of the error that it tells.
    pub fn code(&self) -> String {
        self.json()["errors"][0]["code"].as_str().unwrap_or_default().to_string()
    }
}

pub struct Client {
    pub socket: BufReader<TcpStream>,
    host: String,
    /// Sent with every request.
    pub headers: Vec<String>,
}

impl Client {
    pub fn connect(address: SocketAddr) -> Client {
        let socket = TcpStream::connect(address).unwrap();
        socket.set_nodelay(true).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        Client { socket: BufReader::new(socket), host: address.to_string(), headers: Vec::new() }
    }
    pub fn with(mut self, header: &str) -> Client {
        self.headers.push(header.to_string());
        self
    }
    pub fn basic(self, name: &str, password: &str) -> Client {
        let token = data_encoding::BASE64.encode(format!("{name}:{password}").as_bytes());
        self.with(&format!("Authorization: Basic {token}"))
    }
    pub fn raw(&mut self, bytes: &[u8]) {
        self.socket.get_mut().write_all(bytes).unwrap();
    }
    /// Sends a request; a body is JSON unless a header says something else.
    pub fn send(&mut self, method: &str, path: &str, headers: &[&str], body: Option<&str>) {
        let mut text = format!("{method} {path} HTTP/1.1\r\n");
        let all = || headers.iter().copied().chain(self.headers.iter().map(String::as_str));
        let says = |name: &str| all().any(|header| header.to_lowercase().starts_with(name));
        if !says("host:") {
            text += &format!("Host: {}\r\n", self.host);
        }
        all().for_each(|header| text += &format!("{header}\r\n"));
        if let Some(body) = body {
            if !says("content-type:") {
                text += "Content-Type: application/json\r\n";
            }
            text += &format!("Content-Length: {}\r\n", body.len());
        }
        text += &format!("\r\n{}", body.unwrap_or_default());
        self.raw(text.as_bytes());
    }
    pub fn ask(&mut self, method: &str, path: &str, headers: &[&str], body: Option<&str>) -> Answer {
        self.send(method, path, headers, body);
        self.read(method == "HEAD").expect("an answer")
    }
    pub fn post(&mut self, path: &str, body: &Json) -> Answer {
        self.ask("POST", path, &[], Some(&body.to_string()))
    }
    /// Runs a statement as a transaction of its own.
    pub fn query(&mut self, statement: &str) -> Answer {
        self.post(QUERY, &serde_json::json!({ "statement": statement }))
    }
    pub fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        match self.socket.read_line(&mut line) {
            Ok(count) if count > 0 => Some(line.trim_end().to_string()),
            _ => None,
        }
    }
    /// The head of an answer; none where the server closed.
    pub fn head(&mut self) -> Option<Answer> {
        let status = self.line()?;
        let status = status.strip_prefix("HTTP/1.1 ")?[..3].parse().ok()?;
        let mut answer = Answer { status, headers: Vec::new(), body: Vec::new(), is_whole: true };
        loop {
            let line = self.line()?;
            let Some((name, value)) = line.split_once(':') else { return Some(answer) };
            answer.headers.push((name.to_lowercase(), value.trim().to_string()));
        }
    }
    /// The next chunk; none at the end, an error where the end is missing.
    pub fn chunk(&mut self) -> Result<Option<Vec<u8>>, ()> {
        let size = usize::from_str_radix(&self.line().ok_or(())?, 16).map_err(|_| ())?;
        let mut bytes = vec![0; size + 2];
        self.socket.read_exact(&mut bytes).map_err(|_| ())?;
        bytes.truncate(size);
        Ok((size > 0).then_some(bytes))
    }
    pub fn read(&mut self, is_head: bool) -> Option<Answer> {
        let mut answer = self.head()?;
        if is_head {
            return Some(answer);
        }
        if answer.header("transfer-encoding") == Some("chunked") {
            loop {
                match self.chunk() {
                    Ok(Some(bytes)) => answer.body.extend(bytes),
                    Ok(None) => return Some(answer),
                    Err(()) => {
                        answer.is_whole = false;
                        return Some(answer);
                    }
                }
            }
        }
        let length = answer.header("content-length").map_or(0, |length| length.parse().unwrap());
        answer.body = vec![0; length];
        answer.is_whole = self.socket.read_exact(&mut answer.body).is_ok();
        Some(answer)
    }
    /// Has the server closed, or does it within the time?
    pub fn is_closed(&mut self) -> bool {
        self.socket.read(&mut [0; 1]).map_or(true, |count| count == 0)
    }
}

pub const QUERY: &str = "/db/neo4j/query/v2";
pub const BEGIN: &str = "/db/neo4j/query/v2/tx";
