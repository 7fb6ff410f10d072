//! Messages of clients, as deep and as wide as they can be written: values, parameters and whole messages, below, at and above every limit of
//! nesting, of parts and of bytes, through real sockets. Each is answered rightly or refused with a reason, and the server goes on.
//!
//! One generator makes all of it: [`shapes`] says what is sent, [`written`] how each interface's clients write it.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use crate::common;
#[path = "sizes/written.rs"]
mod written;

use common::socket::Client as BoltClient;
use common::{
    Answer, BEGIN, DISCARD, HELLO, Item, LOGON, PULL, RESET, ROLLBACK, ROUTE, RUN, TELEMETRY, chunked,
};
use common::{gremlin as tinker, none, pull, request, run};
use database::{Database, MEMORY, Options};
use std::io::Write;
use std::net::SocketAddr;
use tanglewood_server::{Limits, ServeOptions, Server};
use written::{Core, Layer, Shape, counted, text, typed_text};

/// Values may be so deep in PackStream, and in the two formats of Gremlin.
const DEPTH_MAX: usize = 128;
const GREMLIN_DEPTH_MAX: usize = 64;
/// Bytes of a message and of its values, in these tests.
const MESSAGE_BYTES_MAX: usize = 1 << 20;
const VALUE_BYTES_MAX: usize = 2 << 20;
/// Around both limits of depth, around the brackets that JSON may have, and far beyond.
const DEPTHS: [usize; 18] = [0, 1, 2, 30, 31, 32, 33, 58, 62, 63, 64, 65, 126, 127, 128, 129, 5_000, 60_000];
/// Around what values may take at 24, 48 and more bytes each, around the instructions of a traversal, and what is longer than a message.
const WIDTHS: [usize; 9] = [0, 1, 127, 128, 129, 19_999, 20_001, 50_000, 200_000];

fn limits() -> Limits {
    Limits { message_bytes_max: MESSAGE_BYTES_MAX, value_bytes_max: VALUE_BYTES_MAX, ..Limits::default() }
}

/// Everything that is sent.
fn shapes() -> Vec<Shape> {
    use Layer::*;
    let layers: [&[Layer]; 11] = [
        &[List],
        &[Set],
        &[Map],
        &[Key],
        &[Id],
        &[Within],
        &[Step],
        &[Not],
        &[Option],
        &[List, Map],
        &[Map, Within, List, Set],
    ];
    let deep = layers.iter().flat_map(|layers| {
        let all = DEPTHS.iter().map(|depth| Shape::of(layers, *depth, Core::Int));
        let few =
            [0, 1, 63, 128].map(|depth| [Core::Null, Core::Empty].map(|core| Shape::of(layers, depth, core)));
        all.chain(few.into_iter().flatten())
    });
    let cores: [fn(usize) -> Core; 8] = [
        Core::Text,
        Core::Blob,
        Core::List,
        Core::Lists,
        Core::Map,
        Core::Steps,
        Core::Joined,
        Core::Promise,
    ];
    let wide = cores.iter().flat_map(|core| {
        WIDTHS.iter().flat_map(|width| [0, 2].map(|depth| Shape::of(&[List], depth, core(*width))))
    });
    // Longer than a message may be.
    let long = Shape::of(&[List], 0, Core::Text(MESSAGE_BYTES_MAX + 1));
    deep.chain(wide).chain([long]).collect()
}

/// Is a reason one that a client can do something about?
fn is_clear(why: &str) -> bool {
    let is_ours = !why.contains("recursion limit");
    is_ours
        && !why.is_empty()
        && why.len() < 2_000
        && !why.contains("internal error")
        && !why.contains("panicked")
}

/// Says why it ended: too deep, too many, or too long.
fn tells_of_size(why: &str) -> bool {
    [
        "nest",
        "take more bytes",
        "more than",
        "longer than",
        "too long",
        "are promised",
        "deeper",
        "ends within",
        "bytes after",
    ]
    .iter()
    .any(|word| why.contains(word))
}

// ---- Bolt

fn bolt() -> (Database, Server) {
    let database = Database::open(MEMORY, Options { executors: Some(2), ..Options::default() }).unwrap();
    let options = ServeOptions { limits: limits(), ..ServeOptions::at("127.0.0.1:0") };
    let server = Server::start(database.clone(), &options).unwrap();
    (database, server)
}

/// A message's tag and its fields, each written already.
fn message(tag: u8, fields: &[Vec<u8>]) -> Vec<u8> {
    let head = vec![0xB0 | fields.len() as u8, tag];
    [head, fields.concat()].concat()
}

/// A map of one pair.
fn pair(key: &str, value: &[u8]) -> Vec<u8> {
    [&[0xA1, 0x80 | key.len() as u8][..], key.as_bytes(), value].concat()
}

fn packed(text: &str) -> Vec<u8> {
    [&[0xD0, text.len() as u8][..], text.as_bytes()].concat()
}

/// Sends bytes that may be more than the server reads; all answers up to the one that is waited for, or to the end.
fn exchange(client: &mut BoltClient, messages: &[Vec<u8>], answers: usize) -> (Vec<Answer>, bool) {
    let is_cut = client.socket.write_all(&chunked(messages)).is_err();
    let (mut all, mut waited) = (Vec::new(), 0);
    while waited < answers {
        let Some(answer) = client.try_next() else { return (all, true) };
        waited += usize::from(!matches!(answer, Answer::Record(_)));
        all.push(answer);
    }
    (all, is_cut)
}

/// A client of a server that ended the last one.
struct Bolt {
    address: SocketAddr,
    client: BoltClient,
    renewed: usize,
}

impl Bolt {
    fn ask(&mut self, what: &str, messages: &[Vec<u8>], answers: usize) -> Vec<Answer> {
        let (told, is_gone) = exchange(&mut self.client, messages, answers);
        let failures: Vec<&str> = told
            .iter()
            .filter_map(|answer| match answer {
                Answer::Failure(code, why) => {
                    assert!(code.starts_with("Neo.ClientError.") && is_clear(why), "{what}: {code} {why}");
                    Some(why.as_str())
                }
                _ => None,
            })
            .collect();
        if is_gone {
            assert!(!failures.is_empty(), "{what}: the connection ends without a word");
            self.client = BoltClient::connect(self.address);
            self.renewed += 1;
            return told;
        }
        let (after, _) = exchange(&mut self.client, &[request(RESET, &[]), run("RETURN 7"), pull(-1)], 3);
        if after.is_empty() && !failures.is_empty() {
            // It was told why, and let go.
            self.client = BoltClient::connect(self.address);
            self.renewed += 1;
        } else {
            assert!(after.contains(&Answer::Record(vec![Item::Int(7)])), "{what}: {after:?}");
        }
        told
    }
}

/// The answer to a parameter: what it must be by the limits.
fn check_parameter(shape: &Shape, bytes: &[u8], told: &[Answer]) {
    let has_structure = shape.around().any(|layer| layer == Layer::Within);
    let has_keys = shape.around().any(|layer| layer == Layer::Key);
    let elements = match shape.core {
        Core::List(count) | Core::Lists(count) | Core::Map(count) => count,
        _ => 0,
    };
    // A list or map within adds a level.
    let depth = shape.depth
        + match shape.core {
            Core::Empty | Core::List(_) | Core::Lists(_) | Core::Map(_) | Core::Promise(_) => 1,
            _ => 0,
        }
        + usize::from(matches!(shape.core, Core::Lists(1..)));
    let is_lie = matches!(shape.core, Core::Promise(0 | 2..));
    let may = !has_structure && !has_keys && !is_lie && depth <= DEPTH_MAX;
    let what = format!("{} {:?} {:?}: {:?}", shape.depth, shape.layers, shape.core, first(told));
    match told {
        [Answer::Success(_), Answer::Record(values), Answer::Success(_)] => {
            assert!(may, "{what}");
            let wanted = [&[0xB1, 0x71, 0x91][..], bytes].concat();
            assert!(Answer::parse(&wanted) == Answer::Record(values.clone()), "{what}: not what was sent");
        }
        [Answer::Failure(_, why), ..] => {
            let is_large = elements * 48 > VALUE_BYTES_MAX / 4 || bytes.len() > VALUE_BYTES_MAX / 4;
            assert!(!may || is_large, "{what}");
            assert!(has_structure || has_keys || tells_of_size(why), "{what}");
        }
        _ => panic!("{what}"),
    }
}

fn first(told: &[Answer]) -> String {
    format!("{:?}", told.first()).chars().take(300).collect()
}

#[test]
fn what_bolt_is_sent_is_answered_or_refused() {
    let (_database, server) = bolt();
    let mut bolt =
        Bolt { address: server.address(), client: BoltClient::connect(server.address()), renewed: 0 };
    let mut bystander = BoltClient::connect(server.address());
    let empty = || vec![0xA0];
    let mut asked = 0;
    for shape in shapes() {
        let Some(bytes) = shape.packed() else { continue };
        let what = format!("{} {:?} {:?}", shape.depth, shape.layers, shape.core);
        asked += 1;
        let parameter = message(RUN, &[packed("RETURN $p AS p"), pair("p", &bytes), empty()]);
        let told = bolt.ask(&what, &[parameter, pull(-1)], 2);
        check_parameter(&shape, &bytes, &told);
        // Beside the parameters nothing is of such a form: it is refused, or not looked at.
        let messages = [
            ("a text", message(RUN, &[bytes.clone(), empty(), empty()])),
            ("parameters", message(RUN, &[packed("RETURN 1"), bytes.clone(), empty()])),
            ("metadata", message(RUN, &[packed("RETURN 1"), empty(), pair("tx_metadata", &bytes)])),
            ("a transaction's metadata", message(BEGIN, &[pair("tx_metadata", &bytes)])),
            ("a transaction's bookmarks", message(BEGIN, &[pair("bookmarks", &bytes)])),
            ("a number of rows", message(PULL, &[pair("n", &bytes)])),
            ("a number of rows to drop", message(DISCARD, std::slice::from_ref(&bytes))),
            ("routes", message(ROUTE, &[pair("address", &bytes), bytes.clone(), pair("db", &bytes)])),
            ("a field that is not there", message(ROLLBACK, &[bytes.clone(), bytes.clone()])),
            ("telemetry", message(TELEMETRY, std::slice::from_ref(&bytes))),
            ("an unknown message", message(0x77, std::slice::from_ref(&bytes))),
            ("no message", bytes.clone()),
        ];
        // Of what is as long as a message may be, every place takes its time: some places stand for all.
        let every = if bytes.len() > 100_000 { 5 } else { 1 };
        for (place, message) in messages.into_iter().skip(asked % every).step_by(every) {
            if !message.is_empty() {
                bolt.ask(&format!("{place}: {what}"), &[message], 1);
            }
        }
        if asked % 16 == 0 {
            assert_eq!(bystander.int("RETURN 7"), 7, "{what}");
        }
    }
    assert!(asked > 200 && bolt.renewed > 0, "{asked} shapes, {} connections", bolt.renewed);
    assert_eq!(bystander.int("RETURN 7"), 7);
}

/// Who has not logged on may send less, and no deeper.
#[test]
fn what_bolt_is_sent_by_strangers_is_answered_or_refused() {
    let (_database, server) = bolt();
    let mut asked = 0;
    for shape in shapes() {
        let Some(bytes) = shape.packed().filter(|_| shape.depth % 64 < 2 || shape.depth > 128) else {
            continue;
        };
        let what = format!("{} {:?} {:?}", shape.depth, shape.layers, shape.core);
        asked += 1;
        let hello = message(HELLO, &[pair("user_agent", &bytes)]);
        let (told, _) = exchange(&mut BoltClient::shaken(server.address()), &[hello], 1);
        let clear = |told: &[Answer]| match told.first() {
            Some(Answer::Success(_)) => true,
            Some(Answer::Failure(code, why)) => code.starts_with("Neo.ClientError.") && is_clear(why),
            _ => false,
        };
        assert!(clear(&told), "{what}: {}", first(&told));
        let logon = message(LOGON, &[pair("scheme", &bytes)]);
        let mut client = BoltClient::shaken(server.address());
        client.send(&[request(HELLO, &[none()])]);
        assert!(client.next().is_success());
        let (told, _) = exchange(&mut client, &[logon], 1);
        assert!(clear(&told), "{what}: {}", first(&told));
    }
    assert!(asked > 50);
    assert_eq!(BoltClient::connect(server.address()).int("RETURN 7"), 7);
}

/// A message of exactly as many bytes as it may have, and one of one more.
#[test]
fn the_bytes_of_a_message_have_an_exact_limit() {
    let (_database, server) = bolt();
    let with = |bytes: usize| {
        message(
            RUN,
            &[
                packed("RETURN size($p)"),
                pair("p", &Shape::of(&[], 0, Core::Text(bytes)).packed().unwrap()),
                vec![0xA0],
            ],
        )
    };
    let over = with(1 << 20).len() - (1 << 20);
    let mut client = BoltClient::connect(server.address());
    for (bytes, is_answered) in [(MESSAGE_BYTES_MAX - over, true), (MESSAGE_BYTES_MAX - over + 1, false)] {
        let message = with(bytes);
        assert_eq!(message.len() <= MESSAGE_BYTES_MAX, is_answered);
        let (told, _) = exchange(&mut client, &[message, pull(-1)], if is_answered { 2 } else { 1 });
        match &told[..] {
            [Answer::Success(_), Answer::Record(values), Answer::Success(_)] if is_answered => {
                assert_eq!(values[0], Item::Int(bytes as i64));
            }
            [Answer::Failure(_, why)] if !is_answered => {
                assert!(why.contains("longer than 1048576 bytes"), "{why}");
                assert!(client.try_next().is_none(), "the connection goes on");
            }
            _ => panic!("{bytes} bytes: {}", first(&told)),
        }
    }
}

// ---- Gremlin

/// What a server said: a code, and a reason or the bytes of the objects.
struct Told {
    code: i32,
    why: String,
    bytes: Vec<u8>,
}

fn told_of(answer: tungstenite::Message) -> Told {
    match answer {
        tungstenite::Message::Binary(bytes) => {
            let behind = if bytes[1] == 0 { 18 } else { 2 };
            let code = i32::from_be_bytes(bytes[behind..behind + 4].try_into().unwrap());
            let why = if bytes[behind + 4] == 0 {
                let length = i32::from_be_bytes(bytes[behind + 5..behind + 9].try_into().unwrap()) as usize;
                String::from_utf8_lossy(&bytes[behind + 9..behind + 9 + length]).into_owned()
            } else {
                String::new()
            };
            Told { code, why, bytes: bytes.to_vec() }
        }
        tungstenite::Message::Text(text) => {
            let behind = text.split("\"code\":").nth(1).unwrap();
            let code = behind.split([',', '}']).next().unwrap().parse().unwrap();
            let why = if code < 300 { String::new() } else { text.to_string() };
            Told { code, why, bytes: text.as_bytes().to_vec() }
        }
        other => panic!("{other:?}"),
    }
}

/// A request in GraphBinary.
fn binary_request(operation: &str, processor: &str, arguments: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mime = "application/vnd.graphbinary-v1.0";
    let mut frame = [&[mime.len() as u8][..], mime.as_bytes(), &[0x81], &[7; 16]].concat();
    frame.extend([text(operation), text(processor), counted(arguments.len())].concat());
    for (name, value) in arguments {
        frame.extend([&typed_text(name)[..], value].concat());
    }
    frame
}

fn json_request(operation: &str, processor: &str, arguments: &[(&str, String)]) -> String {
    let arguments: Vec<String> =
        arguments.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
    let id = gremlin::object::uuid_text(9);
    let arguments = arguments.join(",");
    format!(r#"{{"requestId":"{id}","op":"{operation}","processor":"{processor}","args":{{{arguments}}}}}"#)
}

/// The step that takes such an argument.
fn taker(shape: &Shape) -> &'static str {
    match (shape.layers.first().filter(|_| shape.depth > 0), shape.core) {
        (Some(Layer::Step), _) | (None, Core::Steps(_)) => "where",
        (Some(Layer::Not), _) | (None, Core::Joined(_)) => "is",
        _ => "inject",
    }
}

/// Bytecode `g.inject(7).taker(argument)`.
fn binary_bytecode(shape: &Shape, argument: &[u8]) -> Vec<u8> {
    let step = |name: &str, argument: &[u8]| [&text(name)[..], &counted(1), argument].concat();
    let steps = [step("inject", &[1, 0, 0, 0, 0, 7]), step(taker(shape), argument)].concat();
    [&[0x15, 0][..], &counted(2), &steps, &counted(0)].concat()
}

fn json_bytecode(shape: &Shape, argument: &str) -> String {
    let taker = taker(shape);
    format!(r#"{{"@type":"g:Bytecode","@value":{{"step":[["inject",7],["{taker}",{argument}]]}}}}"#)
}

/// Bytecode whose source takes it, as strategies are taken.
fn binary_sources(argument: &[u8]) -> Vec<u8> {
    let source = [&text("withStrategies")[..], &counted(1), argument].concat();
    let step = [&text("inject")[..], &counted(1), &[1, 0, 0, 0, 0, 7]].concat();
    [&[0x15, 0][..], &counted(1), &step, &counted(1), &source].concat()
}

/// All ways in which a shape comes to the Gremlin interface over WebSocket.
fn frames(shape: &Shape) -> Vec<(&'static str, tungstenite::Message, bool)> {
    let script = "g.inject(x)";
    let g = [vec![0x0a, 0], counted(1), typed_text("g"), typed_text("g")].concat();
    let mut all = Vec::new();
    if let Some(bytes) = shape.binary() {
        let bindings = [vec![0x0a, 0], counted(1), typed_text("x"), bytes.clone()].concat();
        let frame = |operation, processor, arguments: &[(&str, Vec<u8>)]| {
            tungstenite::Message::binary(binary_request(operation, processor, arguments))
        };
        let eval = [("gremlin", typed_text(script)), ("bindings", bindings)];
        all.push(("GraphBinary binding", frame("eval", "", &eval), true));
        let traversal = |bytecode: Vec<u8>| {
            frame("bytecode", "traversal", &[("gremlin", bytecode), ("aliases", g.clone())])
        };
        all.push(("GraphBinary argument", traversal(binary_bytecode(shape, &bytes)), true));
        all.push(("GraphBinary source", traversal(binary_sources(&bytes)), false));
        all.push(("GraphBinary bytecode", traversal(bytes.clone()), false));
        all.push(("GraphBinary script", frame("eval", "", &[("gremlin", bytes.clone())]), false));
        all.push(("GraphBinary unknown", frame("dance", "", &[("bindings", bytes)]), false));
    }
    let mut json = |names: [&'static str; 4], value: String| {
        let frame = |operation, processor, arguments: &[(&str, String)]| {
            tungstenite::Message::text(json_request(operation, processor, arguments))
        };
        let script = format!("\"{script}\"");
        let eval = [("gremlin", script), ("bindings", format!("{{\"x\":{value}}}"))];
        all.push((names[0], frame("eval", "", &eval), true));
        let aliases = r#"{"g":"g"}"#.to_string();
        let traversal =
            |bytecode| frame("bytecode", "traversal", &[("gremlin", bytecode), ("aliases", aliases.clone())]);
        all.push((names[1], traversal(json_bytecode(shape, &value)), true));
        all.push((names[2], traversal(value.clone()), false));
        all.push((names[3], frame("eval", "", &[("gremlin", value)]), false));
    };
    if let Some(value) = shape.typed_json() {
        json(["GraphSON binding", "GraphSON argument", "GraphSON bytecode", "GraphSON script"], value);
    }
    if let Some(value) = shape.plain_json() {
        json(["JSON binding", "JSON argument", "JSON bytecode", "JSON script"], value);
    }
    all
}

/// How many brackets of JSON a layer takes.
fn brackets(layer: Layer) -> usize {
    match layer {
        Layer::List | Layer::Set | Layer::Map | Layer::Key | Layer::Id | Layer::Within | Layer::Not => 2,
        Layer::Option => 3,
        Layer::Step => 4,
    }
}

/// Must such a shape be answered, as a value that a script or a traversal takes?
fn must_be_answered(shape: &Shape, place: &str) -> bool {
    let is_value = |layer: &Layer| matches!(layer, Layer::List | Layer::Map);
    let around = shape.layers.iter().map(|layer| brackets(*layer)).max().unwrap_or(0);
    let is_shallow =
        shape.depth <= GREMLIN_DEPTH_MAX - 6 && (place.starts_with("GraphB") || shape.depth * around <= 116);
    let is_narrow = match shape.core {
        Core::Int | Core::Null | Core::Empty => true,
        Core::Text(count) | Core::Blob(count) => count <= 200_000,
        Core::List(count) | Core::Lists(count) => count <= 8_000,
        Core::Map(count) => count <= 4_000,
        _ => false,
    };
    is_shallow && is_narrow && (shape.depth == 0 || shape.layers.iter().all(is_value))
}

#[test]
fn what_gremlin_is_sent_is_answered_or_refused() {
    let (_database, server) = tinker::serve(limits());
    let mut bystander = tinker::Client::connect(server.address());
    let mut client = tinker::Client::connect(server.address());
    let (mut asked, mut answered, mut renewed) = (0, 0, 0);
    for shape in shapes() {
        for (place, frame, takes_values) in frames(&shape) {
            asked += 1;
            let what = format!("{place}: {} {:?} {:?}", shape.depth, shape.layers, shape.core);
            let is_long = frame.len() > MESSAGE_BYTES_MAX;
            let sent = client.socket.send(frame);
            // A message that is too long is not read to its end; one that is not is answered.
            let answer = if sent.is_ok() { client.socket.read().ok() } else { None };
            let answer = answer.filter(|answer| !answer.is_close());
            let Some(answer) = answer else {
                assert!(is_long, "{what}: the connection ends");
                client = tinker::Client::connect(server.address());
                renewed += 1;
                continue;
            };
            assert!(!is_long, "{what}: it is longer than a message may be");
            let told = told_of(answer);
            let reason: String = told.why.chars().take(600).collect();
            if told.code < 300 {
                answered += 1;
                let wanted = shape.binary().filter(|_| place.starts_with("GraphB"));
                if let Some(wanted) = wanted
                    .filter(|_| takes_values && taker(&shape) == "inject" && must_be_answered(&shape, place))
                {
                    // As large as a part of an answer, so it comes back in the bytes of this one.
                    let comes_back =
                        told.bytes.windows(wanted.len().min(4_096)).any(|part| wanted.starts_with(part));
                    assert!(comes_back, "{what}: not what was sent");
                }
                let too_deep = shape.depth > DEPTH_MAX;
                assert!(!too_deep, "{what}: answered");
            } else {
                assert!(is_clear(&reason), "{what}: {} {reason}", told.code);
                assert!(!takes_values || !must_be_answered(&shape, place), "{what}: {} {reason}", told.code);
                let is_plain = takes_values
                    && shape
                        .layers
                        .iter()
                        .all(|layer| matches!(layer, Layer::List | Layer::Map | Layer::Set));
                let is_deep = shape.depth > GREMLIN_DEPTH_MAX;
                if is_deep && is_plain {
                    assert!(tells_of_size(&reason), "{what}: {} {reason}", told.code);
                }
            }
            // The rest of an answer in parts.
            let mut code = told.code;
            while code == 206 {
                code = told_of(client.socket.read().unwrap()).code;
            }
            if asked % 64 == 0 {
                assert_eq!(bystander.int("g.inject(7)"), 7, "{what}");
            }
        }
    }
    assert_eq!(client.int("g.inject(7)"), 7);
    assert!(
        asked > 1_000 && answered > 200 && renewed > 0,
        "{asked} frames, {answered} answered, {renewed} new connections"
    );
}

#[test]
fn what_comes_over_http_is_answered_or_refused() {
    let (_database, server) = tinker::serve(limits());
    let mut asked = 0;
    let json = "Content-Type: application/json\r\n";
    let binary = "Content-Type: application/vnd.graphbinary-v1.0\r\n";
    for shape in shapes() {
        let mut bodies = Vec::new();
        for value in [shape.typed_json(), shape.plain_json()].into_iter().flatten() {
            bodies.push((
                json,
                format!(r#"{{"gremlin":"g.inject(x).count()","bindings":{{"x":{value}}}}}"#).into_bytes(),
            ));
            bodies.push((json, value.into_bytes()));
        }
        if let Some(bytes) = shape.binary() {
            let bindings = [vec![0x0a, 0], counted(1), typed_text("x"), bytes].concat();
            let eval = [("gremlin", typed_text("g.inject(x).count()")), ("bindings", bindings)];
            let request = binary_request("eval", "", &eval);
            // Without the format's name in front.
            bodies.push((binary, request[1 + usize::from(request[0])..].to_vec()));
        }
        for (headers, body) in bodies {
            asked += 1;
            let what = format!("{} {:?} {:?}, {} bytes", shape.depth, shape.layers, shape.core, body.len());
            let answer = posted(server.address(), headers, &body);
            let code = answer.split(' ').nth(1).unwrap_or_default();
            if body.len() > MESSAGE_BYTES_MAX {
                assert!(matches!(code, "413" | ""), "{what}: {answer}");
                continue;
            }
            let is_known = matches!(code, "200" | "400" | "500");
            assert!(is_known && !answer.contains("internal error"), "{what}: {answer}");
            assert!(shape.depth <= DEPTH_MAX || code == "400", "{what}: {answer}");
            let is_clear = code == "200" || !answer.contains("recursion limit");
            assert!(is_clear, "{what}: {answer}");
        }
        // In a query, as far as a head goes.
        let short = shape.plain_json().filter(|value| value.len() < 15_000);
        if let Some(value) = short {
            let query = format!(
                "?gremlin=g.inject(x)&bindings.x={}",
                value
                    .replace('"', "%22")
                    .replace('[', "%5B")
                    .replace(']', "%5D")
                    .replace('{', "%7B")
                    .replace('}', "%7D")
            );
            let answer = tinker::get(server.address(), &query, "");
            let code = answer.split(' ').nth(1).unwrap_or_default();
            assert!(matches!(code, "200" | "400" | "431"), "{query}: {answer}");
            // What was too deep to be read as JSON was taken for a text.
            assert_eq!(code == "200", shape.depth <= GREMLIN_DEPTH_MAX, "{} levels: {answer}", shape.depth);
        }
    }
    assert!(asked > 500, "{asked}");
    assert!(tinker::get(server.address(), "?gremlin=g.inject(7)", "").starts_with("HTTP/1.1 200"));
}

/// Sends a body, which may be more than the server reads.
fn posted(address: SocketAddr, headers: &str, body: &[u8]) -> String {
    let mut socket = tinker::socket(address);
    let length = body.len();
    let head = format!(
        "POST /gremlin HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n"
    );
    let _ = socket.write_all(head.as_bytes()).and_then(|()| socket.write_all(body));
    let mut answer = Vec::new();
    let _ = std::io::Read::read_to_end(&mut socket, &mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}
