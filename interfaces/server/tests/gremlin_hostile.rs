//! Clients of the Gremlin interface that mean no good: half frames, giant promises, silence, crowds. Memory and time are bounded, and others
//! are served meanwhile.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use crate::common;

use common::gremlin::*;
use common::socket::within;
use database::{Database, MEMORY, Options};
use std::io::Write;
use std::time::Duration;
use tanglewood_server::GremlinServer;
use tanglewood_server::Limits;
use tanglewood_server::users::Gate;

/// The head of a binary frame of a client that promises so many bytes.
fn promise(bytes: u64) -> Vec<u8> {
    let mut head = vec![0x82, 0xFF];
    head.extend(bytes.to_be_bytes());
    head.extend([0; 4]);
    head
}

#[test]
fn half_a_frame_is_waited_for_only_so_long() {
    let limits = Limits { message_timeout: Duration::from_millis(200), ..Limits::default() };
    let (_database, server) = serve(limits);
    let mut half = Client::connect(server.address());
    let mut silent = Client::connect(server.address());
    half.socket.get_mut().write_all(&promise(1_000)).unwrap();
    half.socket.get_mut().write_all(&[7; 500]).unwrap();
    within(3_000, "the end of half a frame", || server.connections() == 1);
    assert_eq!(silent.int("g.inject(7)"), 7, "who said all that was to say may be silent");
}

#[test]
fn promises_are_refused_at_once() {
    let limits = Limits { message_bytes_max: 1 << 20, ..Limits::default() };
    let (_database, server) = serve(limits);
    for bytes in [2 << 20, 1 << 40, u64::MAX >> 1, u64::MAX] {
        let mut client = Client::connect(server.address());
        client.socket.get_mut().write_all(&promise(bytes)).unwrap();
        within(2_000, "the end", || server.connections() == 0);
    }
    // As many fragments as one likes are still one message.
    let mut client = Client::connect(server.address());
    let piece = [&[0x02, 0xFE, 0xFF, 0xFF][..], &[0; 4], &[7; 65_535]].concat();
    let refused = (0..64).any(|number| {
        let mut piece = piece.clone();
        piece[0] = if number == 0 { 0x02 } else { 0x00 };
        client.socket.get_mut().write_all(&piece).is_err()
    });
    assert!(refused || client.farewell().is_none_or(|why| why.contains("long")));
    within(2_000, "the end", || server.connections() == 0);
}

#[test]
fn nonsense_ends_the_connection_and_nothing_else() {
    let (_database, server) = serve(Limits::default());
    let mut bystander = Client::connect(server.address());
    for bytes in [
        &[0xFF; 64][..],
        &[0x82, 0x01, 0x00],
        &[0x83, 0x80, 0, 0, 0, 0],
        &[0x81, 0x82, 0, 0, 0, 0, 0xC3, 0x28],
        &[0x80, 0x80, 0, 0, 0, 0],
        &[&[0x88, 0xFE, 0x00, 0x80, 0, 0, 0, 0][..], &[0; 128]].concat(),
    ] {
        let mut client = Client::connect(server.address());
        client.socket.get_mut().write_all(bytes).unwrap();
        within(2_000, &format!("the end after {bytes:?}"), || server.connections() == 1);
    }
    assert_eq!(bystander.int("g.inject(7)"), 7);
}

#[test]
fn values_nested_without_end_are_refused() {
    let (_database, server) = serve(Limits::default());
    let mut client = Client::connect(server.address());
    let deep = format!("g.inject({}1{})", "[".repeat(50_000), "]".repeat(50_000));
    client.eval(&deep);
    assert_eq!(client.told().0, 597);
    let deep = format!("g.V(){}{}", ".where(__.out()".repeat(20_000), ")".repeat(20_000));
    client.eval(&deep);
    assert_eq!(client.told().0, 597);
    let frame = |open: &str, close: &str| {
        let text = format!(
            "{{\"requestId\":\"{0}\",\"op\":\"eval\",\"args\":{1}1{2}}}",
            gremlin::object::uuid_text(9),
            open.repeat(100_000),
            close.repeat(100_000)
        );
        tungstenite::Message::text(text)
    };
    client.socket.send(frame("[", "]")).unwrap();
    assert_eq!(client.told().0, 498);
    client.socket.send(frame("{\"a\":", "}")).unwrap();
    assert_eq!(client.told().0, 498);
    assert_eq!(client.int("g.inject(7)"), 7);
}

#[test]
fn strangers_have_little_time_and_few_places() {
    let own = Database::open(MEMORY, Options { executors: Some(1), ..Options::default() }).unwrap();
    let users = own.users();
    users.add("ada", "correct horse").unwrap();
    let limits = Limits {
        greeting_timeout: Duration::from_millis(300),
        strangers_max: 3,
        connections_max: 5,
        ..Limits::default()
    };
    let (_database, options) = options(Gate::of(users), limits);
    let server = GremlinServer::start(options).unwrap();
    let silent: Vec<_> = (0..6).map(|_| socket(server.address())).collect();
    within(2_000, "three of them", || server.connections() == 3);
    within(2_000, "nobody", || server.connections() == 0);
    drop(silent);
    // One that drips its handshake, and one that greets and then is silent.
    let mut dripping = socket(server.address());
    let mut silent = Client::connect(server.address());
    let end = world::clock::monotonic_ns() + 2_000_000_000;
    while server.connections() > 0 {
        assert!(world::clock::monotonic_ns() < end, "strangers are still there");
        let _ = dripping.write_all(b"G");
        world::threads::sleep(Duration::from_millis(20));
    }
    assert!(silent.try_told().is_none());
}

#[test]
fn unfinished_messages_of_all_clients_take_bounded_memory() {
    let limits = Limits { incoming_bytes_max: 4 << 20, ..Limits::default() };
    let (_database, server) = serve(limits);
    let mut clients: Vec<Client> = (0..8).map(|_| Client::connect(server.address())).collect();
    for client in &mut clients {
        client.socket.get_mut().write_all(&promise(32 << 20)).unwrap();
    }
    for _ in 0..32 {
        // Some are refused on the way: they hold more than there is room for.
        clients.iter_mut().for_each(|client| drop(client.socket.get_mut().write_all(&[7; 65_536])));
    }
    within(5_000, "some refused", || server.connections() < 8);
    drop(clients);
    within(2_000, "all gone", || server.connections() == 0);
    assert_eq!(Client::connect(server.address()).int("g.inject(1)"), 1);
}

#[test]
fn a_head_without_end_is_refused() {
    let (_database, server) = serve(Limits::default());
    let long = format!("GET /gremlin HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(1 << 20));
    let answer = http(server.address(), &long);
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431"), "{answer}");
    let many = format!("GET /gremlin HTTP/1.1\r\n{}\r\n", "X: y\r\n".repeat(1_000));
    assert!(http(server.address(), &many).starts_with("HTTP/1.1 400"));
    within(2_000, "the slots", || server.connections() == 0);
}

/// The values of a message are charged before they are there, in every format and by every way in.
#[test]
fn values_of_a_message_have_a_limit() {
    let limits = Limits { value_bytes_max: 1 << 20, ..Limits::default() };
    let (_database, server) = serve(limits);
    let many = vec![1; 50_000];
    let arguments = |list: &[i32]| serde_json::json!({ "gremlin": "g.inject(x).count(local)", "bindings": { "x": list } });
    let mut client = Client::connect(server.address());
    for _ in 0..3 {
        client.send("eval", "", arguments(&many));
        let (code, told) = client.told();
        assert!(code == 498 && told.to_string().contains("take more bytes"), "{code}: {told}");
        client.send("eval", "", arguments(&many[..100]));
        assert_eq!(client.rest().len(), 1);
    }
    // GraphBinary: a list of as many numbers.
    let list: Vec<u8> = (0..50_000).flat_map(|_| [1, 0, 0, 0, 0, 7]).collect();
    let binary = |list: &[u8]| {
        let text = |text: &str| [&(text.len() as i32).to_be_bytes()[..], text.as_bytes()].concat();
        let count = (list.len() as i32 / 6).to_be_bytes();
        let script = [&[3, 0][..], &text("gremlin"), &[3, 0], &text("g.inject(x).count(local)")].concat();
        let bindings = [
            &[3, 0][..],
            &text("bindings"),
            &[0x0a, 0],
            &1_i32.to_be_bytes(),
            &[3, 0],
            &text("x"),
            &[9, 0],
            &count,
            list,
        ];
        let mime = "application/vnd.graphbinary-v1.0";
        let head =
            [&[mime.len() as u8][..], mime.as_bytes(), &[0x81], &[7; 16], &text("eval"), &text("")].concat();
        [head, 2_i32.to_be_bytes().to_vec(), script, bindings.concat()].concat()
    };
    for (list, refused) in [(&list[..], true), (&list[..600], false)] {
        client.socket.send(tungstenite::Message::binary(binary(list))).unwrap();
        let tungstenite::Message::Binary(answer) = client.socket.read().unwrap() else {
            panic!("no binary answer")
        };
        let told = String::from_utf8_lossy(&answer).contains("take more bytes");
        assert_eq!(told, refused, "{:?}", String::from_utf8_lossy(&answer));
    }
    for (list, code) in [(&many[..], "HTTP/1.1 400"), (&many[..100], "HTTP/1.1 200")] {
        let answer =
            post(server.address(), &arguments(list).to_string(), "Content-Type: application/json\r\n");
        assert!(answer.starts_with(code), "{answer}");
    }
}

/// What a client of HTTP sent behind its request does not hide that it is gone; one that sends more than has room is let go.
#[test]
fn a_client_that_goes_ends_its_traversal_whatever_it_sent_behind_it() {
    let (database, server) = serve(Limits::default());
    let body = format!("{{\"gremlin\":\"{ENDLESS}\"}}");
    let head = "POST /gremlin HTTP/1.1\r\nHost: localhost\r\n";
    let request = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
    for behind in [0, 1, 30_000, 1_000_000] {
        let mut client = socket(server.address());
        client.set_write_timeout(Some(Duration::from_millis(200))).unwrap();
        client.write_all(request.as_bytes()).unwrap();
        within(10_000, "the traversal", || !database.running().is_empty());
        // What has no room is not taken.
        let _ = client.write_all(&vec![b'x'; behind]);
        drop(client);
        within(10_000, &format!("its end, {behind} bytes behind it"), || database.running().is_empty());
    }
    // One that stays is let go all the same, and nothing of what it sent ahead runs.
    let mut client = socket(server.address());
    client.set_write_timeout(Some(Duration::from_millis(200))).unwrap();
    client.write_all(request.as_bytes()).unwrap();
    within(10_000, "the traversal", || !database.running().is_empty());
    let ahead = "{\"gremlin\":\"g.addV('ahead')\"}";
    let ahead = format!("{head}Content-Length: {}\r\n\r\n{ahead}", ahead.len());
    let _ = client.write_all(ahead.repeat(1_000).as_bytes());
    within(10_000, "its end", || database.running().is_empty() && server.connections() == 0);
    let made = database.session().query("MATCH (n:ahead) RETURN count(*)", Default::default()).unwrap();
    assert_eq!(made.single().unwrap().as_int(), Some(0));
    drop(client);
}
