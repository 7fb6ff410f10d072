//! A channel compared with its twin, a queue that loses nothing; and its limits.

use super::*;
use order::Gatekeeper;
use world::chance::Chance;

#[test]
fn items_come_once_and_in_order_whatever_the_network_does() {
    for seed in 0..200 {
        let mut chance = Chance::seeded(seed);
        let (mut clock, mut sender, mut receiver) =
            (Gatekeeper::new(0, 1), Outgoing::default(), Incoming::default());
        let (mut flying, mut sent, mut got) = (Vec::new(), Vec::new(), Vec::new());
        for now_us in 0..2_000 {
            if sent.len() < 100 && chance.happens(0.2) {
                let stamp = clock.stamp();
                sent.push(stamp.counter());
                flying.push(sender.push(now_us, stamp, None));
            }
            flying.extend(sender.again(now_us, 50, chance.happens(0.1) && receiver.has_gap()));
            if !flying.is_empty() && chance.happens(0.5) {
                let at = chance.index(flying.len());
                match chance.below(4) {
                    0 => drop(flying.swap_remove(at)),
                    1 => got.extend(receiver.take(flying[at].clone(), true)),
                    _ => got.extend(receiver.take(flying.swap_remove(at), true)),
                }
            }
            if chance.happens(0.05) {
                sender.acknowledge(now_us, receiver.next());
            }
        }
        let counters: Vec<u64> = got.iter().map(|item| item.stamp.counter()).collect();
        assert!(
            sent.starts_with(&counters) && counters.len() > 50,
            "seed {seed}: {counters:?} of {}",
            sent.len()
        );
    }
}

#[test]
fn what_is_too_far_ahead_is_asked_for_again() {
    let mut clock = Gatekeeper::new(0, 1);
    let mut item = |number| Item { number, stamp: clock.stamp(), record: None };
    let mut receiver = Incoming::default();
    let limit = AHEAD_MAX as u64;
    assert!(receiver.take(item(limit), true).is_empty() && !receiver.has_gap());
    assert!(receiver.take(item(limit - 1), true).is_empty() && receiver.has_gap());
    (1..limit - 1).for_each(|number| assert!(receiver.take(item(number), true).is_empty()));
    assert_eq!(receiver.take(item(0), true).len(), AHEAD_MAX);
    assert_eq!((receiver.next(), receiver.has_gap()), (limit, false));
}

#[test]
fn a_full_channel_says_so() {
    let (mut clock, mut sender) = (Gatekeeper::new(0, 1), Outgoing::default());
    for _ in 0..CHANNEL_MAX {
        assert!(sender.has_room(1));
        sender.push(0, clock.stamp(), None);
    }
    assert!(sender.has_room(0) && !sender.has_room(1));
    assert_eq!(sender.again(0, 0, true).len(), RESEND_MAX);
    sender.acknowledge(0, 1);
    assert!(sender.has_room(1) && !sender.has_room(2));
}
