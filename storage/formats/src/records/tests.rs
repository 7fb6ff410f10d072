//! The splitter against a slow one that looks at one byte after the other.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use super::*;
use world::chance::Chance;

/// Fields of each record, and whether they were quoted.
type Found = Vec<Vec<(Vec<u8>, bool)>>;

/// Records of fields, byte by byte; none if a quoted field is never closed or text follows a closing quote.
fn slow(bytes: &[u8], format: Format) -> Option<Found> {
    let (mut records, mut record) = (Vec::new(), Vec::new());
    let mut at = 0;
    while at < bytes.len() || !record.is_empty() {
        let (mut field, mut quoted) = (Vec::new(), false);
        if format.quoting && bytes.get(at) == Some(&b'"') {
            quoted = true;
            at += 1;
            loop {
                match (bytes.get(at)?, bytes.get(at + 1)) {
                    (b'"', Some(b'"')) => {
                        field.extend(b"\"\"");
                        at += 2;
                    }
                    (b'"', _) => break,
                    (byte, _) => {
                        field.push(*byte);
                        at += 1;
                    }
                }
            }
            at += 1;
        } else {
            while at < bytes.len() && bytes[at] != format.delimiter && bytes[at] != b'\n' {
                field.push(bytes[at]);
                at += 1;
            }
        }
        let last = match bytes.get(at) {
            Some(b'\n') | None => true,
            Some(b'\r') if quoted && matches!(bytes.get(at + 1), Some(b'\n') | None) => {
                at += 1;
                true
            }
            Some(byte) if *byte == format.delimiter => false,
            Some(_) => return None,
        };
        if last && !quoted && field.last() == Some(&b'\r') {
            field.pop();
        }
        record.push((field, quoted));
        at += 1;
        if last {
            records.push(std::mem::take(&mut record));
        }
    }
    Some(records)
}

fn fast(bytes: &[u8], format: Format) -> Option<Found> {
    let records = Records::new(bytes, format, 1).map(|(_, record)| {
        let mut fields = Vec::new();
        split(record, format, &mut fields).ok()?;
        Some(fields.iter().map(|field| (field.bytes.to_vec(), field.quoted)).collect())
    });
    records.collect()
}

#[test]
fn random_text_splits_as_the_slow_splitter_does() {
    let seed = Chance::system_seed();
    println!("seed {seed}");
    let mut chance = Chance::seeded(seed);
    let (mut whole, mut broken) = (0, 0);
    for _ in 0..40_000 {
        let format = Format { delimiter: b",|"[chance.below(2) as usize], quoting: chance.below(4) > 0 };
        let length = chance.below(24) as usize;
        let bytes: Vec<u8> = (0..length).map(|_| b",|\"\"\n\rab"[chance.below(8) as usize]).collect();
        let expected = slow(&bytes, format);
        match &expected {
            Some(_) => whole += 1,
            None => broken += 1,
        }
        assert_eq!(fast(&bytes, format), expected, "{:?} {format:?}", String::from_utf8_lossy(&bytes));
    }
    assert!(whole > 1_000 && broken > 1_000, "both kinds of text are met: {whole}, {broken}");
}

#[test]
fn lines_are_counted_over_line_ends_in_quotes() {
    let format = Format { delimiter: b',', quoting: true };
    let lines: Vec<u64> = Records::new(b"a,b\n\"x\ny\",1\nc,d", format, 5).map(|(line, _)| line).collect();
    assert_eq!(lines, [5, 6, 8]);
}

/// Where nothing stands behind a closing quote, both ways to read a record agree; a tail belongs to its field.
#[test]
fn texts_are_those_of_the_fields_and_tails_are_joined() {
    let all = |record: &[u8], format| -> Result<Vec<Option<String>>, String> {
        texts(record, format).map(|text| Ok(text?.map(Cow::into_owned))).collect()
    };
    let mut chance = Chance::seeded(Chance::system_seed());
    for _ in 0..5_000 {
        let format = Format { delimiter: b',', quoting: chance.below(4) > 0 };
        let length = chance.below(16) as usize;
        let record: Vec<u8> = (0..length).map(|_| b",,\"\"ab\n"[chance.below(7) as usize]).collect();
        let mut fields = Vec::new();
        if split(&record, format, &mut fields).is_ok() {
            let text = |field: &Field<'_>| (!field.is_absent()).then(|| field.text().unwrap().into_owned());
            let expected = fields.iter().map(text).collect();
            assert_eq!(all(&record, format), Ok(expected), "{:?}", String::from_utf8_lossy(&record));
        }
    }
    let some = |text: &str| Some(text.to_string());
    let format = Format { delimiter: b',', quoting: true };
    assert_eq!(
        all(b"\"Bo;b\";,\"a\"\"\"b\"c,,\"\"", format),
        Ok(vec![some("Bo;b;"), some("a\"b\"c"), None, some("")])
    );
    assert_eq!(all(b"\"a\"b,\"c", format), Err(NEVER_CLOSED.into()));
    assert_eq!(texts(b"\"a,\xff", format).count(), 1);
    assert!(all(b"\"a\"\xff,b", format).unwrap_err().contains("UTF-8"));
}
