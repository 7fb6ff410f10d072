//! Base64 as RFC 4648 defines it in section 4: the alphabet with `+` and `/`, padding required, and one text for each row of bytes.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const PADDING: u8 = b'=';

/// The text of these bytes.
pub(super) fn encoded(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let number = (0..3).fold(0_u32, |number, at| number << 8 | u32::from(*three.get(at).unwrap_or(&0)));
        for at in 0..4 {
            let sextet = (number >> (18 - 6 * at)) & 0x3f;
            text.push(if at <= three.len() { ALPHABET[sextet as usize] } else { PADDING } as char);
        }
    }
    text
}

/// The bytes of this text; none where it is no output of [`encoded`].
pub(super) fn decoded(text: &str) -> Option<Vec<u8>> {
    let fours = text.as_bytes().chunks_exact(4);
    if !fours.remainder().is_empty() {
        return None;
    }
    let (mut bytes, count) = (Vec::with_capacity(text.len() / 4 * 3), fours.len());
    for (at, four) in fours.enumerate() {
        let padded = four.iter().rev().take_while(|letter| **letter == PADDING).count();
        // Only the last four letters are padded, and by two at most.
        if padded > 2 || padded > 0 && at + 1 < count {
            return None;
        }
        let letters = &four[..4 - padded];
        let number = letters.iter().try_fold(0_u32, |number, letter| Some(number << 6 | sextet(*letter)?))?;
        let number = number << (6 * padded);
        let whole = &number.to_be_bytes()[1..];
        let (kept, rest) = whole.split_at(3 - padded);
        // Bits behind the last byte are zero, or a second text would mean the same.
        if rest.iter().any(|byte| *byte != 0) {
            return None;
        }
        bytes.extend_from_slice(kept);
    }
    Some(bytes)
}

fn sextet(letter: u8) -> Option<u32> {
    let (begin, first) = match letter {
        b'A'..=b'Z' => (b'A', 0),
        b'a'..=b'z' => (b'a', 26),
        b'0'..=b'9' => (b'0', 52),
        b'+' => return Some(62),
        b'/' => return Some(63),
        _ => return None,
    };
    Some(u32::from(letter - begin) + first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_texts_are_those_of_the_twin() {
        let mut state = 7_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize
        };
        for length in (0..40).chain([1000]) {
            let bytes: Vec<u8> = (0..length).map(|_| next() as u8).collect();
            let text = data_encoding::BASE64.encode(&bytes);
            assert_eq!((encoded(&bytes), decoded(&text)), (text.clone(), Some(bytes)));
            // A letter changed, left out, or one more.
            for _ in 0..50 {
                let mut letters = text.clone().into_bytes();
                let at = next() % (letters.len() + 1);
                let letter = b"A/+=9z -_\n"[next() % 10];
                match next() % 3 {
                    0 => letters.insert(at, letter),
                    1 if at < letters.len() => drop(letters.remove(at)),
                    _ if at < letters.len() => letters[at] = letter,
                    _ => {}
                }
                let text = String::from_utf8(letters).expect("letters of one byte");
                // The twin takes several texts one behind the other for one.
                let is_one = !text[..text.len().saturating_sub(4)].contains('=');
                let twin = data_encoding::BASE64.decode(text.as_bytes()).ok().filter(|_| is_one);
                assert_eq!(decoded(&text), twin, "{text}");
            }
        }
    }
}
