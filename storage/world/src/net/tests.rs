use super::*;
use std::collections::BTreeSet;

const SOON: Duration = Duration::from_secs(20);

fn tcp(secret: &[u8]) -> TcpNet {
    TcpNet::open("127.0.0.1:0", secret).unwrap()
}

/// Sends until something comes.
fn until_it_comes(from: &dyn Net, to: &dyn Net, frame: &[u8]) -> Vec<u8> {
    let until_ns = crate::clock::after_ns(SOON);
    while crate::clock::monotonic_ns() < until_ns {
        from.send(to.address(), frame.to_vec());
        if let Some(frame) = to.receive(Duration::from_millis(50)) {
            return frame;
        }
    }
    panic!("nothing comes")
}

#[test]
fn frames_of_any_length_come_in_order_both_ways() {
    let (one, other) = (tcp(b"s"), tcp(b"s"));
    for (from, to) in [(&one, &other), (&other, &one)] {
        for length in [0, 1, 100, 70_000, 3 << 20] {
            from.send(to.address(), vec![7; length]);
            assert_eq!(to.receive(SOON), Some(vec![7; length]));
        }
        (0..1_000_u32).for_each(|number| from.send(to.address(), number.to_le_bytes().into()));
        (0..1_000_u32).for_each(|number| assert_eq!(to.receive(SOON), Some(number.to_le_bytes().into())));
        assert_eq!(from.counts().connects, 1);
    }
    assert_eq!(one.receive(Duration::from_millis(1)), None);
    assert_eq!(one.counts().dropped + other.counts().dropped, 0);
}

#[test]
fn who_does_not_know_the_secret_is_not_heard() {
    let (host, stranger, friend) = (tcp(b"right"), tcp(b"wrong"), tcp(b"right"));
    stranger.send(host.address(), vec![1]);
    assert_eq!(host.receive(Duration::from_millis(300)), None);
    assert_eq!(until_it_comes(&friend, &host, &[2]), [2]);
    let outside = TcpNet::open("0.0.0.0:0", b"");
    assert!(matches!(outside, Err(NetError::NeedsSecret(_))));
}

#[test]
fn a_peer_that_is_gone_loses_frames_and_is_found_again() {
    let (one, other) = (tcp(b""), tcp(b""));
    assert_eq!(until_it_comes(&one, &other, &[1]), [1]);
    let address = other.address().to_string();
    drop(other);
    for _ in 0..20 {
        one.send(&address, vec![2]);
        crate::threads::sleep(Duration::from_millis(5));
    }
    let again = TcpNet::open(&address, b"").unwrap();
    assert_eq!(until_it_comes(&one, &again, &[3]).len(), 1);
    assert!(one.counts().connects >= 2);
}

/// Nothing comes back on a connection but its end, which an idle thread notices: a frame to the successor of the peer is not lost in it.
#[test]
fn who_is_idle_notices_the_end_of_a_connection() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let socket = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (other, _) = listener.accept().unwrap();
    assert!(!tcp::has_ended(&socket) && !tcp::has_ended(&socket));
    drop(other);
    let until_ns = crate::clock::after_ns(SOON);
    while !tcp::has_ended(&socket) {
        assert!(crate::clock::monotonic_ns() < until_ns, "it is never noticed");
        crate::threads::sleep(Duration::from_millis(1));
    }
}

/// Without a peer frames are dropped, and no sender waits.
#[test]
fn queues_are_bounded_and_sending_never_waits() {
    let one = tcp(b"");
    let nobody = {
        let gone = tcp(b"");
        gone.address().to_string()
    };
    (0..3 * PEER_FRAMES_MAX).for_each(|_| one.send(&nobody, vec![0; 10]));
    one.send(&nobody, vec![0; FRAME_BYTES_MAX + 1]);
    let until_ns = crate::clock::after_ns(SOON);
    while one.counts().dropped < 1 + PEER_FRAMES_MAX as u64 && crate::clock::monotonic_ns() < until_ns {
        crate::threads::sleep(Duration::from_millis(5));
    }
    assert!(one.counts().dropped > PEER_FRAMES_MAX as u64, "{:?}", one.counts());
    let names: Vec<String> = (1..=PEERS_MAX + 1).map(|port| format!("127.0.0.1:{port}")).collect();
    let quiet = SimNet::network(&["a"], NetFaults::default(), 1);
    names.iter().for_each(|name| quiet[0].send(name, vec![1]));
    assert_eq!(quiet[0].counts().dropped, names.len() as u64);
}

/// Bytes of a stranger end the connection, and nothing else.
#[test]
fn what_is_no_frame_is_not_heard() {
    use std::io::Write;
    let (host, friend) = (tcp(b""), tcp(b""));
    let hello = b"TWNET2\0\0".to_vec();
    let too_long =
        [hello.clone(), (FRAME_BYTES_MAX as u32 + 257).to_le_bytes().to_vec(), vec![0; 100]].concat();
    let cut_short = [hello, 100_u32.to_le_bytes().to_vec(), vec![0; 50]].concat();
    // Not even read: who sends it gets the end of the connection while it still owes most of it.
    for length in [1_025, 1_026, 0xffff] {
        let hello = [b"TWNET2".as_slice(), &(length as u16).to_le_bytes()].concat();
        let mut socket = std::net::TcpStream::connect(host.address()).unwrap();
        socket.write_all(&hello).unwrap();
        socket.set_read_timeout(Some(SOON)).unwrap();
        assert_eq!(std::io::Read::read(&mut socket, &mut [0]).unwrap(), 0, "a secret of {length} bytes");
    }
    for bytes in [b"GET / HTTP/1.1\r\n\r\n".to_vec(), too_long, cut_short, Vec::new()] {
        let mut socket = std::net::TcpStream::connect(host.address()).unwrap();
        socket.write_all(&bytes).unwrap();
    }
    assert_eq!(until_it_comes(&friend, &host, &[5]), [5]);
    assert_eq!(host.counts().received, 1);
}

#[test]
fn the_simulated_one_loses_doubles_and_reorders_and_cuts_one_way() {
    let faults = NetFaults { loss: 0.2, doubled: 0.2, late: 0.3, late_max: Duration::from_millis(20) };
    let nets = SimNet::network(&["a", "b"], faults, 3);
    (0..500_u16).for_each(|number| nets[0].send("b", number.to_le_bytes().into()));
    let mut got: Vec<u16> = Vec::new();
    while let Some(frame) = nets[1].receive(Duration::from_millis(50)) {
        got.push(u16::from_le_bytes([frame[0], frame[1]]));
    }
    let different: BTreeSet<u16> = got.iter().copied().collect();
    assert!(different.len() < 500 && different.len() > 300, "{} of 500", different.len());
    assert!(got.len() > different.len() && !got.is_sorted());
    nets[0].cut("a", "b");
    nets[0].send("b", vec![1, 1]);
    assert_eq!(nets[1].receive(Duration::from_millis(30)), None);
    nets[0].heal();
    assert_eq!(until_it_comes(&nets[0], &nets[1], &[2, 2]), [2, 2]);
}

/// Before it waits or while it does; once for each time, and nothing is taken for a frame.
#[test]
fn who_waits_for_a_frame_is_woken() {
    let (socket, simulated) = (tcp(b"s"), SimNet::network(&["a", "b"], NetFaults::default(), 1));
    for net in [&socket as &dyn Net, &simulated[0]] {
        let begun_ns = crate::clock::monotonic_ns();
        for _ in 0..3 {
            net.wake();
            assert_eq!(net.receive(SOON), None);
            std::thread::scope(|scope| {
                let waiting = scope.spawn(|| net.receive(SOON));
                std::thread::sleep(Duration::from_millis(2));
                net.wake();
                assert_eq!(waiting.join().unwrap(), None);
            });
        }
        assert!(crate::clock::monotonic_ns() - begun_ns < SOON.as_nanos() as u64, "nobody was woken");
        assert_eq!(net.receive(Duration::from_millis(1)), None);
        assert_eq!(net.counts().received, 0);
    }
    let soon = |net: &dyn Net| net.receive(SOON).is_some();
    (0..3).for_each(|_| simulated[0].send("b", vec![1]));
    assert!(soon(&simulated[1]) && soon(&simulated[1]) && soon(&simulated[1]));
    assert_eq!((simulated[0].counts().sent, simulated[1].counts().received), (3, 3));
    // An inbox takes as many as it may hold, and no more.
    (0..=INBOX_FRAMES_MAX).for_each(|_| simulated[1].send("a", Vec::new()));
    let counts = simulated[1].counts();
    assert_eq!((counts.sent, counts.dropped), (INBOX_FRAMES_MAX as u64, 1));
}

/// A late frame is waited for until it is due, neither past that nor past the caller's time limit.
#[test]
fn a_late_frame_comes_when_it_is_due() {
    let late = Duration::from_millis(40);
    let faults = NetFaults { late: 1.0, late_max: late, ..NetFaults::default() };
    let nets = SimNet::network(&["a", "b"], faults, 11);
    let (mut waits_ms, begun_ns) = (BTreeSet::new(), crate::clock::monotonic_ns());
    for number in 0..8 {
        let sent_ns = crate::clock::monotonic_ns();
        nets[0].send("b", vec![number]);
        assert_eq!(nets[1].receive(SOON), Some(vec![number]));
        waits_ms.insert((crate::clock::monotonic_ns() - sent_ns) / 1_000_000);
    }
    assert!(waits_ms.len() > 2 && crate::clock::monotonic_ns() - begun_ns < 5_000_000_000, "{waits_ms:?}");
    // Who has less time than that leaves without it, and finds it later.
    let faults = NetFaults { late: 1.0, late_max: Duration::from_secs(3_600), ..NetFaults::default() };
    let nets = SimNet::network(&["a", "b"], faults, 11);
    nets[0].send("b", vec![1]);
    let begun_ns = crate::clock::monotonic_ns();
    assert_eq!(nets[1].receive(Duration::from_millis(5)), None);
    assert!((5_000_000..2_000_000_000).contains(&(crate::clock::monotonic_ns() - begun_ns)));
}

/// Its threads were waited for until each had looked by itself, a fifth of a second.
#[test]
fn a_quiet_network_is_closed_without_a_wait() {
    let close = |_| {
        let (one, others) = (tcp(b""), [tcp(b""), tcp(b""), tcp(b"")]);
        others.iter().for_each(|other| assert_eq!(until_it_comes(&one, other, &[1]), [1]));
        let began_ns = crate::clock::monotonic_ns();
        drop(one);
        crate::clock::monotonic_ns() - began_ns
    };
    // A busy machine takes its time now and then.
    let soonest_ns = (0..10).map(close).min();
    assert!(soonest_ns < Some(crate::clock::span_ns(tcp::IDLE) / 4), "{soonest_ns:?}");
}

/// Whoever flushes writes by himself what fits, and the thread of the peer what does not: of any sizes, several at once, to one who is slow, all come whole
/// and in order, or not at all where the peer is another one by then.
#[test]
fn what_is_posted_comes_whole_and_in_order_whoever_writes_it() {
    use crate::chance::Chance;
    let seed = Chance::system_seed();
    println!("seed {seed}");
    let mut chance = Chance::seeded(seed);
    let one = tcp(b"s");
    let mut other = tcp(b"s");
    let address = other.address().to_string();
    let mut last = 0_u32;
    for life in 0..3 {
        let mut number = last;
        let send = |number: u32, chance: &mut Chance| {
            let length = [0, 9, 3_000, 40_000, 90_000, 600_000][chance.index(6)];
            let head = [number.to_le_bytes(), (length as u32).to_le_bytes()].concat();
            one.post(&address, [head, vec![number as u8; length]].concat());
        };
        let check = |frame: Vec<u8>| -> u32 {
            let (head, body) = frame.split_at(8);
            let word = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().unwrap());
            assert_eq!(word(4) as usize, body.len());
            assert!(body.iter().all(|byte| *byte == word(0) as u8));
            word(0)
        };
        let mut seen = last;
        for round in 0..60 {
            for _ in 0..chance.below(6) {
                number += 1;
                send(number, &mut chance);
            }
            one.flush();
            // It reads behind now and then, so that the connection is full.
            while round % 20 < 10
                && let Some(frame) = other.receive(Duration::from_millis(u64::from(round % 20 == 0)))
            {
                let found = check(frame);
                assert!(found > seen && (life > 0 || found == seen + 1), "{found} behind {seen}");
                seen = found;
            }
        }
        let until_ns = crate::clock::after_ns(SOON);
        while seen < number {
            assert!(crate::clock::monotonic_ns() < until_ns, "{seen} of {number}");
            match other.receive(Duration::from_millis(50)) {
                Some(frame) => {
                    let found = check(frame);
                    assert!(found > seen, "{found} behind {seen}");
                    seen = found;
                }
                // The last ones went to who is gone: something else shows that this one hears.
                None if life > 0 => {
                    number += 1;
                    send(number, &mut chance);
                    one.flush();
                }
                None => {}
            }
        }
        last = number;
        // Some are on their way while it goes.
        for _ in 0..5 {
            last += 1;
            send(last, &mut chance);
        }
        one.flush();
        drop(other);
        other = TcpNet::open(&address, b"s").unwrap();
    }
}

/// Called behind each frame, by who brought it; nobody else is woken, and what came before is not forgotten.
#[test]
fn who_is_told_of_arrivals_takes_all_frames() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    let (one, other) = (tcp(b""), Arc::new(tcp(b"")));
    one.send(other.address(), vec![1]);
    let until_ns = crate::clock::after_ns(SOON);
    while one.counts().sent < 1 && crate::clock::monotonic_ns() < until_ns {
        crate::threads::sleep(Duration::from_millis(1));
    }
    let (taken, weak) = (Arc::new(AtomicUsize::new(0)), Arc::downgrade(&other));
    let count = taken.clone();
    let arrived = move || {
        let Some(net) = weak.upgrade() else { return };
        while net.receive(Duration::ZERO).is_some() {
            count.fetch_add(1, Ordering::SeqCst);
        }
    };
    assert!(other.on_arrival(Box::new(arrived)));
    assert!(!other.on_arrival(Box::new(|| {})), "it is set once");
    (0..500).for_each(|_| one.post(other.address(), vec![2; 10]));
    one.flush();
    while taken.load(Ordering::SeqCst) < 501 && crate::clock::monotonic_ns() < until_ns {
        crate::threads::sleep(Duration::from_millis(1));
    }
    assert_eq!(taken.load(Ordering::SeqCst), 501);
}

/// Ends of one process by their names: from another process over one connection, and from each other without any.
#[test]
fn a_process_has_several_ends_behind_one_address() {
    let (one, other) = (tcp(b"s"), TcpNet::published("127.0.0.1:0", None, b"s", None).unwrap());
    let ends = [other.beside("a").unwrap(), other.beside("bb").unwrap()];
    let longest = other.beside(&"n".repeat(255)).unwrap();
    assert!(
        other.beside("a").is_err() && other.beside("").is_err() && other.beside(&"n".repeat(256)).is_err()
    );
    assert_eq!(ends[0].address(), format!("{}/a", other.address()));
    for to in [&other, &ends[0], &ends[1], &longest] {
        assert_eq!(until_it_comes(&one, to, to.address().as_bytes()), to.address().as_bytes());
        for length in [0, 1, 70_000] {
            one.send(to.address(), vec![3; length]);
            assert_eq!(to.receive(SOON), Some(vec![3; length]));
        }
    }
    assert_eq!(one.counts().connects, 1);
    // Nobody has this name: the frame is dropped, and the connection lives.
    one.send(&format!("{}/nobody", other.address()), vec![1]);
    one.send(other.address(), vec![2]);
    assert_eq!((other.receive(SOON), one.counts().connects), (Some(vec![2]), 1));
    assert_eq!(other.counts().dropped, 1);
    // Among themselves.
    ends[0].send(ends[1].address(), vec![4]);
    ends[0].post(other.address(), vec![5]);
    ends[0].announce();
    assert_eq!((ends[1].receive(SOON), other.receive(SOON)), (Some(vec![4]), Some(vec![5])));
    ends[0].send(&format!("{}/nobody", other.address()), vec![1]);
    assert_eq!((other.counts().connects, other.counts().dropped), (0, 2));
    // An end that is closed is not there any more, and its name is free.
    let [gone, left] = ends;
    let address = gone.address().to_string();
    drop(gone);
    left.send(&address, vec![6]);
    assert_eq!(other.counts().dropped, 3);
    let again = other.beside("a").unwrap();
    assert_eq!(until_it_comes(&left, &again, &[7]), [7]);
    // The first one may go before the others.
    drop(other);
    assert_eq!(until_it_comes(&one, &again, &[8]), [8]);
}

/// Ends that answer each other on the thread that brings the first frame do so one after another, however long it goes on.
#[test]
fn announcements_within_a_process_do_not_nest() {
    use std::cell::Cell;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    thread_local!(static DEPTH: Cell<u32> = const { Cell::new(0) });
    let first = tcp(b"");
    let ends = [Arc::new(first.beside("a").unwrap()), Arc::new(first.beside("b").unwrap())];
    let got = Arc::new(AtomicU32::new(0));
    for (at, other) in [(0, 1), (1, 0)] {
        let (own, other) = (Arc::downgrade(&ends[at]), ends[other].address().to_string());
        let got = got.clone();
        let answer = move || {
            assert_eq!(DEPTH.replace(1), 0, "an announcement within another");
            let own = own.upgrade().unwrap();
            while let Some(frame) = own.receive(Duration::ZERO) {
                if got.fetch_add(1, Ordering::Relaxed) < 100_000 {
                    own.post(&other, frame);
                }
            }
            own.announce();
            DEPTH.set(0);
        };
        assert!(ends[at].on_arrival(Box::new(answer)));
    }
    first.send(ends[0].address(), vec![1]);
    assert_eq!(got.load(Ordering::Relaxed), 100_001);
}
