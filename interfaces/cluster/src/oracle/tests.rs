//! Three replicas that lose power and messages: an answer that one of them has given never changes.

use super::*;
use order::Stamp;
use world::disk::SimDisk;

struct Group {
    addresses: Vec<String>,
    disks: Vec<Arc<SimDisk>>,
    replicas: Vec<OracleReplica>,
    /// Frames under way to replicas, by number.
    under_way: Vec<(usize, Node, Message)>,
    told: Vec<Message>,
    chance: Chance,
    now_us: u64,
}

fn opened(address: &str, all: &[String], disk: &Arc<SimDisk>) -> OracleReplica {
    OracleReplica::open(address, all, disk.clone(), Path::new("/oracle")).expect("the disk works")
}

impl Group {
    fn new(replicas: usize, seed: u64) -> Group {
        let addresses: Vec<String> = (0..replicas).map(|number| format!("oracle-{number}")).collect();
        let disks: Vec<Arc<SimDisk>> = addresses.iter().map(|_| Arc::default()).collect();
        let open = |(address, disk): (&String, &Arc<SimDisk>)| opened(address, &addresses, disk);
        let replicas = addresses.iter().zip(&disks).map(open).collect();
        let chance = Chance::seeded(seed);
        Group { addresses, disks, replicas, under_way: Vec::new(), told: Vec::new(), chance, now_us: 1 }
    }
    /// Some milliseconds pass, in which frames arrive out of order, twice, or never.
    fn step(&mut self, losses: f64) {
        self.now_us += 10_000;
        for at in 0..self.replicas.len() {
            let (mut here, mut rest) = (Vec::new(), Vec::new());
            for (to, from, message) in std::mem::take(&mut self.under_way) {
                match to == at && self.chance.happens(0.7) {
                    true if self.chance.happens(losses) => {}
                    true => {
                        if self.chance.happens(losses) {
                            rest.push((to, from, message.clone()));
                        }
                        here.push(Input::Message { from, message });
                    }
                    false => rest.push((to, from, message)),
                }
            }
            self.under_way = rest;
            let frames = self.replicas[at].step(self.now_us, here).expect("the disk works");
            for frame in frames {
                match frame {
                    Posted::To(_, message) => self.told.push(message),
                    Posted::Beside(address, message) => {
                        let to = self.addresses.iter().position(|one| *one == address).expect("a replica");
                        self.under_way.push((to, Node::Oracle, message));
                    }
                }
            }
        }
    }
    fn ask(&mut self, from: Node, epoch: u64, body: &Body) {
        for to in 0..self.replicas.len() {
            self.under_way.push((to, from, Message { epoch, body: body.clone() }));
        }
    }
    /// One loses its power, with its unsynced data.
    fn crash(&mut self, at: usize) {
        let disk = Arc::new(self.disks[at].crash(self.chance.next_u64()));
        self.replicas[at] = opened(&self.addresses[at], &self.addresses, &disk);
        self.disks[at] = disk;
    }
    /// Repeats a request until there is an answer.
    fn answer(&mut self, from: Node, epoch: u64, body: &Body, losses: f64) -> Message {
        for tries in 0..20_000 {
            if tries % 4 == 0 {
                self.ask(from, epoch, body);
            }
            self.step(losses);
            let is_it = |message: &Message| match (&message.body, body) {
                (Body::Told { question, .. }, Body::Ask { question: asked, .. }) => question == asked,
                (Body::Ordering, Body::Order(_)) => message.epoch == epoch,
                _ => false,
            };
            if let Some(at) = self.told.iter().position(is_it) {
                return self.told.swap_remove(at);
            }
        }
        panic!("no answer in 200 seconds");
    }
    fn order(&mut self, number: u64, pairs: Vec<(Stamp, Stamp)>, losses: f64) -> Vec<bool> {
        let question = Body::Ask { question: number, pairs };
        match self.answer(Node::Shard((number % 3) as u16), 1, &question, losses).body {
            Body::Told { answer: Ok(before), .. } => before,
            other => panic!("{other:?}"),
        }
    }
}

/// The stamp of a gate that has heard nothing of the other.
fn stamp(gate: usize, counter: u64) -> Stamp {
    let mut vector = vec![0; 2];
    vector[gate] = counter;
    Stamp::from_parts(1, gate, vector).expect("a stamp")
}

#[test]
fn what_was_answered_is_answered_for_ever_whoever_loses_power() {
    for (replicas, seed) in [(1, 1), (3, 2), (3, 3), (5, 4)] {
        let mut group = Group::new(replicas, seed);
        let losses = if replicas == 1 { 0.0 } else { 0.1 };
        group.answer(Node::Keeper, 1, &Body::Order(2), losses);
        let mut known: BTreeMap<(u64, u64), bool> = BTreeMap::new();
        for number in 0..60 {
            let chance = &mut group.chance;
            let pairs: Vec<(u64, u64)> =
                (0..1 + chance.below(4)).map(|_| (1 + chance.below(8), 1 + chance.below(8))).collect();
            let stamps = pairs.iter().map(|(one, other)| (stamp(0, *one), stamp(1, *other))).collect();
            if number % 3 == 2 {
                // A majority lives on; all may lose their power where they come back.
                let lost = if group.chance.happens(0.2) { replicas } else { 1 };
                for _ in 0..lost {
                    let at = group.chance.index(replicas);
                    group.crash(at);
                }
            }
            let before = group.order(number, stamps, losses);
            for (pair, before) in pairs.into_iter().zip(before) {
                let first = *known.entry(pair).or_insert(before);
                assert_eq!(first, before, "seed {seed}: {pair:?} was decided another way");
            }
        }
        // One order: who is before a stamp of the other gate is before all that follow it.
        for ((one, other), before) in &known {
            let later = known.iter().filter(|((this, that), _)| this <= one && that >= other);
            assert!(!before || later.into_iter().all(|(_, before)| *before), "seed {seed}: {known:?}");
        }
    }
}

/// A log that grew over the limit is replaced by a snapshot, and goes on; unneeded decisions are forgotten.
#[test]
fn a_snapshot_takes_the_place_of_the_log() {
    let mut group = Group::new(1, 9);
    group.answer(Node::Keeper, 1, &Body::Order(2), 0.0);
    let before = group.order(0, vec![(stamp(0, 1), stamp(1, 1))], 0.0);
    let many: Vec<(Stamp, Stamp)> =
        (0..protocol::limits::PAIRS_MAX as u64).map(|at| (stamp(0, 2 + at), stamp(1, 2 + at))).collect();
    let bytes = wire::encode(
        Node::Oracle,
        &Message { epoch: 1, body: Body::Ask { question: 1, pairs: many.clone() } },
    )
    .len();
    let rounds = 2 * SNAPSHOT_BYTES / bytes as u64 + 2;
    for number in 1..=rounds {
        group.order(number, many.clone(), 0.0);
    }
    let size: usize = group.disks[0].contents().values().map(Vec::len).sum();
    group.crash(0);
    assert_eq!(group.order(rounds + 1, vec![(stamp(0, 1), stamp(1, 1))], 0.0), before);
    println!("{rounds} rounds of {bytes} bytes leave {size} bytes on disk");
    group.ask(Node::Scribe, 1, &Body::Forget([1 << 20, 1 << 20].into()));
    (0..300).for_each(|_| group.step(0.0));
    let question = Body::Ask { question: 7, pairs: vec![(stamp(0, 1), stamp(1, 1))] };
    let answer = group.answer(Node::Shard(1), 1, &question, 0.0).body;
    assert!(matches!(answer, Body::Told { answer: Err(0), .. }), "{answer:?}");
}
