//! The event ordering service: what clients send, what replicas send each other, and what lies on their disks.
//!
//! A seed is what a sound client, peer or disk says; calls and messages are framed as `kind, length (2 bytes), bytes`.

use kronos::InProcess;
use kronos::v1::{self, Order, Strength};
use order::kronos::{Answer, Command, Constraint, Direction, Entry, GraphLimits, Machine, SHARED_SESSION};
use prost::Message as _;
use protobuf::Message as _;
use raft::eraftpb;
use replicate::replica_id;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};
use world::disk::{Disk, SimDisk};

const METHODS: [&str; 10] = [
    "CreateEvents",
    "AssignOrder",
    "QueryOrder",
    "AcquireRefs",
    "ReleaseRefs",
    "Stats",
    "OpenSession",
    "KeepAlive",
    "CloseSession",
    "ChangeMembers",
];
/// Few, so that limits are met.
const LIMITS: GraphLimits = GraphLimits { events_max: 200_000, edges_max: 200_000 };
const GROUP: [&str; 3] = ["a", "b", "c"];

fn frame(kind: u8, bytes: &[u8]) -> Vec<u8> {
    [&[kind], (bytes.len() as u16).to_le_bytes().as_slice(), bytes].concat()
}

fn frames(mut bytes: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    std::iter::from_fn(move || {
        let (head, rest) = bytes.split_first_chunk::<3>()?;
        let length = usize::from(u16::from_le_bytes([head[1], head[2]])).min(rest.len());
        let (body, after) = rest.split_at(length);
        bytes = after;
        Some((head[0], body))
    })
}

fn open(disk: &SimDisk, members: &[&str]) -> Result<InProcess, replicate::ReplicateError> {
    InProcess::open(Arc::new(disk.clone()), members, LIMITS)
}

/// A conversation of calls with one replica.
pub fn kronos_calls(bytes: &[u8]) {
    let mut server = open(&SimDisk::new(), &GROUP[..1]).expect("an empty disk takes a replica");
    let mut told = BTreeMap::new();
    for (kind, body) in frames(bytes).take(32) {
        let method = METHODS[usize::from(kind) % METHODS.len()];
        let answer = server.call(method, body);
        if let Err(status) = &answer {
            let code = status.code();
            assert!(
                !matches!(
                    code,
                    tonic::Code::Internal
                        | tonic::Code::Unknown
                        | tonic::Code::Cancelled
                        | tonic::Code::DataLoss
                ),
                "{method} is answered with {status}"
            );
        }
        if let ("QueryOrder", Ok(answer)) = (method, answer) {
            orders(&mut told, body, &answer);
        }
    }
    server.check();
}

/// An order that was answered never changes.
fn orders(told: &mut BTreeMap<(u64, u64), Order>, request: &[u8], answer: &[u8]) {
    let request = v1::QueryOrderRequest::decode(request).expect("it was answered");
    let answer = v1::QueryOrderResponse::decode(answer).expect("the server wrote it");
    assert_eq!(request.pairs.len(), answer.orders.len(), "an order for each pair");
    for (pair, order) in request.pairs.iter().zip(answer.orders()) {
        if let Some(before) = told.get(&(pair.first, pair.second)) {
            assert_eq!(*before, order, "an order was withdrawn");
        }
        if order != Order::Concurrent {
            told.insert((pair.first, pair.second), order);
        }
    }
}

/// The names of the first events depend on the seeded chance of the replica only.
static EVENTS: LazyLock<Vec<u64>> = LazyLock::new(|| {
    let mut server = open(&SimDisk::new(), &GROUP[..1]).expect("an empty disk takes a replica");
    let request = v1::CreateEventsRequest { count: 6, caller: None }.encode_to_vec();
    let answer = server.call("CreateEvents", &request).expect("there is room");
    v1::CreateEventsResponse::decode(answer.as_slice()).expect("the server wrote it").events
});

pub(super) fn call_seeds() -> Vec<Vec<u8>> {
    let e = &*EVENTS;
    let session = (e[0] >> 32) << 32 | 1;
    let caller = |request| Some(v1::Caller { session, request });
    let link = |first: usize, second: usize, order: Order, strength: Strength| v1::Constraint {
        first: e[first],
        order: order.into(),
        second: e[second],
        strength: strength.into(),
    };
    let pair = |first: usize, second: usize| v1::Pair { first: e[first], second: e[second] };
    let create = |count, caller| frame(0, &v1::CreateEventsRequest { count, caller }.encode_to_vec());
    let assign =
        |constraints, caller| frame(1, &v1::AssignOrderRequest { constraints, caller }.encode_to_vec());
    let query = |pairs| frame(2, &v1::QueryOrderRequest { pairs }.encode_to_vec());
    let links = vec![link(0, 1, Order::Before, Strength::Must), link(2, 1, Order::After, Strength::Prefer)];
    let plain = [
        create(6, None),
        assign(links.clone(), None),
        query(vec![pair(0, 1), pair(1, 2), pair(0, 3)]),
        frame(4, &v1::ReleaseRefsRequest { events: vec![e[0], e[5]], caller: None }.encode_to_vec()),
        query(vec![pair(1, 2), pair(0, 1)]),
        frame(5, &[]),
    ];
    let leased = [
        frame(6, &v1::OpenSessionRequest { lease_ms: 1_000 }.encode_to_vec()),
        create(6, caller(1)),
        create(6, caller(1)),
        assign(links, caller(2)),
        frame(3, &v1::AcquireRefsRequest { events: vec![e[1], e[1]], caller: caller(3) }.encode_to_vec()),
        frame(7, &v1::KeepAliveRequest { session }.encode_to_vec()),
        query(vec![pair(0, 2), pair(2, 0)]),
        frame(8, &v1::CloseSessionRequest { session }.encode_to_vec()),
        frame(9, &v1::ChangeMembersRequest { address: "b".into(), remove: false }.encode_to_vec()),
    ];
    vec![plain.concat(), leased.concat()]
}

/// Messages of peers to one of three replicas.
pub fn kronos_peers(bytes: &[u8]) {
    let mut server = open(&SimDisk::new(), &GROUP).expect("an empty disk takes a replica");
    for (_, message) in frames(bytes).take(32) {
        if server.deliver(message).is_err() {
            // It says why it ends, and does not panic.
            return;
        }
    }
}

fn message(kind: eraftpb::MessageType, term: u64) -> eraftpb::Message {
    let mut message = eraftpb::Message::default();
    message.set_msg_type(kind);
    (message.from, message.to, message.term) = (replica_id("b"), replica_id("a"), term);
    message
}

pub(super) fn peer_seeds() -> Vec<Vec<u8>> {
    use eraftpb::MessageType as Kind;
    let entry = |index, data: Vec<u8>| {
        let mut entry = eraftpb::Entry::default();
        (entry.index, entry.term, entry.data) = (index, 2, data.into());
        entry
    };
    let command =
        Entry { now_ms: 5, session: SHARED_SESSION, request: 0, command: Command::Lead { nonce: 7 } };
    let command = postcard_entry(&command);
    let mut append = message(Kind::MsgAppend, 2);
    (append.index, append.log_term, append.commit) = (1, 1, 2);
    append.entries = vec![entry(2, Vec::new()), entry(3, command)].into();
    let mut heartbeat = message(Kind::MsgHeartbeat, 2);
    heartbeat.commit = 3;
    let mut vote = message(Kind::MsgRequestVote, 3);
    (vote.index, vote.log_term) = (9, 2);
    let mut snapshot = message(Kind::MsgSnapshot, 2);
    let metadata = snapshot.mut_snapshot().mut_metadata();
    (metadata.index, metadata.term) = (40, 2);
    metadata.mut_conf_state().voters = GROUP.iter().map(|name| replica_id(name)).collect();
    // As a replica packs it: the members, then the machine.
    let members = replicate::Members::of(GROUP);
    let state = [members_bytes(&members), MACHINE.snapshot()].concat();
    snapshot.mut_snapshot().data = state.into();
    let mut answers = vec![message(Kind::MsgAppendResponse, 2), message(Kind::MsgHeartbeatResponse, 2)];
    answers.extend(
        [
            Kind::MsgReadIndex,
            Kind::MsgReadIndexResp,
            Kind::MsgTimeoutNow,
            Kind::MsgTransferLeader,
            Kind::MsgPropose,
        ]
        .map(|kind| message(kind, 2)),
    );
    let framed = |messages: &[eraftpb::Message]| -> Vec<u8> {
        let bytes = |one: &eraftpb::Message| frame(0, &one.write_to_bytes().expect("whole"));
        messages.iter().flat_map(bytes).collect()
    };
    vec![
        framed(&[append.clone(), heartbeat.clone()]),
        framed(&[vote.clone(), append.clone(), snapshot.clone()]),
        framed(&[snapshot, heartbeat, append]),
        framed(&answers),
        framed(&[answers[3].clone(), vote]),
    ]
}

fn postcard_entry(entry: &Entry) -> Vec<u8> {
    postcard::to_allocvec(entry).expect("plain data")
}

fn members_bytes(members: &replicate::Members) -> Vec<u8> {
    postcard::to_allocvec(members).expect("plain data")
}

/// A machine with events, orders, sessions and answers that are kept.
static MACHINE: LazyLock<Machine> = LazyLock::new(|| {
    let mut machine = Machine::new(LIMITS);
    let mut run = |session, request, command| {
        machine.apply(Entry { now_ms: 9, session, request, command }).expect("nothing is wrong with it")
    };
    run(SHARED_SESSION, 0, Command::Lead { nonce: 7 });
    let Answer::Opened(session) = run(SHARED_SESSION, 0, Command::OpenSession { lease_ms: 5_000 }) else {
        panic!("a session was asked for")
    };
    let Answer::Created(events) = run(session, 1, Command::CreateEvents { count: 5 }) else {
        panic!("events were asked for")
    };
    let link = |a: usize, b: usize| Constraint {
        this: events[a],
        direction: Direction::Before,
        that: events[b],
        strength: order::kronos::Strength::Must,
    };
    run(session, 2, Command::AssignOrder(vec![link(0, 1), link(0, 2), link(2, 3)]));
    run(SHARED_SESSION, 0, Command::AcquireRefs(vec![events[3], events[3]]));
    run(session, 3, Command::ReleaseRefs(vec![events[4], events[1]]));
    machine
});

struct Written {
    disk: SimDisk,
    files: Vec<(PathBuf, Vec<u8>)>,
}

/// The disk of a replica after some requests.
static WRITTEN: LazyLock<Written> = LazyLock::new(|| {
    let disk = SimDisk::new();
    let mut server = open(&disk, &GROUP[..1]).expect("an empty disk takes a replica");
    for seed in call_seeds() {
        frames(&seed).for_each(|(kind, body)| drop(server.call(METHODS[usize::from(kind)], body)));
    }
    let is_one = |path: &PathBuf| {
        let name = path.to_string_lossy();
        name.contains("/log/") || name.contains("snapshot-")
    };
    let files =
        disk.contents().into_iter().filter(|(path, bytes)| is_one(path) && !bytes.is_empty()).collect();
    Written { disk: disk.kill(), files }
});

/// A file of a replica, or the state of a machine: which one, then its bytes.
pub fn kronos_files(bytes: &[u8]) {
    let Some((which, bytes)) = bytes.split_first() else { return };
    match WRITTEN.files.get(usize::from(*which)) {
        Some((path, _)) => {
            let disk = WRITTEN.disk.copy();
            super::log::write(&disk, path, bytes);
            let shared: Arc<dyn Disk> = Arc::new(disk);
            let Ok(mut server) = InProcess::open(shared, &GROUP[..1], LIMITS) else { return };
            server.check();
            let create = v1::CreateEventsRequest { count: 3, caller: None }.encode_to_vec();
            drop(server.call("CreateEvents", &create));
            server.check();
        }
        None => state(bytes),
    }
}

fn state(bytes: &[u8]) {
    let Ok(mut machine) = Machine::restore(bytes) else { return };
    machine.check();
    let mut run =
        |now_ms, command| machine.apply(Entry { now_ms, session: SHARED_SESSION, request: 0, command });
    drop(run(10, Command::CreateEvents { count: 2 }));
    drop(run(u64::MAX, Command::Expire));
    machine.check();
}

pub(super) fn file_seeds() -> Vec<Vec<u8>> {
    let files = WRITTEN.files.iter().enumerate();
    let mut seeds: Vec<Vec<u8>> =
        files.map(|(which, (_, bytes))| [&[which as u8], bytes.as_slice()].concat()).collect();
    // Most damage to a file is seen by its checksum, so the state behind it has the larger part.
    let state = [&[u8::MAX], MACHINE.snapshot().as_slice()].concat();
    seeds.extend(std::iter::repeat_n(state, 3));
    seeds
}
