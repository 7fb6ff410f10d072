//! PackStream: what can be read is a message, and no length in it makes us take more memory than its bytes.

use server::bolt::chunks::{self, Assembler};
use server::bolt::message::Request;
use server::bolt::packstream::{Packer, Unpacker};

/// Reads values, a request, and chunks, from the same bytes.
pub fn packstream(bytes: &[u8]) {
    let mut unpacker = Unpacker::new(bytes);
    while !unpacker.is_empty() {
        if unpacker.value().is_err() {
            break;
        }
    }
    drop(Request::parse(bytes));
    let mut assembler = Assembler::default();
    assembler.feed(bytes);
    while let Ok(Some(message)) = assembler.next_message() {
        drop(Request::parse(&message));
    }
}

pub(super) fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for tag in [0x01, 0x0f, 0x10, 0x11, 0x12, 0x13, 0x2f, 0x3f, 0x66, 0x6a] {
        seeds.push(packed(|packer| {
            packer.structure(tag, 3);
            packer.text("UNWIND $rows AS row RETURN row");
            packer.map(2);
            packer.text("rows");
            packer.list(3);
            packer.int(-17);
            packer.float(2.5);
            packer.blob(&[1, 2, 3]);
            packer.text("n");
            packer.int(i64::MAX);
            packer.map(1);
            packer.text("mode");
            packer.null();
        }));
    }
    let chunked = seeds.iter().map(|message| {
        let mut out = Vec::new();
        chunks::write(message, &mut out);
        out
    });
    let chunked: Vec<Vec<u8>> = chunked.collect();
    seeds.extend(chunked);
    seeds
}

pub(super) fn packed(pack: impl FnOnce(&mut Packer)) -> Vec<u8> {
    let mut out = Vec::new();
    chunks::write_with(&mut out, pack);
    // Without the head of its one chunk and the end mark.
    out[2..out.len() - 2].to_vec()
}
