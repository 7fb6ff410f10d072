//! However small the blocks are, they are the file.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use super::*;
use crate::records::Records;
use world::chance::Chance;

type Found = Vec<(u64, Result<Vec<u8>, &'static str>)>;

fn read(bytes: &[u8], format: Format, skip: usize, block: usize, record: usize) -> Found {
    let source = Box::new(std::io::Cursor::new(bytes.to_vec()));
    let mut reader = BlockReader::new(source, format, skip).with_sizes(block, record);
    let (mut block, mut found, mut number) = (Block::default(), Vec::new(), 0);
    while reader.next(&mut block).unwrap() {
        assert_eq!(block.number, number);
        number += 1;
        match block.broken {
            Some(what) => found.push((block.first_line, Err(what))),
            None => {
                let records = Records::new(&block.bytes, format, block.first_line);
                found.extend(records.map(|(line, record)| (line, Ok(record.to_vec()))));
            }
        }
    }
    found
}

const QUOTING: Format = Format { delimiter: b',', quoting: true };
const PLAIN: Format = Format { delimiter: b',', quoting: false };

#[test]
fn small_blocks_hold_the_same_records_as_one_large_block() {
    let seed = Chance::system_seed();
    println!("seed {seed}");
    let mut chance = Chance::seeded(seed);
    for _ in 0..20_000 {
        let format = if chance.below(2) == 0 { QUOTING } else { PLAIN };
        let length = chance.below(40) as usize;
        // A byte order mark is one at the beginning alone.
        let pieces: [&[u8]; 6] = [b",", b"\"", b"\n", b"a", b"b", BYTE_ORDER_MARK];
        let bytes: Vec<u8> = (0..length).flat_map(|_| pieces[chance.below(6) as usize]).copied().collect();
        let skip = chance.below(3) as usize;
        let whole = read(&bytes, format, skip, 1 << 20, 1 << 20);
        let size = 1 + chance.below(8) as usize;
        let shown = String::from_utf8_lossy(&bytes);
        assert_eq!(read(&bytes, format, skip, size, 1 << 20), whole, "{shown:?} by {size}, skip {skip}");
    }
}

#[test]
fn a_quote_that_is_never_closed_costs_its_line_only() {
    let found = read(b"a,b\n\"c,d\ne,f\ng,h\n", QUOTING, 0, 4, 1 << 20);
    let expected: Found = vec![
        (1, Ok(b"a,b".to_vec())),
        (2, Err(NEVER_CLOSED)),
        (3, Ok(b"e,f".to_vec())),
        (4, Ok(b"g,h".to_vec())),
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_line_that_is_too_long_is_dropped_to_its_end() {
    let found = read(b"a\nbbbbbbbbbbbbbbbbbbbbbbbbbbbb\nc\n", PLAIN, 0, 4, 8);
    let expected: Found =
        vec![(1, Ok(b"a".to_vec())), (2, Err("the line is longer than 16 MiB")), (3, Ok(b"c".to_vec()))];
    assert_eq!(found, expected);
}

#[test]
fn headers_and_byte_order_marks_are_left_out() {
    let found = read(b"\xef\xbb\xbfid,name\r\n1,a\r\n", QUOTING, 1, 3, 1 << 20);
    assert_eq!(found, vec![(2, Ok(b"1,a".to_vec()))]);
    assert_eq!(read(b"only a header", QUOTING, 1, 3, 1 << 20), vec![]);
    for block in 1..8 {
        let found = read(b"\xef\xbb\xbfa,b\n\xef\xbb\xbfc,d\n", QUOTING, 0, block, 1 << 20);
        let expected = vec![(1, Ok(b"a,b".to_vec())), (2, Ok(b"\xef\xbb\xbfc,d".to_vec()))];
        assert_eq!(found, expected, "in blocks of {block}");
    }
}
