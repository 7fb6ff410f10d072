//! Random messages of every kind come back unchanged; bytes that are cut short or changed are refused, or give another message, never a panic.

use super::*;
use world::chance::Chance;

/// The last one is the kind that `body` draws for any higher number, which the test checks.
const KINDS: u64 = 20;

fn vector(chance: &mut Chance) -> Vec<u64> {
    (0..1 + chance.below(4)).map(|_| 1 + chance.below(1 << 50)).collect()
}

fn stamp(chance: &mut Chance) -> Stamp {
    let vector = vector(chance);
    let gate = chance.index(vector.len());
    Stamp::from_parts(chance.below(9), gate, vector).unwrap()
}

fn bytes(chance: &mut Chance) -> Bytes {
    let length = chance.index(20);
    chance.bytes(length).into()
}

fn pairs(chance: &mut Chance) -> Vec<(Stamp, Stamp)> {
    (0..chance.below(4)).map(|_| (stamp(chance), stamp(chance))).collect()
}

fn record(chance: &mut Chance) -> Record {
    let stamp = stamp(chance);
    Record { stamp, parts: (0..chance.below(4) as u16).map(|shard| (shard, bytes(chance))).collect() }
}

fn body(kind: u64, chance: &mut Chance) -> Body {
    let (number, flag) = (chance.next_u64(), chance.happens(0.5));
    match kind {
        1 => Body::Announce(vector(chance).into()),
        2 => Body::Heard(number),
        3 => {
            let stamp = stamp(chance);
            Body::Item(Item { number, stamp, record: flag.then(|| Arc::new(record(chance))) })
        }
        4 => Body::Pin { read: stamp(chance), request: number, query: bytes(chance) },
        5 => Body::Received { next: number, gap: flag, questions: chance.next_u64() },
        6 => Body::Want(vector(chance).into()),
        7 => Body::Pinned { request: number, answer: bytes(chance) },
        8 => Body::Ask { question: number, pairs: pairs(chance) },
        9 => Body::Told { question: number, answer: if flag { Ok(vec![true, false]) } else { Err(7) } },
        10 => Body::Order(3),
        11 => Body::Ordering,
        12 => {
            let records = pairs(chance).into_iter().map(|(stamp, _)| (stamp, vec![1, 2].into())).collect();
            let taken = flag.then(|| vec![None, Some(stamp(chance))]);
            Body::Executed { from: number, records, taken }
        }
        13 => {
            let frontier = flag.then(|| vector(chance).into());
            Body::Settled { next: number, commit_version: chance.next_u64(), frontier }
        }
        14 => Body::Low(vector(chance).into()),
        15 => Body::Forget(vector(chance).into()),
        16 => Body::Alive { incarnation: number, ready: flag, pulse: chance.next_u64() },
        17 => {
            let members = Members { epoch: number, gates: vec![0, 2], shards: 3, first_version: 9 };
            Body::Begin { incarnation: 4, members: Arc::new(members) }
        }
        18 => Body::Open { incarnation: number },
        19 => Body::Replica(bytes(chance)),
        _ => Body::Pulse(number),
    }
}

fn node(chance: &mut Chance) -> Node {
    let number = chance.below(1 << 16) as u16;
    let all = [Node::Gate(number), Node::Shard(number), Node::Oracle, Node::Scribe, Node::Keeper];
    all[chance.index(all.len())]
}

#[test]
fn messages_come_back_and_other_bytes_do_no_harm() {
    assert_eq!(u64::from(kind(&body(u64::MAX, &mut Chance::seeded(0)))), KINDS, "all kinds are drawn");
    for seed in 0..200 {
        let mut chance = Chance::seeded(seed);
        for number in 1..=KINDS {
            let from = node(&mut chance);
            let message = Message { epoch: chance.next_u64(), body: body(number, &mut chance) };
            assert_eq!(u64::from(kind(&message.body)), number);
            let bytes = encode(from, &message);
            let (sender, back) = decode(&bytes).unwrap_or_else(|| panic!("seed {seed}, kind {number}"));
            assert_eq!((sender, format!("{back:?}")), (from, format!("{message:?}")), "seed {seed}");
            for length in 0..bytes.len() {
                assert!(
                    decode(&bytes[..length]).is_none(),
                    "seed {seed}, kind {number}: {length} bytes of it"
                );
            }
            let mut changed = bytes.clone();
            let at = chance.index(changed.len());
            changed[at] = chance.below(256) as u8;
            let _ = decode(&changed);
        }
    }
}

#[test]
fn a_vector_has_at_most_so_many_gates() {
    for (gates, is_known) in
        [(GATEKEEPERS_MAX - 1, true), (GATEKEEPERS_MAX, true), (GATEKEEPERS_MAX + 1, false)]
    {
        let message = Message { epoch: 1, body: Body::Low(vec![1; gates].into()) };
        assert_eq!(decode(&encode(Node::Gate(0), &message)).is_some(), is_known, "{gates} gates");
    }
}

/// Entries of the oracle's log may come from earlier programs: each kind keeps its bytes. If this fails, the form of an entry has changed: read the
/// old form as well, under its version.
#[test]
fn entries_of_the_log_keep_their_form() {
    let stamp = |gate, vector: &[u64]| Stamp::from_parts(5, gate, vector.into()).unwrap();
    let pair = (stamp(0, &[2, 1]), stamp(1, &[1, 258]));
    let hex = |bytes: Vec<u8>| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let number = |value: u64| hex(value.to_le_bytes().to_vec());
    let (two, five) = ("02000000", number(5));
    let stamps =
        format!("{five}0000{two}{}{}{five}0100{two}{}{}", number(2), number(1), number(1), number(258));
    for (from, body, fields) in [
        (
            Node::Shard(7),
            Body::Ask { question: 9, pairs: vec![pair] },
            format!("08{}01000000{stamps}", number(9)),
        ),
        (Node::Keeper, Body::Order(3), format!("0a{}", number(3))),
        (Node::Scribe, Body::Forget([4, 6].into()), format!("0f{two}{}{}", number(4), number(6))),
    ] {
        let sender = match from {
            Node::Shard(_) => "010700",
            Node::Keeper => "040000",
            _ => "030000",
        };
        let message = Message { epoch: 5, body };
        let entry = encode_entry(from, &message);
        assert_eq!(hex(entry.clone()), format!("01{sender}{five}{fields}"), "{message:?}");
        let (sender, back) = decode_entry(&entry).unwrap();
        assert_eq!((sender, format!("{back:?}")), (from, format!("{message:?}")));
    }
}

#[test]
fn frames_of_another_version_are_known_as_such() {
    let mut frame = encode(Node::Gate(1), &Message { epoch: 2, body: Body::Heard(3) });
    assert_eq!(other_version(&frame), None);
    frame[0] = WIRE_VERSION + 1;
    assert!(decode(&frame).is_none());
    assert_eq!(other_version(&frame), Some(WIRE_VERSION + 1));
    assert_eq!(other_version(&[]), None);
}
