//! A client's half of Bolt 5.4, as small as can be: one socket, requests written at once, values of rows handed on as they come.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a client needs a socket")]

use model::Value;
use server::bolt::chunks::{self, Assembler};
use server::bolt::handshake::MAGIC;
use server::bolt::packstream::{Packer, Unpacker};
use server::bolt::structure;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

const READ_BYTES: usize = 64 << 10;
const HELLO: u8 = 0x01;
const LOGON: u8 = 0x6A;
const RUN: u8 = 0x10;
const PULL: u8 = 0x3F;
const SUCCESS: u8 = 0x70;
const RECORD: u8 = 0x71;

pub struct Client {
    socket: TcpStream,
    assembler: Assembler,
    bytes: Vec<u8>,
    /// Answers of one message that come before the rows.
    heads: usize,
}

impl Client {
    pub fn connect(address: SocketAddr) -> Result<Client, String> {
        let failed = |error: std::io::Error| error.to_string();
        let mut socket = TcpStream::connect(address).map_err(failed)?;
        socket.set_nodelay(true).map_err(failed)?;
        let hello = [&MAGIC[..], &[0, 0, 4, 5], &[0; 12]].concat();
        socket.write_all(&hello).map_err(failed)?;
        let mut version = [0; 4];
        socket.read_exact(&mut version).map_err(failed)?;
        if version != [0, 0, 4, 5] {
            return Err(format!("the server answered {version:?}"));
        }
        let mut client =
            Client { socket, assembler: Assembler::default(), bytes: vec![0; READ_BYTES], heads: 1 };
        let nothing = || Value::map::<&str>([]);
        client.send(&[(HELLO, &[nothing()]), (LOGON, &[nothing()])])?;
        client.answer(|_| ())?;
        Ok(client)
    }
    /// Runs a statement, and requests its first `fetch` rows (-1: all).
    pub fn run(&mut self, text: &str, params: Value, fetch: i64) -> Result<(), String> {
        self.heads = 1;
        let ask = [text.into(), params, Value::map::<&str>([])];
        self.send(&[(RUN, &ask), (PULL, &[Value::map([("n", Value::Int(fetch))])])])
    }
    /// Asks for more rows.
    pub fn pull(&mut self, fetch: i64) -> Result<(), String> {
        self.send(&[(PULL, &[Value::map([("n", Value::Int(fetch))])])])
    }
    /// Hands on rows until the answer's end; are there more?
    pub fn answer(&mut self, mut take: impl FnMut(Vec<Value>)) -> Result<bool, String> {
        loop {
            let message = self.next()?;
            let mut unpacker = Unpacker::new(&message);
            let broken = |error| format!("unreadable: {error:?}");
            let (tag, _) = unpacker.structure().map_err(broken)?;
            let body = unpacker.value().map_err(broken)?;
            match (tag, body) {
                (RECORD, Value::List(values)) => take(values.to_vec()),
                (SUCCESS, _) if self.heads > 0 => self.heads -= 1,
                (SUCCESS, Value::Map(end)) => return Ok(end.get("has_more").is_some()),
                (_, body) => return Err(format!("message {tag:#x}: {body:?}")),
            }
        }
    }
    fn send(&mut self, requests: &[(u8, &[Value])]) -> Result<(), String> {
        let mut bytes = Vec::new();
        for (tag, fields) in requests {
            chunks::write_with(&mut bytes, |packer: &mut Packer| {
                packer.structure(*tag, fields.len() as u8);
                fields.iter().for_each(|field| structure::pack(packer, field, true));
            });
        }
        self.socket.write_all(&bytes).map_err(|error| error.to_string())
    }
    fn next(&mut self) -> Result<Vec<u8>, String> {
        loop {
            match self.assembler.next_message() {
                Ok(Some(message)) => return Ok(message.into()),
                Ok(None) => {}
                Err(_) => return Err("a message is too long".into()),
            }
            match self.socket.read(&mut self.bytes) {
                Ok(0) => return Err("the server closed the connection".into()),
                Ok(count) => self.assembler.feed(&self.bytes[..count]),
                Err(error) => return Err(error.to_string()),
            }
        }
    }
}
