//! When a keeper ends an epoch: below, at and above the times that it waits.

use super::*;

const TIMING: Timing = Timing { heartbeat_us: 1_000, lease_us: 4_000, resend_us: 1_500, tau_us: None };
/// When it has heard where truth stands.
const BEGUN_US: u64 = 2_000;

/// Of two gates and two shards, which knows that truth is in epoch 7.
fn gathering() -> Keeper {
    let mut keeper = Keeper::new(2, 2, TIMING);
    assert!(keeper.step(TIMING.resend_us - 1, [Input::Tick]).is_empty());
    let asked = keeper.step(BEGUN_US, [Input::Tick]);
    let [Output::Call { token, call: Call::State }] = &asked[..] else { panic!("{asked:?}") };
    keeper.step(BEGUN_US, [Input::Answer { token: *token, answer: Ok(Reply::State(7, 3)) }]);
    keeper
}

fn live(nodes: &[Node]) -> impl Iterator<Item = Input> {
    let alive = |from: &Node| {
        let body = Body::Alive { incarnation: 1, ready: false, pulse: 0 };
        Input::Message { from: *from, message: Message { epoch: 0, body } }
    };
    nodes.iter().map(alive)
}

/// Does it end the epoch at this time, having heard these at that one?
fn ends(nodes: &[Node], heard_us: u64, now_us: u64) -> bool {
    let mut keeper = gathering();
    keeper.step(heard_us, live(nodes));
    let outputs = keeper.step(now_us, [Input::Tick]);
    let bumps = |output: &Output| matches!(output, Output::Call { call: Call::Bump { from: 7 }, .. });
    outputs.iter().any(bumps)
}

#[test]
fn an_epoch_ends_when_all_are_there_or_one_gate_has_waited() {
    let (gates, shards) = ([Node::Gate(0), Node::Gate(1)], [Node::Shard(0), Node::Shard(1)]);
    let all = [&gates[..], &shards, &[Node::Scribe]].concat();
    assert!(ends(&all, BEGUN_US, BEGUN_US), "all are there");
    for gone in 0..all.len() {
        let others: Vec<Node> = all.iter().copied().filter(|node| *node != all[gone]).collect();
        let patience_us = BEGUN_US + 2 * TIMING.heartbeat_us;
        for (now_us, waited) in
            [(BEGUN_US, false), (patience_us - 1, false), (patience_us, true), (patience_us + 1, true)]
        {
            let is_gate = gates.contains(&all[gone]);
            assert_eq!(
                ends(&others, now_us, now_us),
                is_gate && waited,
                "without {:?} at {now_us}",
                all[gone]
            );
        }
    }
    let none = [&shards[..], &[Node::Scribe]].concat();
    assert!(!ends(&none, 100_000, 100_000), "no gate");
}

#[test]
fn who_was_not_heard_for_a_lease_is_lost() {
    let all = [Node::Gate(0), Node::Gate(1), Node::Shard(0), Node::Shard(1), Node::Scribe];
    for (after_us, is_there) in
        [(TIMING.lease_us - 1, true), (TIMING.lease_us, false), (TIMING.lease_us + 1, false)]
    {
        assert_eq!(ends(&all, BEGUN_US, BEGUN_US + after_us), is_there, "{after_us} later");
    }
}

/// A process whose messages come, but that hears nothing, is lost after a lease: a one-way link, or a process that is stopped in part.
#[test]
fn who_does_not_hear_the_keeper_is_lost() {
    let all = [Node::Gate(0), Node::Gate(1), Node::Shard(0), Node::Shard(1), Node::Scribe];
    for (deaf, pulse, is_there) in [
        (None, 0, true),
        (Some(Node::Gate(1)), 0, false),
        // It has heard nothing since.
        (Some(Node::Gate(1)), BEGUN_US, false),
        // What a life before of the keeper has sent, whose clock was ahead.
        (Some(Node::Gate(1)), u64::MAX, false),
    ] {
        let mut keeper = gathering();
        keeper.step(BEGUN_US, live(&all));
        let (mut now_us, mut pulsed) = (BEGUN_US, 0);
        while now_us < BEGUN_US + 2 * TIMING.lease_us {
            now_us += TIMING.heartbeat_us / 2;
            for output in keeper.step(now_us, [Input::Tick]) {
                if let Output::Send { message: Message { body: Body::Pulse(clock), .. }, .. } = output {
                    pulsed = clock;
                }
            }
            let beats = all.iter().map(|from| {
                let pulse = if Some(*from) == deaf { pulse } else { pulsed };
                let body = Body::Alive { incarnation: 1, ready: false, pulse };
                Input::Message { from: *from, message: Message { epoch: 0, body } }
            });
            let beats: Vec<Input> = beats.collect();
            keeper.step(now_us, beats);
        }
        assert!(pulsed > BEGUN_US + TIMING.lease_us, "pulses go on");
        assert_eq!(keeper.live_gates() == [0, 1], is_there, "{deaf:?} with {pulse}");
    }
}

/// The outcome of a call is unknown: it is made again, and an answer to another call is ignored.
#[test]
fn a_call_without_an_answer_is_made_again() {
    let mut keeper = gathering();
    let all = [Node::Gate(0), Node::Gate(1), Node::Shard(0), Node::Shard(1), Node::Scribe];
    let bump = |outputs: &[Output]| match outputs {
        [Output::Call { token, call: Call::Bump { from: 7 } }] => *token,
        other => panic!("{other:?}"),
    };
    let first = bump(&keeper.step(BEGUN_US, live(&all).chain([Input::Tick])));
    assert!(keeper.step(BEGUN_US, [Input::Tick]).is_empty(), "it waits");
    let answer = |token, answer| Input::Answer { token, answer };
    assert!(keeper.step(BEGUN_US, [answer(first + 1, Ok(Reply::Epoch(8)))]).is_empty());
    let again = bump(&keeper.step(BEGUN_US, [answer(first, Err(Unknown)), Input::Tick]));
    // The epoch that ends is no new one.
    let third = bump(&keeper.step(BEGUN_US, [answer(again, Ok(Reply::Epoch(7))), Input::Tick]));
    let reads = keeper.step(BEGUN_US, [answer(third, Ok(Reply::Epoch(8)))]);
    assert!(matches!(&reads[..], [Output::Call { call: Call::Unversioned { .. }, .. }]), "{reads:?}");
    assert!(!keeper.is_open() && keeper.epochs() == 0);
}
