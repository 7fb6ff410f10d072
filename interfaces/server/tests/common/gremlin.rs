//! A client's half of the Gremlin interface: GraphSON 3 over WebSocket, bare HTTP.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a client needs a socket")]

use database::{Database, MEMORY, Options};
use serde_json::{Value as Json, json};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;
use tanglewood_server::gremlin::{Manner, Sources};
use tanglewood_server::users::Gate;
use tanglewood_server::{GremlinServeOptions, GremlinServer, Limits};
use tungstenite::protocol::WebSocketConfig;
use tungstenite::{Message, WebSocket};

pub const MIME: &str = "application/vnd.gremlin-v3.0+json";
/// Never ends, and gives nothing.
pub const ENDLESS: &str = "g.inject(1).repeat(__.identity()).until(__.is(2))";

pub fn options(gate: Arc<Gate>, limits: Limits) -> (Database, GremlinServeOptions) {
    let open = Options { executors: Some(2), ..Options::default() };
    let database = Database::open(MEMORY, open).unwrap();
    let sources = Sources::from([("g".to_string(), database.clone())]);
    let manner = Manner { sources: sources.into(), gate, timeout: None };
    (
        database,
        GremlinServeOptions { address: "127.0.0.1:0".into(), manner, tls: None, limits, cors: Vec::new() },
    )
}

pub fn serve(limits: Limits) -> (Database, GremlinServer) {
    let (database, options) = options(Gate::open(), limits);
    (database, GremlinServer::start(options).unwrap())
}

pub fn socket(address: SocketAddr) -> TcpStream {
    let socket = TcpStream::connect(address).unwrap();
    socket.set_nodelay(true).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    socket
}

/// A part of an answer: its code, and its objects or its message.
pub type Told = (i64, Json);

pub struct Client<S = TcpStream> {
    pub socket: WebSocket<S>,
    next: u128,
}

impl Client {
    pub fn connect(address: SocketAddr) -> Client {
        Client::over(socket(address))
    }
}

impl<S: Read + Write> Client<S> {
    pub fn over(stream: S) -> Client<S> {
        let config = WebSocketConfig::default().max_message_size(None).max_frame_size(None);
        let greeted = tungstenite::client::client_with_config("ws://localhost/gremlin", stream, Some(config));
        let (socket, _) = greeted.map_err(|error| error.to_string()).unwrap();
        Client { socket, next: 1 }
    }
    /// Sends a request of an operation.
    pub fn send(&mut self, operation: &str, processor: &str, arguments: Json) {
        let id = gremlin::object::uuid_text(self.next);
        self.next += 1;
        let request = json!({ "requestId": id, "op": operation, "processor": processor, "args": arguments });
        let mut frame = vec![MIME.len() as u8];
        frame.extend(MIME.as_bytes());
        frame.extend(request.to_string().as_bytes());
        self.socket.send(Message::binary(frame)).unwrap();
    }
    pub fn eval(&mut self, text: &str) {
        self.send("eval", "", json!({ "gremlin": text }));
    }
    /// The next part of an answer; none where the server closed.
    pub fn try_told(&mut self) -> Option<Told> {
        match self.socket.read() {
            Ok(Message::Text(text)) => {
                let json: Json = serde_json::from_str(&text).unwrap();
                let code = json["status"]["code"].as_i64().unwrap();
                let told = match &json["result"]["data"] {
                    Json::Null => json["status"]["message"].clone(),
                    data => data["@value"].clone(),
                };
                Some((code, told))
            }
            _ => None,
        }
    }
    pub fn told(&mut self) -> Told {
        self.try_told().expect("the server closed the connection")
    }
    /// All objects of an answer.
    pub fn ask(&mut self, text: &str) -> Vec<Json> {
        self.eval(text);
        self.rest()
    }
    pub fn rest(&mut self) -> Vec<Json> {
        let mut all = Vec::new();
        loop {
            let (code, told) = self.told();
            assert!([200, 204, 206].contains(&code), "{code}: {told}");
            all.extend(told.as_array().cloned().unwrap_or_default());
            if code != 206 {
                return all;
            }
        }
    }
    /// The one whole number of an answer.
    pub fn int(&mut self, text: &str) -> i64 {
        let all = self.ask(text);
        all[0]["@value"].as_i64().unwrap_or_else(|| panic!("no whole number: {all:?}"))
    }
    /// What the server says when it closes.
    pub fn farewell(&mut self) -> Option<String> {
        loop {
            match self.socket.read() {
                Ok(Message::Close(why)) => return why.map(|why| why.reason.to_string()),
                Ok(_) => {}
                Err(_) => return None,
            }
        }
    }
}

/// Sends text, closes its half, and reads to the end.
pub fn http(address: SocketAddr, text: &str) -> String {
    let mut socket = socket(address);
    socket.write_all(text.as_bytes()).unwrap();
    let mut answer = Vec::new();
    // What the server closed early was read as far as it went.
    let _ = socket.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

pub fn get(address: SocketAddr, query: &str, headers: &str) -> String {
    http(
        address,
        &format!("GET /gremlin{query} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}\r\n"),
    )
}

pub fn post(address: SocketAddr, body: &str, headers: &str) -> String {
    let length = body.len();
    let head = "POST /gremlin HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
    http(address, &format!("{head}Content-Length: {length}\r\n{headers}\r\n{body}"))
}

/// The JSON of an answer whose length is told.
pub fn body(answer: &str) -> Json {
    let (_, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no body: {answer}"));
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}"))
}
