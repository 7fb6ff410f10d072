//! Proxies before each process of a cluster: messages to it can be blocked or delayed.

use parking_lot::Mutex;
use serde_json::{Value as Json, json};
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// How often blocked messages are checked again.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// A delay that is none: nothing goes through.
const CUT: u64 = u64::MAX;

/// The way to one process.
pub struct Link {
    /// Whose.
    pub name: String,
    /// Milliseconds that each piece comes late.
    delay_ms: AtomicU64,
}

impl Link {
    /// Blocks the proxy; messages wait.
    pub fn cut(&self) {
        self.delay_ms.store(CUT, Ordering::Relaxed);
    }
    /// All comes through, so late.
    pub fn slow(&self, delay: Duration) {
        self.delay_ms.store(delay.as_millis() as u64, Ordering::Relaxed);
    }
}

/// The ways to all processes.
pub struct Links {
    pub all: Vec<Arc<Link>>,
    stop: Arc<AtomicBool>,
    threads: Mutex<Vec<std::thread::JoinHandle<()>>>,
}

fn free() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

impl Links {
    /// Makes the layout of a cluster in its folder, whose processes reach each other through proxies. Each role has its own process, or so many share the
    /// roles.
    pub fn before(
        folder: &Path,
        (gates, shards, oracles): (usize, usize, usize),
        processes: Option<usize>,
    ) -> Links {
        std::fs::create_dir_all(folder).unwrap();
        let mut links = Links { all: Vec::new(), stop: Arc::default(), threads: Mutex::default() };
        let mut binds = serde_json::Map::new();
        let mut between = |name: String| {
            let (listen, bind) = (free(), free());
            binds.insert(listen.clone(), Json::from(bind.clone()));
            links.start(name, &listen, bind);
            listen
        };
        let shared: Vec<String> =
            (0..processes.unwrap_or(0)).map(|at| between(format!("process {at}"))).collect();
        let mut each = |role: &str, count: usize| -> Vec<Json> {
            let listen = |number: usize| match shared.get(number % shared.len().max(1)) {
                Some(listen) => listen.clone(),
                None => between(format!("{role} {number}")),
            };
            (0..count).map(listen).map(|listen| json!({ "listen": listen })).collect()
        };
        let (mut gates, shards, oracles) =
            (each("gate", gates), each("shard", shards), each("oracle", oracles));
        for gate in &mut gates {
            for interface in ["bolt", "gremlin", "http"] {
                gate[interface] = free().into();
            }
        }
        let (scribe, keeper) = (each("scribe", 1).remove(0), each("keeper", 1).remove(0));
        let layout = json!({
            "gates": gates,
            "shards": shards,
            "oracles": oracles,
            "scribe": scribe["listen"],
            "keeper": keeper["listen"],
            "secret": "told to nobody else",
            "truth": null,
            "binds": binds,
        });
        std::fs::write(folder.join("cluster.json"), layout.to_string()).unwrap();
        links
    }

    fn start(&mut self, name: String, listen: &str, to: String) {
        let listener = bound(listen);
        listener.set_nonblocking(true).unwrap();
        let link = Arc::new(Link { name, delay_ms: AtomicU64::new(0) });
        self.all.push(link.clone());
        let stop = self.stop.clone();
        let accept = move || {
            let mut pumps = Vec::new();
            while !stop.load(Ordering::Relaxed) {
                match listener.accept() {
                    Ok((one, _)) => pumps.extend(join(one, &to, &link, &stop)),
                    Err(error) if error.kind() == ErrorKind::WouldBlock => std::thread::sleep(LOOK_EVERY),
                    Err(error) => panic!("{error}"),
                }
            }
            pumps.into_iter().for_each(|pump| pump.join().unwrap());
        };
        self.threads.lock().push(std::thread::spawn(accept));
    }
}

impl Drop for Links {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.threads.lock().drain(..).for_each(|thread| drop(thread.join()));
    }
}

/// Two threads that carry bytes between a caller and the process, as long as both are there. `None` if the process does not listen.
fn join(
    caller: TcpStream,
    to: &str,
    link: &Arc<Link>,
    stop: &Arc<AtomicBool>,
) -> Vec<std::thread::JoinHandle<()>> {
    let Ok(callee) = TcpStream::connect(to) else { return Vec::new() };
    for socket in [&caller, &callee] {
        socket.set_nonblocking(false).unwrap();
        socket.set_nodelay(true).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    }
    let (caller, callee) = (Arc::new(caller), Arc::new(callee));
    let pump = |from: &Arc<TcpStream>, to: &Arc<TcpStream>| {
        let (from, to, link, stop) = (from.clone(), to.clone(), link.clone(), stop.clone());
        std::thread::spawn(move || carry(&from, &to, &link, &stop))
    };
    vec![pump(&caller, &callee), pump(&callee, &caller)]
}

fn carry(mut from: &TcpStream, mut to: &TcpStream, link: &Link, stop: &AtomicBool) {
    let mut bytes = [0; 64 << 10];
    while !stop.load(Ordering::Relaxed) {
        let count = match from.read(&mut bytes) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => continue,
            Err(_) => break,
        };
        while link.delay_ms.load(Ordering::Relaxed) == CUT && !stop.load(Ordering::Relaxed) {
            std::thread::sleep(LOOK_EVERY);
        }
        let delay_ms = link.delay_ms.load(Ordering::Relaxed);
        if delay_ms != CUT {
            std::thread::sleep(Duration::from_millis(delay_ms));
        }
        if to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    for socket in [from, to] {
        let _ = socket.shutdown(std::net::Shutdown::Both);
    }
}

/// Binds a free port; another connection's own end may hold it for a moment.
fn bound(address: &str) -> TcpListener {
    for _ in 0..BIND_TRIES {
        match TcpListener::bind(address) {
            Err(error) if error.kind() == ErrorKind::AddrInUse => std::thread::sleep(BIND_PAUSE),
            bound => return bound.unwrap(),
        }
    }
    TcpListener::bind(address).unwrap()
}

const BIND_TRIES: u32 = 50;
const BIND_PAUSE: Duration = Duration::from_millis(100);
