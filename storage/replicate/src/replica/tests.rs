//! Replicas in a simulated network on simulated disks: messages late, lost, doubled and out of order; nodes killed, without power, with disks that
//! fail; members that come and go. Everything is drawn from one seed, and the same seed does the same.

use super::*;
use std::path::PathBuf;
use world::disk::{Faults, SimDisk};

/// A machine that lists its entries.
#[derive(Clone, Default, Debug, PartialEq)]
struct Listed(Vec<u64>);

impl StateMachine for Listed {
    fn apply(&mut self, entry: &[u8]) -> Result<Vec<u8>, String> {
        self.0.push(u64::from_le_bytes(entry.try_into().expect("eight bytes")));
        Ok((self.0.len() as u64).to_le_bytes().to_vec())
    }
    fn snapshot(&self) -> Vec<u8> {
        self.0.iter().flat_map(|one| one.to_le_bytes()).collect()
    }
    fn restore(&mut self, snapshot: &[u8]) -> Result<(), String> {
        let (numbers, []) = snapshot.as_chunks::<8>() else { return Err("an odd length".into()) };
        self.0 = numbers.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
        Ok(())
    }
}

struct Node {
    address: String,
    /// The members that it was first started with.
    members: Members,
    disk: SimDisk,
    /// None while the process is down.
    replica: Option<Replica<Listed>>,
    /// Steps until a killed one begins again.
    down: u64,
    snapshot_due: bool,
}

struct Flying {
    at: u64,
    from: usize,
    to: ReplicaId,
    bytes: Vec<u8>,
}

/// A pending read, and what had been acknowledged by then.
struct Reading {
    node: usize,
    must_see: BTreeSet<u64>,
}

struct World {
    chance: Chance,
    now: u64,
    nodes: Vec<Node>,
    flying: Vec<Flying>,
    /// Pairs without a connection.
    cut: BTreeSet<(usize, usize)>,
    next: u64,
    proposed: BTreeMap<u64, usize>,
    reads: BTreeMap<u64, Reading>,
    /// Tokens of changes of the members, which are in no list.
    changes: BTreeSet<u64>,
    acknowledged: BTreeSet<u64>,
    refused: BTreeSet<u64>,
    reads_done: u64,
    trace: u64,
    /// The longest list that any replica had: all others are prefixes of it.
    longest: Vec<u64>,
}

const DIR: &str = "/replica";

fn options(address: &str, members: &Members) -> ReplicaOptions {
    ReplicaOptions {
        snapshot_bytes: 400,
        entries_kept: 5,
        segment_bytes: 300,
        ..ReplicaOptions::new(address, members.clone())
    }
}

impl World {
    fn new(seed: u64, count: usize) -> World {
        let mut world = World {
            chance: Chance::seeded(seed),
            now: 0,
            nodes: Vec::new(),
            flying: Vec::new(),
            cut: BTreeSet::new(),
            next: 1,
            proposed: BTreeMap::new(),
            reads: BTreeMap::new(),
            changes: BTreeSet::new(),
            acknowledged: BTreeSet::new(),
            refused: BTreeSet::new(),
            reads_done: 0,
            trace: 0,
            longest: Vec::new(),
        };
        let addresses: Vec<String> = (0..count).map(|at| format!("node-{at}")).collect();
        let members = Members::of(addresses.iter().map(String::as_str));
        addresses.iter().for_each(|address| world.add(address, &members));
        world
    }

    fn add(&mut self, address: &str, members: &Members) {
        let disk = SimDisk::new();
        let members = members.clone();
        let node =
            Node { address: address.into(), members, disk, replica: None, down: 0, snapshot_due: false };
        self.nodes.push(node);
        self.start(self.nodes.len() - 1);
    }

    fn start(&mut self, at: usize) {
        let chance = self.chance.fork();
        let node = &mut self.nodes[at];
        let disk: Arc<dyn Disk> = Arc::new(node.disk.clone());
        let options = options(&node.address, &node.members);
        let opened = Replica::open(disk, &PathBuf::from(DIR), options, Listed::default(), chance);
        node.replica = opened.map_err(|error| assert!(node.disk_failed(&error), "{error}")).ok();
        node.down = 20;
        node.snapshot_due = false;
        if node.replica.is_none() {
            // It failed while it began: the power came back once more.
            node.disk = node.disk.crash(self.now);
        }
    }

    fn tell(&mut self, at: usize, inputs: Vec<Input>) {
        let Some(replica) = self.nodes[at].replica.as_mut() else { return };
        match replica.step(inputs) {
            Ok(outputs) => outputs.into_iter().for_each(|output| self.carry_out(at, output)),
            Err(error) => {
                assert!(self.nodes[at].disk_failed(&error), "{error}");
                self.end(at, true);
            }
        }
    }

    fn carry_out(&mut self, at: usize, output: Output) {
        match output {
            Output::Send { to, bytes, snapshot } => self.send(at, to, bytes, snapshot),
            Output::TakeSnapshot => self.nodes[at].snapshot_due = true,
            Output::Proposed { token, outcome } => {
                let value = self.proposed.remove(&token).map(|_| token).expect("it was proposed here");
                match outcome {
                    Ok(_) if self.changes.contains(&value) => {}
                    Ok(_) => drop(self.acknowledged.insert(value)),
                    Err(Undone::NotLeader { .. } | Undone::Refused(_)) => drop(self.refused.insert(value)),
                    Err(Undone::Unknown) => {}
                }
            }
            Output::Read { token, outcome } => {
                let reading = self.reads.remove(&token).expect("it was asked for here");
                assert_eq!(reading.node, at);
                if outcome.is_ok() {
                    self.reads_done += 1;
                    let seen: BTreeSet<u64> = self.list(at).iter().copied().collect();
                    assert!(reading.must_see.is_subset(&seen), "a read misses what was acknowledged");
                }
            }
        }
    }

    fn list(&self, at: usize) -> &[u64] {
        self.nodes[at].replica.as_ref().map_or(&[], |replica| &replica.machine().0)
    }

    fn send(&mut self, from: usize, to: ReplicaId, bytes: Vec<u8>, snapshot: bool) {
        let Some(target) = self.nodes.iter().position(|node| replica_id(&node.address) == to) else { return };
        let lost = self.cut.contains(&(from, target)) || self.chance.below(20) == 0;
        let copies = if lost { 0 } else { 1 + u64::from(self.chance.below(20) == 0) };
        for _ in 0..copies {
            let late = if self.chance.below(10) == 0 { 30 } else { 3 };
            let at = self.now + 1 + self.chance.below(late);
            self.flying.push(Flying { at, from, to, bytes: bytes.clone() });
        }
        if snapshot {
            self.tell(from, vec![Input::SnapshotSent { to, arrived: !lost }]);
        }
    }

    /// The process ends; with `power`, unsynced data may be lost.
    fn end(&mut self, at: usize, power: bool) {
        let node = &mut self.nodes[at];
        node.replica = None;
        node.disk = if power { node.disk.crash(self.now) } else { node.disk.kill() };
        node.down = 5 + self.chance.below(60);
        self.reads.retain(|_, reading| reading.node != at);
        self.proposed.retain(|_, node| *node != at);
    }

    fn step(&mut self, faults: bool) {
        self.now += 1;
        let due: Vec<usize> = (0..self.flying.len()).filter(|at| self.flying[*at].at <= self.now).collect();
        for at in due.into_iter().rev() {
            let flying = self.flying.swap_remove(at);
            let target = self.nodes.iter().position(|node| replica_id(&node.address) == flying.to);
            let target = target.expect("it was found when it was sent");
            if !self.cut.contains(&(flying.from, target)) {
                self.tell(target, vec![Input::Message(flying.bytes)]);
            }
        }
        for at in 0..self.nodes.len() {
            // Clocks do not run alike.
            if self.chance.below(8) != 0 {
                self.tell(at, vec![Input::Tick]);
            }
            if self.nodes[at].snapshot_due && self.chance.below(4) == 0 {
                self.nodes[at].snapshot_due = false;
                if let Some(replica) = &self.nodes[at].replica {
                    let state = replica.machine().snapshot();
                    self.tell(at, vec![Input::Snapshot(state)]);
                }
            }
            if self.nodes[at].replica.is_none() {
                self.nodes[at].down -= 1;
                if self.nodes[at].down == 0 {
                    self.start(at);
                }
            }
        }
        self.clients();
        if faults {
            self.fail();
        }
        self.check();
    }

    fn clients(&mut self) {
        let at = self.chance.below(self.nodes.len() as u64) as usize;
        let token = self.next;
        self.next += 1;
        if self.nodes[at].replica.is_none() {
            return;
        }
        if self.chance.below(3) == 0 {
            self.reads.insert(token, Reading { node: at, must_see: self.acknowledged.clone() });
            self.tell(at, vec![Input::Read { token }]);
        } else {
            self.proposed.insert(token, at);
            self.tell(at, vec![Input::Propose { token, entry: token.to_le_bytes().to_vec() }]);
        }
    }

    fn fail(&mut self) {
        let at = self.chance.below(self.nodes.len() as u64) as usize;
        let other = self.chance.below(self.nodes.len() as u64) as usize;
        match self.chance.below(400) {
            0..=2 => drop(self.cut.insert((at, other))),
            3 => self.cut = (0..self.nodes.len()).flat_map(|one| [(at, one), (one, at)]).collect(),
            4..=9 => self.cut.clear(),
            10..=12 if self.nodes[at].replica.is_some() => self.end(at, false),
            13..=14 if self.nodes[at].replica.is_some() => self.end(at, true),
            15 => {
                let disk = &self.nodes[at].disk;
                let at = Some(disk.operations() + 1 + self.chance.below(20));
                disk.set_faults(Faults { power_fails_at: at, ..Faults::default() });
            }
            16 => {
                let disk = &self.nodes[at].disk;
                let at = Some(disk.operations() + 1 + self.chance.below(20));
                disk.set_faults(Faults { error_at: at, ..Faults::default() });
            }
            _ => {}
        }
    }

    /// All lists are prefixes of one; nothing is in it twice, and nothing that was refused.
    fn check(&mut self) {
        for at in 0..self.nodes.len() {
            let list = self.list(at).to_vec();
            let shared = list.len().min(self.longest.len());
            assert_eq!(list[..shared], self.longest[..shared], "two replicas were told different things");
            if list.len() > shared {
                self.longest = list;
            }
            let Some(replica) = &self.nodes[at].replica else { continue };
            let Status { committed, applied, last, snapshot, slowest_lag, role, .. } = replica.status();
            assert!(
                snapshot <= committed && applied <= committed && committed <= last,
                "{:?}",
                replica.status()
            );
            assert!(
                slowest_lag <= last && (role == Role::Leader || slowest_lag == 0),
                "{:?}",
                replica.status()
            );
        }
        self.trace =
            self.trace.wrapping_mul(31).wrapping_add(self.longest.len() as u64 + self.flying.len() as u64);
    }

    /// Without faults everything comes together, and all that was acknowledged is there, once.
    fn settle(&mut self) {
        self.cut.clear();
        for _ in 0..600 {
            self.step(false);
        }
        let distinct: BTreeSet<u64> = self.longest.iter().copied().collect();
        assert_eq!(distinct.len(), self.longest.len(), "an entry was carried out twice");
        assert!(self.acknowledged.is_subset(&distinct), "an acknowledged entry is lost");
        assert!(self.refused.is_disjoint(&distinct), "a refused entry was carried out");
        self.nodes.iter().for_each(Node::check_log_bytes);
        let snapshots = self.nodes.iter().filter_map(|node| Some(node.replica.as_ref()?.status().snapshot));
        assert!(self.longest.len() < 200 || snapshots.max() > Some(0), "no log was cut off");
    }
}

impl Node {
    /// The log's length is that of its files.
    fn check_log_bytes(&self) {
        let (Some(replica), log) = (&self.replica, PathBuf::from(DIR).join("log")) else { return };
        let files = self.disk.list(&log).expect("the folder is there");
        let bytes = files.iter().map(|name| self.disk.size(&log.join(name)).expect("it was listed"));
        assert_eq!(replica.status().log_bytes, bytes.sum::<u64>());
    }
    fn disk_failed(&self, error: &ReplicateError) -> bool {
        matches!(error, ReplicateError::Log(_) | ReplicateError::Disk(_))
    }
}

fn history(seed: u64, steps: u64) -> World {
    let mut world = World::new(seed, 3);
    for _ in 0..steps {
        world.step(true);
    }
    world.settle();
    world
}

/// Nothing acknowledged is lost, nothing is applied twice, and reads see what was acknowledged, whatever fails.
#[test]
fn histories_with_faults() {
    let rounds = std::env::var("REPLICATE_HISTORIES").ok().and_then(|text| text.parse().ok()).unwrap_or(40);
    let (mut acknowledged, mut reads) = (0, 0);
    for seed in 0..rounds {
        let caught = std::panic::catch_unwind(|| history(seed, 1_500));
        let world = caught.unwrap_or_else(|_| panic!("seed {seed} fails"));
        acknowledged += world.acknowledged.len();
        reads += world.reads_done;
    }
    let rounds = rounds as usize;
    assert!(acknowledged > 100 * rounds, "only {acknowledged} entries in {rounds} histories");
    assert!(reads > 50 * rounds as u64, "only {reads} reads in {rounds} histories");
}

/// Where nothing fails, every replica may read at once: a question of a follower was once taken for no message of a replica, and timed out.
#[test]
fn followers_read_too() {
    for seed in 0..5 {
        let mut world = World::new(seed, 3);
        (0..100).for_each(|_| world.step(false));
        for at in 0..3 {
            let token = u64::MAX - at as u64;
            world.reads.insert(token, Reading { node: at, must_see: world.acknowledged.clone() });
            let before = world.reads_done;
            world.tell(at, vec![Input::Read { token }]);
            for _ in 0..60 {
                if world.reads.contains_key(&token) {
                    world.step(false);
                }
            }
            assert!(!world.reads.contains_key(&token), "seed {seed}: replica {at} does not answer");
            assert!(world.reads_done > before, "seed {seed}: replica {at} may not read");
        }
    }
}

/// The same seed does the same.
#[test]
fn a_seed_replays() {
    let (one, other) = (history(7, 800), history(7, 800));
    assert_eq!((one.trace, one.longest), (other.trace, other.longest));
}

/// A group grows from one to three while it works, is filled from a snapshot, and shrinks again without its first member.
#[test]
fn members_come_and_go() {
    for seed in 0..10 {
        let mut world = World::new(seed, 1);
        (0..100).for_each(|_| world.step(false));
        for name in ["node-1", "node-2"] {
            world.add(name, &Members::default());
            change(&mut world, MemberChange::Add { address: name.into() });
            (0..300).for_each(|_| world.step(false));
        }
        let status = world.nodes[2].replica.as_ref().expect("it runs").status();
        assert_eq!((status.members.0.len(), status.learners.len()), (3, 0), "seed {seed}: {status:?}");
        assert!(world.list(2).len() > 50, "seed {seed}: the new one was told");
        change(&mut world, MemberChange::Remove { address: "node-0".into() });
        (0..100).for_each(|_| world.step(false));
        world.end(0, false);
        world.nodes[0].down = u64::MAX;
        let before = world.acknowledged.len();
        (0..300).for_each(|_| world.step(false));
        assert!(world.acknowledged.len() > before + 20, "seed {seed}: two of two go on");
        world.settle();
    }
}

/// Proposes until a leader knows it as done.
fn change(world: &mut World, change: MemberChange) {
    let (address, wanted) = match &change {
        MemberChange::Add { address } => (address.clone(), true),
        MemberChange::Remove { address } => (address.clone(), false),
    };
    for _ in 0..400 {
        let leader = world.nodes.iter().enumerate().find_map(|(at, node)| {
            let status = node.replica.as_ref()?.status();
            (status.role == Role::Leader).then_some((at, status))
        });
        if let Some((at, status)) = leader {
            if status.members.0.contains_key(&replica_id(&address)) == wanted {
                return;
            }
            let token = world.next;
            world.next += 1;
            world.changes.insert(token);
            world.proposed.insert(token, at);
            world.tell(at, vec![Input::Change { token, change: change.clone() }]);
        }
        world.step(false);
    }
    panic!("nobody made the change");
}

/// Limits, and the answers of a replica that does not lead.
#[test]
fn what_cannot_be_proposed_is_refused() {
    let mut world = World::new(1, 1);
    (0..5).for_each(|_| world.step(false));
    let replica = world.nodes[0].replica.as_mut().expect("it runs");
    let mut proposed = |entry: Vec<u8>| {
        let outputs = replica.step([Input::Propose { token: 1 << 40, entry }]).expect("the disk works");
        outputs.into_iter().find_map(|output| match output {
            Output::Proposed { outcome, .. } => Some(outcome),
            _ => None,
        })
    };
    assert!(matches!(proposed(vec![0; ENTRY_BYTES_MAX + 1]), Some(Err(Undone::Refused(_)))));
    assert!(matches!(proposed(7_u64.to_le_bytes().to_vec()), Some(Ok(_))));
    // Who is no member is removed already.
    let remove = MemberChange::Remove { address: "nobody".into() };
    let removed = replica.step([Input::Change { token: 9, change: remove }]).expect("the disk works");
    let done = Output::Proposed { token: 9, outcome: Ok(Vec::new()) };
    assert!(removed.contains(&done), "{removed:?}");
    let members = Members::of(["a", "b", "c"]);
    let disk: Arc<dyn Disk> = Arc::new(SimDisk::new());
    let open = |address: &str, dir: &str| {
        let options = ReplicaOptions::new(address, members.clone());
        Replica::open(disk.clone(), &PathBuf::from(dir), options, Listed::default(), Chance::seeded(1))
    };
    assert!(matches!(open("d", "/d"), Err(ReplicateError::Foreign(_))));
    let mut follower = open("a", "/a").expect("a new folder");
    let outputs = follower.step([Input::Propose { token: 1, entry: vec![0; 8] }, Input::Read { token: 2 }]);
    let undone = Undone::NotLeader { leader: None };
    let wanted = vec![
        Output::Proposed { token: 1, outcome: Err(undone.clone()) },
        Output::Read { token: 2, outcome: Err(undone) },
    ];
    assert_eq!(outputs, Ok(wanted));
}

/// A replica that is alone may change its address; one with others may not, nor may the folder of another replica be taken.
#[test]
fn a_folder_knows_whose_it_is() {
    let start = |disk: &SimDisk, address: &str, members: &[&str]| {
        let options = ReplicaOptions::new(address, Members::of(members.iter().copied()));
        Replica::open(
            Arc::new(disk.clone()),
            &PathBuf::from("/r"),
            options,
            Listed::default(),
            Chance::seeded(1),
        )
    };
    for (first, then, known_as) in [
        (&["a"][..], &["b"][..], Some("a")),
        (&["a"], &["a"], Some("a")),
        (&["a"], &[], Some("a")),
        (&["a"], &["b", "c"], None),
        (&["a"], &["a", "b"], None),
        // Each member is known in a folder of its group.
        (&["a", "b"], &["b"], Some("b")),
        (&["a", "b"], &["a", "b", "c"], Some("b")),
        (&["a", "c"], &["b"], None),
        (&["a", "c"], &[], None),
        (&["a", "c"], &["a", "b", "c"], None),
        // A folder that was told of no group yet is nobody's.
        (&[], &[], Some("b")),
        (&[], &["a"], Some("b")),
    ] {
        let disk = SimDisk::new();
        start(&disk, "a", first).expect("a new folder").close().expect("the disk works");
        match (start(&disk, "b", then), known_as) {
            (Ok(replica), Some(address)) => {
                let id = replica_id(address);
                assert_eq!(
                    (replica.id, replica.node.raft.id),
                    (id, id),
                    "{first:?} {then:?}: it stays who it was"
                );
                assert_eq!(
                    replica.status().members,
                    Members::of(first.iter().copied()),
                    "{first:?} {then:?}"
                );
                replica.close().expect("the disk works");
            }
            (Err(error), None) => {
                assert!(matches!(error, ReplicateError::Foreign(_)), "{first:?} {then:?}: {error}")
            }
            (outcome, _) => panic!("{first:?} {then:?}: {:?}", outcome.map(|replica| replica.id)),
        }
        // Whoever tried, it is still the folder of who was there first.
        let owner = start(&disk, "a", first).expect("its own folder");
        assert_eq!(owner.node.raft.id, replica_id("a"), "{first:?} {then:?}");
    }
}

/// A past fault: a heartbeat for another replica, or one that no member could send, ended this one: its content was judged before its receiver.
#[test]
fn a_heartbeat_of_no_concern_is_passed_over() {
    let disk: Arc<dyn Disk> = Arc::new(SimDisk::new());
    let members = Members::of(["node-0", "node-1", "node-2"]);
    let opened = Replica::open(
        disk,
        &PathBuf::from(DIR),
        options("node-0", &members),
        Listed::default(),
        Chance::seeded(1),
    );
    let mut replica = opened.expect("the disk works");
    let heartbeat = |from: &str, to: &str, term: u64| {
        let mut message = Message::default();
        message.set_msg_type(MessageType::MsgHeartbeat);
        (message.from, message.to) = (replica_id(from), replica_id(to));
        (message.term, message.commit) = (term, 1_000);
        Input::Message(message.write_to_bytes().expect("it is whole"))
    };
    for passed_over in [heartbeat("node-1", "node-2", 5), heartbeat("node-1", "node-0", 0)] {
        assert!(replica.step([passed_over]).is_ok());
    }
    let meant = replica.step([heartbeat("node-1", "node-0", 5)]);
    assert!(matches!(meant, Err(ReplicateError::Foreign(_))), "{meant:?}");
}

/// Steps one of three replicas, and delivers their messages until there are no more. Returns kinds of messages, and reads that may go on.
fn converse(replicas: &mut [Replica<Listed>], inputs: Vec<(usize, Input)>) -> (Vec<MessageType>, Vec<u64>) {
    let (mut queue, mut kinds, mut reads) = (VecDeque::from(inputs), Vec::new(), Vec::new());
    while let Some((at, first)) = queue.pop_front() {
        // What came together is one step.
        let same = queue.iter().take_while(|(to, _)| *to == at).count();
        let inputs = std::iter::once(first).chain(queue.drain(..same).map(|(_, input)| input));
        for output in replicas[at].step(inputs).expect("the disks work") {
            match output {
                Output::Send { to, bytes, .. } => {
                    kinds
                        .push(Message::parse_from_bytes(&bytes).expect("it was just written").get_msg_type());
                    let to = replicas.iter().position(|one| one.id == to).expect("a member");
                    queue.push_back((to, Input::Message(bytes)));
                }
                Output::Read { token, outcome } => {
                    assert_eq!(outcome, Ok(()));
                    reads.push(token);
                }
                Output::Proposed { .. } | Output::TakeSnapshot => {}
            }
        }
    }
    (kinds, reads)
}

/// A past fault: the leader asked all replicas whether it still leads once for each question of each of them.
#[test]
fn questions_that_come_together_cost_one_round() {
    let names = ["node-0", "node-1", "node-2"];
    let members = Members::of(names);
    let open = |name: &str| {
        let disk: Arc<dyn Disk> = Arc::new(SimDisk::new());
        let options = options(name, &members);
        Replica::open(disk, &PathBuf::from(DIR), options, Listed::default(), Chance::seeded(1))
    };
    let mut replicas: Vec<_> = names.iter().map(|name| open(name).expect("the disk works")).collect();
    while !replicas[0].leads() {
        converse(&mut replicas, vec![(0, Input::Tick)]);
    }
    let heartbeats =
        |kinds: &[MessageType]| kinds.iter().filter(|kind| **kind == MessageType::MsgHeartbeat).count();
    let (kinds, reads) = converse(&mut replicas, vec![(1, Input::Read { token: 1 })]);
    assert_eq!((heartbeats(&kinds), reads), (2, vec![1]));
    // Two replicas ask, and the leader has readers of its own.
    let read = |at: usize, token: u64| (at, Input::Read { token });
    let asked = vec![read(1, 1), read(1, 2), read(2, 3), read(0, 4)];
    let (kinds, mut reads) = converse(&mut replicas, asked);
    reads.sort_unstable();
    assert_eq!(reads, [1, 2, 3, 4]);
    assert_eq!(heartbeats(&kinds), 2, "{kinds:?}");
}

/// The limit of waiting questions, those of other replicas and local ones together; the next one is dropped, or refused.
#[test]
fn so_many_questions_wait_and_no_more() {
    let names = ["node-0", "node-1", "node-2"];
    let members = Members::of(names);
    let open = |name: &str| {
        let disk: Arc<dyn Disk> = Arc::new(SimDisk::new());
        let options = options(name, &members);
        Replica::open(disk, &PathBuf::from(DIR), options, Listed::default(), Chance::seeded(1))
    };
    let mut replicas: Vec<_> = names.iter().map(|name| open(name).expect("the disk works")).collect();
    while !replicas[0].leads() {
        converse(&mut replicas, vec![(0, Input::Tick)]);
    }
    let leader = &mut replicas[0];
    let question = || {
        let mut message = Message::default();
        message.set_msg_type(MessageType::MsgReadIndex);
        (message.from, message.to) = (replica_id("node-1"), replica_id("node-0"));
        message.mut_entries().push(Entry { data: vec![7; 8].into(), ..Entry::default() });
        Input::Message(message.write_to_bytes().expect("it is whole"))
    };
    let asked = |leader: &mut Replica<Listed>, inputs: Vec<Input>| {
        let outputs = leader.step(inputs).expect("the disk works");
        let refused = |output: &Output| matches!(output, Output::Read { outcome: Err(_), .. });
        (leader.reads, outputs.iter().filter(|output| refused(output)).count())
    };
    let most = (0..PENDING_MAX - 1).map(|_| question()).collect();
    assert_eq!(asked(leader, most), (PENDING_MAX - 1, 0));
    assert_eq!(asked(leader, vec![Input::Read { token: 1 }]), (PENDING_MAX, 0));
    assert_eq!(asked(leader, vec![question(), question()]), (PENDING_MAX, 0));
    assert_eq!(asked(leader, vec![Input::Read { token: 2 }]), (PENDING_MAX, 1));
}
