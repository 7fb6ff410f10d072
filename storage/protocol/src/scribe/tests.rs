//! A scribe alone: commits were given in one order, shards report parts of it, and its sequence must be that order, whatever is lost, doubled or late.

use super::*;
use crate::record::CommitId;
use order::Gatekeeper;
use world::chance::Chance;

const EPOCH: u64 = 3;
const FIRST_VERSION: u64 = 100;

/// A stamp, and the shards of its commit; none of a NOP.
type Given = (Stamp, Box<[u16]>);

/// Commits of the gates, in the order in which they were made.
fn given(chance: &mut Chance, gates: usize, shards: u16, count: usize) -> Vec<Given> {
    let mut all: Vec<Gatekeeper> = (0..gates).map(|number| Gatekeeper::new(number, gates)).collect();
    let mut given = Vec::new();
    for _ in 0..count {
        let at = chance.index(gates);
        let owners = (0..shards).filter(|_| chance.happens(0.5)).collect();
        given.push((all[at].stamp(), owners));
        let (from, to) = (chance.index(gates), chance.index(gates));
        if chance.happens(0.3) {
            let clock: Box<[u64]> = all[from].clock().into();
            all[to].hear(0, &clock);
        }
    }
    // Each gate says at last that nothing comes before all of these.
    for at in 0..gates {
        for from in 0..gates {
            let clock: Box<[u64]> = all[from].clock().into();
            all[at].hear(0, &clock);
        }
        given.push((all[at].stamp(), Box::default()));
    }
    given
}

fn commits(given: &[Given]) -> impl Iterator<Item = &Given> {
    given.iter().filter(|(_, shards)| !shards.is_empty())
}

/// The state of one shard after these commits: its records, and the last item of each chain.
fn reported(given: &[Given], shard: u16, gates: usize) -> (Vec<Given>, Vec<Option<Stamp>>) {
    let records = given.iter().filter(|(_, shards)| shards.contains(&shard)).cloned().collect();
    let last = |gate| given.iter().rev().find(|(stamp, _)| stamp.gatekeeper() == gate);
    (records, (0..gates).map(|gate| last(gate).map(|(stamp, _)| stamp.clone())).collect())
}

fn message(from: Node, epoch: u64, body: Body) -> Input {
    Input::Message { from, message: Message { epoch, body } }
}

fn begun(gates: usize, shards: u16) -> Scribe {
    let mut scribe = Scribe::new(1, Timing::default(), Rules::default());
    let gates = (0..gates as u16).collect();
    let members = |epoch| Arc::new(Members { epoch, gates, shards, first_version: FIRST_VERSION });
    scribe.step(0, [message(Node::Keeper, EPOCH, Body::Begin { incarnation: 1, members: members(EPOCH) })]);
    assert_eq!(scribe.part.as_ref().map(|part| part.members.epoch), Some(EPOCH));
    scribe
}

/// Truth, the oracle and the network of one run.
struct Run {
    scribe: Scribe,
    given: Vec<Given>,
    now_us: u64,
    /// Commit versions in truth, in order.
    written: Vec<CommitId>,
    published: Vec<CommitId>,
    inputs: Vec<Input>,
    /// The scribe's acknowledgement to each shard.
    settled: Vec<u64>,
    lows: Vec<Option<Box<[u64]>>>,
    forgotten: Option<Box<[u64]>>,
}

impl Run {
    fn position(&self, stamp: &Stamp) -> usize {
        self.given.iter().position(|(other, _)| other == stamp).unwrap()
    }
    fn step(&mut self, chance: &mut Chance, loss: f64) {
        let index = chance.index(self.inputs.len().max(1));
        let input = if self.inputs.is_empty() { Input::Tick } else { self.inputs.swap_remove(index) };
        if matches!(input, Input::Message { .. }) && chance.happens(loss) {
            self.inputs.push(input.clone());
        }
        self.now_us += chance.below(8_000);
        for output in self.scribe.step(self.now_us, [input]) {
            self.take(output, chance, loss);
        }
    }
    fn take(&mut self, output: Output, chance: &mut Chance, loss: f64) {
        match output {
            Output::Publish { commit_version, commit } => {
                assert_eq!(commit_version, FIRST_VERSION + 1 + self.published.len() as u64);
                assert_eq!(self.written.get(self.published.len()), Some(&commit), "it is written first");
                self.published.push(commit);
            }
            Output::Call { token, call: Call::AssignVersions { epoch, first, commits } } => {
                assert_eq!(epoch, EPOCH);
                let answer = match chance.happens(loss) {
                    true if chance.happens(0.5) => Err(Unknown),
                    is_unknown => {
                        let at = (first - FIRST_VERSION - 1) as usize;
                        assert!(
                            at <= self.written.len() && commits.len() <= VERSIONS_MAX && !commits.is_empty()
                        );
                        self.written.truncate(at.max(self.published.len()));
                        self.written.extend(commits);
                        if is_unknown { Err(Unknown) } else { Ok(Reply::Assigned(true)) }
                    }
                };
                self.inputs.push(Input::Answer { token, answer });
            }
            Output::Call { call: Call::Forget { epoch, frontier }, .. } => {
                assert_eq!(epoch, EPOCH);
                self.forget(frontier);
            }
            Output::Send { to, message: Message { epoch, body } } => self.sent(to, epoch, body, chance, loss),
            other => panic!("{other:?}"),
        }
    }
    fn sent(&mut self, to: Node, epoch: u64, body: Body, chance: &mut Chance, loss: f64) {
        match (to, body) {
            (Node::Oracle, Body::Ask { question, pairs }) => {
                let before = pairs.iter().map(|(this, that)| {
                    assert!(this.is_concurrent_with(that), "vectors tell");
                    self.position(this) < self.position(that)
                });
                let answer = Ok(before.collect());
                if !chance.happens(loss) {
                    self.inputs.push(message(Node::Oracle, epoch, Body::Told { question, answer }));
                }
            }
            (Node::Shard(shard), Body::Settled { next, commit_version, frontier }) => {
                let settled = &mut self.settled[usize::from(shard)];
                assert!(next >= *settled, "what it has it keeps");
                *settled = next;
                assert!(commit_version <= FIRST_VERSION + self.written.len() as u64);
                assert!(frontier.is_none() || frontier == self.forgotten);
            }
            // A frontier after these lets the sequence go on.
            (Node::Shard(_), Body::Want(clock)) => {
                assert!(clock.iter().any(|counter| *counter > 0));
            }
            (Node::Keeper, Body::Alive { .. }) | (Node::Oracle, Body::Forget(_)) => {}
            (to, body) => panic!("{to:?}: {body:?}"),
        }
    }
    /// Forgotten counters must not be needed any more: not by reads of gates, not by commits without a version.
    fn forget(&mut self, frontier: Box<[u64]>) {
        let is_known = |vector: &[u64]| frontier.iter().zip(vector).all(|(own, other)| own <= other);
        for low in &self.lows {
            assert!(is_known(low.as_ref().expect("each gate has said what it knows")));
        }
        let unversioned = commits(&self.given).skip(self.written.len());
        unversioned.for_each(|(stamp, _)| assert!(is_known(stamp.vector()), "{stamp} has no version"));
        self.forgotten = Some(frontier);
    }
}

/// How far each shard is, and how it reports, with pieces that come twice or too early.
fn report(run: &mut Run, shard: u16, has: usize, gates: usize, chance: &mut Chance) {
    let (records, taken) = reported(&run.given[..has], shard, gates);
    let from =
        chance.index(records.len() + 1).min(run.settled[usize::from(shard)] as usize + chance.index(3));
    let piece: Vec<Given> = records[from..].iter().take(chance.index(9)).cloned().collect();
    let is_all = from + piece.len() == records.len();
    let from = from as u64;
    let body = Body::Executed { from, records: piece, taken: is_all.then_some(taken) };
    run.inputs.push(message(Node::Shard(shard), EPOCH, body));
}

#[test]
fn the_sequence_is_the_order_in_which_commits_were_given() {
    let (mut questions, mut forgotten) = (0, 0);
    for seed in 0..120 {
        let mut chance = Chance::seeded(seed);
        let (gates, shards) = (1 + chance.index(4), 1 + chance.below(3) as u16);
        let count = chance.index(40);
        let given = given(&mut chance, gates, shards, count);
        let loss = [0.0, 0.3][chance.index(2)];
        let mut run = Run {
            scribe: begun(gates, shards),
            given,
            now_us: 0,
            written: Vec::new(),
            published: Vec::new(),
            inputs: Vec::new(),
            settled: vec![0; usize::from(shards)],
            lows: vec![None; gates],
            forgotten: None,
        };
        let wanted: Vec<CommitId> = commits(&run.given).map(|(stamp, _)| CommitId::of(stamp)).collect();
        let mut has = vec![0; usize::from(shards)];
        let (mut rounds, most) = (0, 60_000);
        while run.published.len() < wanted.len() || rounds < 50 {
            rounds += 1;
            assert!(
                rounds < most,
                "seed {seed}: it stands still at {} of {}",
                run.published.len(),
                wanted.len()
            );
            let shard = chance.index(has.len());
            if chance.happens(0.5) {
                has[shard] = run.given.len().min(has[shard] + chance.index(6));
                report(&mut run, shard as u16, has[shard], gates, &mut chance);
            }
            if chance.happens(0.1) {
                // What the gate's reads know grows.
                let gate = chance.index(gates);
                let low = run.given[chance.index(run.given.len())].0.vector().to_vec();
                let last = run.lows[gate].take().unwrap_or_else(|| vec![0; gates].into());
                let low: Box<[u64]> = last.iter().zip(&low).map(|(last, low)| *last.max(low)).collect();
                run.lows[gate] = Some(low.clone());
                run.inputs.push(message(Node::Gate(gate as u16), EPOCH, Body::Low(low)));
            }
            if chance.happens(0.2) {
                run.inputs.push(Input::Tick);
            }
            run.step(&mut chance, loss);
        }
        assert_eq!(run.published, wanted, "seed {seed}");
        let counts = run.scribe.counts();
        assert_eq!((counts.versioned, counts.disagreements), (wanted.len() as u64, 0), "seed {seed}");
        questions += counts.questions;
        assert!(counts.pairs >= counts.questions, "seed {seed}");
        forgotten += u32::from(run.forgotten.is_some());
    }
    assert!(questions > 100 && forgotten > 20, "{questions} questions, {forgotten} frontiers");
}

/// A shard that executes a later record first breaks the total order. It is counted, and the sequence goes on.
#[test]
fn a_shard_that_disagrees_is_counted_and_the_sequence_goes_on() {
    let mut chance = Chance::seeded(1);
    let given = given(&mut chance, 2, 2, 30);
    let mut scribe = begun(2, 2);
    let mut all = Vec::new();
    for shard in 0..2 {
        let (mut records, taken) = reported(&given, shard, 2);
        if shard == 0 {
            records.reverse();
        }
        let body = Body::Executed { from: 0, records, taken: Some(taken) };
        all.push(message(Node::Shard(shard), EPOCH, body));
    }
    let mut waiting = all;
    let (mut published, mut written) = (Vec::new(), 0);
    while !waiting.is_empty() {
        let outputs = scribe.step(0, std::mem::take(&mut waiting));
        for output in outputs {
            match output {
                Output::Send { message: Message { body: Body::Ask { question, pairs }, .. }, .. } => {
                    let at = |stamp: &Stamp| given.iter().position(|(other, _)| other == stamp);
                    let answer = Ok(pairs.iter().map(|(this, that)| at(this) < at(that)).collect());
                    waiting.push(message(Node::Oracle, EPOCH, Body::Told { question, answer }));
                }
                Output::Call { token, call: Call::AssignVersions { commits, .. } } => {
                    written += commits.len();
                    waiting.push(Input::Answer { token, answer: Ok(Reply::Assigned(true)) });
                }
                Output::Publish { commit, .. } => published.push(commit),
                _ => {}
            }
        }
    }
    let wanted: Vec<CommitId> = commits(&given).map(|(stamp, _)| CommitId::of(stamp)).collect();
    assert_eq!((published, written), (wanted.clone(), wanted.len()));
    // All of shard 0 but the last one, which then stands first.
    let own = commits(&given).filter(|(_, shards)| shards.contains(&0)).count() as u64;
    assert_eq!(scribe.counts().disagreements, own - 1);
    assert!(scribe.part.unwrap().shards.iter().all(|shard| shard.order.is_empty()));
}

/// A past fault: the limit was one of all shards: shards that had filled it waited for one whose reports were refused because of it.
#[test]
fn a_shard_at_its_limit_waits_and_the_others_do_not() {
    let (mut scribe, mut gatekeeper) = (begun(1, 3), Gatekeeper::new(0, 1));
    let max = UNVERSIONED_MAX as u64;
    let mut report = |scribe: &mut Scribe, shard: u16, from: u64, count: usize| {
        let records = (0..count).map(|_| (gatekeeper.stamp(), Box::from([shard]))).collect();
        let taken = Some(vec![Some(gatekeeper.stamp()); 1]);
        let outputs =
            scribe.step(0, [message(Node::Shard(shard), EPOCH, Body::Executed { from, records, taken })]);
        let next = |output: &Output| match output {
            Output::Send { message: Message { body: Body::Settled { next, .. }, .. }, .. } => Some(*next),
            _ => None,
        };
        let is_written =
            |output: &Output| matches!(output, Output::Call { call: Call::AssignVersions { .. }, .. });
        (outputs.iter().find_map(next).unwrap(), outputs.iter().any(is_written))
    };
    assert_eq!(report(&mut scribe, 0, 0, UNVERSIONED_MAX - 1), (max - 1, false));
    assert_eq!(report(&mut scribe, 0, max - 1, 3), (max, false), "the others are sent again later");
    assert_eq!(report(&mut scribe, 0, max, 2), (max, false));
    assert_eq!(report(&mut scribe, 1, 0, UNVERSIONED_MAX), (max, false));
    // What a shard has taken is believed when its records are here, all of them.
    assert_eq!(report(&mut scribe, 2, 2, 0), (0, false), "the two before are not here");
    assert_eq!(report(&mut scribe, 2, 0, 2), (2, true));
    assert_eq!(report(&mut scribe, 0, max, 2), (max + 2, false), "there is room again");
}

#[test]
fn versions_are_written_in_pieces_and_again_until_it_is_known() {
    let (mut scribe, mut gatekeeper) = (begun(1, 1), Gatekeeper::new(0, 1));
    let count = 2 * VERSIONS_MAX + 1;
    let records: Vec<Given> = (0..count).map(|_| (gatekeeper.stamp(), Box::from([0]))).collect();
    let body = Body::Executed { from: 0, records, taken: Some(vec![Some(gatekeeper.stamp())]) };
    let mut inputs = vec![message(Node::Shard(0), EPOCH, body)];
    let (mut pieces, mut published) = (Vec::new(), 0);
    while !inputs.is_empty() {
        for output in scribe.step(0, std::mem::take(&mut inputs)) {
            match output {
                Output::Call { token, call: Call::AssignVersions { first, commits, .. } } => {
                    pieces.push((first - FIRST_VERSION, commits.len()));
                    let answer = if pieces.len() == 2 { Err(Unknown) } else { Ok(Reply::Assigned(true)) };
                    inputs.push(Input::Answer { token, answer });
                }
                Output::Publish { .. } => published += 1,
                _ => {}
            }
        }
    }
    let piece = |at: usize, len| ((at * VERSIONS_MAX + 1) as u64, len);
    let wanted = [piece(0, VERSIONS_MAX), piece(1, VERSIONS_MAX), piece(1, VERSIONS_MAX), piece(2, 1)];
    assert_eq!((pieces.as_slice(), published), (&wanted[..], count));
}

#[test]
fn what_is_of_another_epoch_or_life_is_passed_over() {
    let (mut scribe, mut gatekeeper) = (begun(1, 1), Gatekeeper::new(0, 1));
    let members = |epoch| Arc::new(Members { epoch, gates: vec![0], shards: 1, first_version: 7 });
    let begin = |incarnation, epoch| {
        message(Node::Keeper, epoch, Body::Begin { incarnation, members: members(epoch) })
    };
    let report = |epoch, stamp: Stamp| {
        let records = vec![(stamp.clone(), Box::from([0]))];
        message(Node::Shard(0), epoch, Body::Executed { from: 0, records, taken: Some(vec![Some(stamp)]) })
    };
    let passed_over =
        [begin(2, EPOCH + 1), begin(1, EPOCH), begin(1, EPOCH - 1), report(EPOCH + 1, gatekeeper.stamp())];
    for input in passed_over {
        assert_eq!(scribe.step(0, [input.clone()]).len(), 0, "{input:?}");
        assert_eq!(scribe.part.as_ref().map(|part| part.members.epoch), Some(EPOCH));
    }
    // Another epoch has begun meanwhile: who keeps it gives the rest its commit versions.
    let outputs = scribe.step(0, [report(EPOCH, gatekeeper.stamp()), report(EPOCH, gatekeeper.stamp())]);
    let token = outputs.iter().find_map(|output| match output {
        Output::Call { token, call: Call::AssignVersions { first, commits, .. } } => {
            assert_eq!((*first, commits.len()), (FIRST_VERSION + 1, 1));
            Some(*token)
        }
        _ => None,
    });
    let token = token.unwrap();
    assert_eq!(
        scribe.step(0, [Input::Answer { token: token + 1, answer: Ok(Reply::Assigned(false)) }]).len(),
        0
    );
    assert!(scribe.part.is_some(), "it is no answer to this");
    assert_eq!(scribe.step(0, [Input::Answer { token, answer: Ok(Reply::Assigned(false)) }]).len(), 0);
    assert!(scribe.part.is_none());
    let outputs = scribe.step(0, [begin(1, EPOCH + 1)]);
    let ready = |output: &Output| {
        let Output::Send { to: Node::Keeper, message } = output else { return false };
        message.epoch == EPOCH + 1 && matches!(message.body, Body::Alive { ready: true, .. })
    };
    assert!(outputs.iter().any(ready));
}

/// A past fault: truth denied versions in an epoch that the keeper held open: the scribe took part in it again from its first version, no shard had
/// reported for that, and no commit got a version any more.
#[test]
fn a_scribe_that_is_denied_begins_a_new_life_unless_a_new_epoch_comes() {
    let mut chance = Chance::seeded(3);
    let given = given(&mut chance, 1, 1, 9);
    let denied = || {
        let mut scribe = begun(1, 1);
        let (records, taken) = reported(&given, 0, 1);
        let body = Body::Executed { from: 0, records, taken: Some(taken) };
        let outputs = scribe.step(1, [message(Node::Shard(0), EPOCH, body)]);
        let commit_version = |output: &Output| match output {
            Output::Call { token, call: Call::AssignVersions { .. } } => Some(*token),
            _ => None,
        };
        let token = outputs.iter().find_map(commit_version).expect("there are commits");
        scribe.step(2, [Input::Answer { token, answer: Ok(Reply::Assigned(false)) }]);
        assert!(scribe.part.is_none());
        scribe
    };
    let begin = |epoch, incarnation| {
        let members = Arc::new(Members { epoch, gates: vec![0], shards: 1, first_version: FIRST_VERSION });
        message(Node::Keeper, epoch, Body::Begin { incarnation, members })
    };
    let lives = |outputs: Vec<Output>| -> Vec<(u64, bool)> {
        let alive = |output| match output {
            Output::Send {
                message: Message { body: Body::Alive { incarnation, ready, .. }, .. }, ..
            } => Some((incarnation, ready)),
            _ => None,
        };
        outputs.into_iter().filter_map(alive).collect()
    };
    let mut scribe = denied();
    assert_eq!(lives(scribe.step(3, [begin(EPOCH + 1, 1)])), [(1, true)], "the epoch was over");
    assert!(scribe.part.is_some());

    // What came late from before does not make it forget; it would take part in the denied epoch again.
    let mut scribe = denied();
    assert!(lives(scribe.step(3, [begin(EPOCH - 1, 1)])).is_empty());
    assert_eq!(lives(scribe.step(4, [begin(EPOCH, 1)])), [(2, false)]);

    let mut scribe = denied();
    assert_eq!(lives(scribe.step(3, [begin(EPOCH, 1)])), [(2, false)], "the keeper held it open");
    assert!(scribe.part.is_none());
    assert!(lives(scribe.step(4, [begin(EPOCH, 1)])).is_empty(), "that was for the life before");
    assert_eq!(lives(scribe.step(5, [begin(EPOCH + 1, 2)])), [(2, true)]);
}
