//! A gate alone: its limits, and its behaviour when truth does not answer.

use super::*;

fn open() -> Gate {
    let mut gate = Gate::new(0, 1, Timing::default(), Rules::default());
    let members = Arc::new(Members { epoch: 1, gates: vec![0], shards: 1, first_version: 0 });
    let keeper = |body| Input::Message { from: Node::Keeper, message: Message { epoch: 1, body } };
    gate.step(0, [keeper(Body::Begin { incarnation: 1, members }), keeper(Body::Open { incarnation: 1 })]);
    assert!(gate.is_open());
    gate
}

fn commit(reads: usize, base: Option<u64>) -> Commit {
    let reads = (0..reads as u64).collect();
    Commit { base, reads, writes: vec![1], parts: vec![(0, vec![0].into())], ..Commit::default() }
}

fn ends(outputs: &[Output]) -> Vec<End> {
    let end = |output: &Output| match output {
        Output::Ended { end, .. } => Some(end.clone()),
        _ => None,
    };
    outputs.iter().filter_map(end).collect()
}

fn read(request: u64) -> Input {
    Input::Read { request, queries: vec![(0, vec![0].into())] }
}

#[test]
fn too_many_read_keys_are_refused() {
    let mut gate = open();
    for (keys, refused) in [(READ_KEYS_MAX - 1, false), (READ_KEYS_MAX, false), (READ_KEYS_MAX + 1, true)] {
        let request = keys as u64;
        gate.step(0, [read(request)]);
        let outputs = gate.step(0, [Input::Commit { request: 1, commit: commit(keys, Some(request)) }]);
        let expected = if refused { vec![End::Refused(Refusal::TooLarge)] } else { Vec::new() };
        assert_eq!(ends(&outputs), expected, "{keys} keys");
    }
}

#[test]
fn too_many_commits_that_wait_are_refused() {
    let mut gate = open();
    // The first one is in truth; the others wait for their group.
    gate.step(0, [Input::Commit { request: 0, commit: commit(0, None) }]);
    for request in 1..=WAITING_MAX as u64 {
        assert!(ends(&gate.step(0, [Input::Commit { request, commit: commit(0, None) }])).is_empty());
    }
    let outputs = gate.step(0, [Input::Commit { request: 9_999, commit: commit(0, None) }]);
    assert_eq!(ends(&outputs), [End::Refused(Refusal::Busy)]);
}

#[test]
fn too_many_open_reads_are_refused() {
    let mut gate = open();
    for request in 0..READS_MAX as u64 {
        assert!(ends(&gate.step(0, [read(request)])).is_empty());
    }
    assert_eq!(ends(&gate.step(0, [read(9_999)])), [End::Refused(Refusal::Busy)]);
    gate.step(0, [Input::Close(0)]);
    assert!(ends(&gate.step(0, [read(9_999)])).is_empty());
}

#[test]
fn a_group_whose_outcome_is_unknown_is_asked_for_again_with_the_same_number() {
    let mut gate = open();
    let call = |outputs: Vec<Output>| {
        outputs.into_iter().find_map(|output| match output {
            Output::Call { token, call: Call::Commit { group, proposed, .. } } => {
                Some((token, group, proposed))
            }
            _ => None,
        })
    };
    let Some((token, group, proposed)) =
        call(gate.step(0, [Input::Commit { request: 1, commit: commit(0, None) }]))
    else {
        panic!("the group must go to truth")
    };
    gate.step(0, [Input::Answer { token, answer: Err(Unknown) }]);
    let Some((again, number, same)) = call(gate.step(1, [Input::Tick])) else {
        panic!("it must be asked again")
    };
    assert!(again != token && number == group && Arc::ptr_eq(&same, &proposed));
    let late = gate.step(2, [Input::Answer { token, answer: Ok(Reply::Verdicts(vec![Verdict::Conflict])) }]);
    assert!(ends(&late).is_empty(), "the answer to the first call means nothing any more");
    let answer = Ok(Reply::Verdicts(vec![Verdict::Committed]));
    let outputs = gate.step(3, [Input::Answer { token: again, answer }]);
    assert!(matches!(ends(&outputs)[..], [End::Committed(_)]), "alone, it is heard by all");
}

#[test]
fn a_commit_without_a_base_that_read_is_refused_and_one_epoch_has_one_seat() {
    let mut gate = open();
    let outputs = gate.step(0, [Input::Commit { request: 1, commit: commit(1, None) }]);
    assert_eq!(ends(&outputs), [End::Refused(Refusal::Epoch)]);
    let stamped = gate.step(0, [read(2)]);
    assert!(stamped.iter().any(|output| matches!(output, Output::Send { .. })));
    let members = Arc::new(Members { epoch: 1, gates: vec![0], shards: 1, first_version: 0 });
    let message = Message { epoch: 1, body: Body::Begin { incarnation: 1, members } };
    gate.step(0, [Input::Message { from: Node::Keeper, message }]);
    assert!(gate.is_open(), "told twice, it does not begin anew");
}

/// The second group waits for as many commits as the first had, for half of the time that the first took, and never longer than the limit.
#[test]
fn a_group_waits_a_little_for_as_many_as_the_last_one_had() {
    let proposes = |outputs: &[Output]| {
        outputs.iter().find_map(|output| match output {
            Output::Call { token, call: Call::Commit { proposed, .. } } => Some((*token, proposed.len())),
            _ => None,
        })
    };
    let some = |requests: std::ops::Range<u64>| {
        requests.map(|request| Input::Commit { request, commit: commit(0, None) })
    };
    let most_us = Timing::default().gather_us_max();
    for (took_us, patience_us) in [(600, 300), (2 * most_us, most_us), (90 * most_us, most_us)] {
        let mut gate = open();
        let (token, count) = proposes(&gate.step(1_000, some(0..3))).expect("the first one does not wait");
        assert_eq!(count, 3);
        let (answer, end_us) = (Ok(Reply::Verdicts(vec![Verdict::Committed; 3])), 1_000 + took_us);
        assert_eq!(proposes(&gate.step(end_us, [Input::Answer { token, answer }])), None, "nobody waits");
        assert_eq!(proposes(&gate.step(end_us, some(3..5))), None, "{took_us}: one is missing");
        let (last_us, over_us) = (end_us + patience_us - 1, end_us + patience_us);
        assert_eq!(proposes(&gate.step(last_us, [Input::Tick])), None, "{took_us}: it is patient");
        let (token, count) = proposes(&gate.step(over_us, [Input::Tick])).expect("not for ever");
        assert_eq!(count, 2, "{took_us}");
        let answer = Ok(Reply::Verdicts(vec![Verdict::Committed; 2]));
        gate.step(over_us, some(5..6));
        gate.step(over_us, some(6..7));
        let begun = proposes(&gate.step(over_us, [Input::Answer { token, answer }]));
        assert_eq!(begun.map(|(_, count)| count), Some(2), "{took_us}: as many are there");
    }
}
