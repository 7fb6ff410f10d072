//! The service over real sockets: one replica through a restart, three through the loss of their leader, members that come and go.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use std::net::TcpListener;
use std::time::{Duration, Instant};
use tanglewood_kronos_server::v1::kronos_client::KronosClient;
use tanglewood_kronos_server::v1::*;
use tanglewood_kronos_server::{Options, Running, serve};
use tonic::transport::Channel;
use tonic::{Code, Status};
use world::files::TemporaryFolder;

/// The types of the wire are kept beside the code, so that a program that is built needs no compiler of proto files, which is 23 crates more. They are what that
/// compiler makes; `TANGLEWOOD_BLESS=1` writes them anew.
#[test]
fn the_types_of_the_wire_are_those_of_the_proto_files() {
    let rooms = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (file, folder, package, room, has_server) in [
        ("kronos.proto", "docs/formats", "kronos.v1", "interfaces/kronos", true),
        ("peers.proto", "interfaces/kronos/src", "kronos.peers.v1", "interfaces/kronos", true),
        ("kronos.proto", "docs/formats", "kronos.v1", "interfaces/kronos-client", false),
        ("locks.proto", "examples/kronos", "kronos.examples.locks", "examples/kronos", true),
    ] {
        let made = TemporaryFolder::new("kronos-types").unwrap();
        let files = protox::compile([file], [rooms.join(folder)]).unwrap();
        let compiler = tonic_prost_build::configure().build_server(has_server).out_dir(made.path());
        compiler.compile_fds(files).unwrap();
        let made = std::fs::read_to_string(made.path().join(format!("{package}.rs"))).unwrap();
        let kept = rooms.join(room).join(format!("src/made/{package}.rs.in"));
        if std::env::var("TANGLEWOOD_BLESS").is_ok() {
            std::fs::write(&kept, &made).unwrap();
        }
        let is_same = std::fs::read_to_string(&kept).is_ok_and(|kept| kept == made);
        assert!(is_same, "{} is not what {file} says; TANGLEWOOD_BLESS=1 writes it anew", kept.display());
    }
}

type Client = KronosClient<Channel>;

async fn connect(address: &str) -> Client {
    Client::connect(format!("http://{address}")).await.unwrap()
}

fn constraint(first: u64, order: Order, second: u64, strength: Strength) -> Constraint {
    Constraint { first, order: order.into(), second, strength: strength.into() }
}

async fn create(client: &mut Client, count: u32) -> Result<Vec<u64>, Status> {
    let request = CreateEventsRequest { count, caller: None };
    Ok(client.create_events(request).await?.into_inner().events)
}

async fn assign(client: &mut Client, constraints: Vec<Constraint>) -> Result<Vec<Assigned>, Status> {
    let request = AssignOrderRequest { constraints, caller: None };
    Ok(client.assign_order(request).await?.into_inner().assigned)
}

async fn query(client: &mut Client, first: u64, second: u64) -> Result<Order, Status> {
    let request = QueryOrderRequest { pairs: vec![Pair { first, second }] };
    Ok(client.query_order(request).await?.into_inner().orders().next().unwrap())
}

/// A single replica leads within a moment; until then calls say that none does.
async fn eventually<T>(what: impl AsyncFn() -> Result<T, Status>) -> T {
    let started = Instant::now();
    loop {
        match what().await {
            Err(status) if status.code() == Code::Unavailable => {
                assert!(started.elapsed() < Duration::from_secs(20), "{status}");
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            other => return other.unwrap(),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_replica_through_a_restart() {
    let folder = TemporaryFolder::new("kronos-one").unwrap();
    let data = folder.path().join("data");
    let any = "127.0.0.1:0".parse().unwrap();
    let options = Options { metrics: Some(any), ..Options::new(any, data.clone()) };
    let running = tokio::task::block_in_place(|| serve(&options).unwrap());
    let mut client = connect(&running.address().to_string()).await;
    let e = eventually(async || create(&mut client.clone(), 3).await).await;
    assert_eq!(query(&mut client, e[0], e[1]).await.unwrap(), Order::Concurrent);
    let batch = vec![
        constraint(e[1], Order::Before, e[0], Strength::Prefer),
        constraint(e[0], Order::Before, e[1], Strength::Must),
    ];
    let assigned = assign(&mut client, batch).await.unwrap();
    assert_eq!(
        assigned.iter().map(|one| (one.order(), one.decided)).collect::<Vec<_>>(),
        [(Order::After, false), (Order::Before, true)]
    );
    // Codes.
    let must = |a: u64, b: u64| vec![constraint(a, Order::Before, b, Strength::Must)];
    let code = |outcome: Result<Vec<Assigned>, Status>| outcome.unwrap_err().code();
    assert_eq!(code(assign(&mut client, must(e[1], e[0])).await), Code::FailedPrecondition);
    assert_eq!(code(assign(&mut client, must(e[1], e[1])).await), Code::InvalidArgument);
    assert_eq!(code(assign(&mut client, must(e[1], 17)).await), Code::NotFound);
    let none = vec![constraint(e[0], Order::Concurrent, e[2], Strength::Must)];
    assert_eq!(code(assign(&mut client, none).await), Code::InvalidArgument);
    assert_eq!(query(&mut client, e[0], 17).await.unwrap_err().code(), Code::NotFound);
    assert_eq!(create(&mut client, 1 << 17).await.unwrap_err().code(), Code::InvalidArgument);
    let stale = KeepAliveRequest { session: 99 };
    assert_eq!(client.keep_alive(stale).await.unwrap_err().code(), Code::NotFound);
    // A session, and a retry.
    let opened = client.open_session(OpenSessionRequest { lease_ms: 60_000 }).await.unwrap().into_inner();
    let request =
        CreateEventsRequest { count: 2, caller: Some(Caller { session: opened.session, request: 1 }) };
    let first = client.create_events(request).await.unwrap().into_inner();
    drop(client);
    end(running).await;

    let running = tokio::task::block_in_place(|| serve(&options).unwrap());
    let mut client = connect(&running.address().to_string()).await;
    let again = eventually(async || client.clone().create_events(request).await).await.into_inner();
    assert_eq!(again, first, "a retry is answered as before, also after a restart");
    assert_eq!(query(&mut client, e[0], e[1]).await.unwrap(), Order::Before);
    client.close_session(CloseSessionRequest { session: opened.session }).await.unwrap();
    let release = ReleaseRefsRequest { events: vec![e[0]], caller: None };
    assert_eq!(client.release_refs(release).await.unwrap().into_inner().collected, 1);
    let stats = client.stats(StatsRequest {}).await.unwrap().into_inner();
    assert_eq!((stats.events, stats.edges, stats.sessions, stats.leads), (2, 0, 0, true));
    assert_eq!((stats.questions, stats.confirmed, stats.lag, stats.slowest_lag), (1, 0, 0, 0));
    let metrics = running.metrics_address().unwrap();
    let text = tokio::task::block_in_place(|| get(metrics, "GET /metrics HTTP/1.1\r\n\r\n"));
    assert!(text.starts_with("HTTP/1.1 200 OK\r\n") && text.contains("\nkronos_events 2\n"), "{text}");
    assert!(text.contains("\nkronos_leads 1\n") && text.contains("\nkronos_questions_total 1\n"), "{text}");
    for (request, status) in
        [("GET / HTTP/1.1\r\n\r\n", "404"), ("POST /metrics HTTP/1.1\r\n\r\n", "405"), ("\r\n\r\n", "405")]
    {
        let text = tokio::task::block_in_place(|| get(metrics, request));
        assert!(text.starts_with(&format!("HTTP/1.1 {status}")), "{text}");
    }
    end(running).await;
}

fn get(address: std::net::SocketAddr, request: &str) -> String {
    use std::io::{Read, Write};
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

/// Stops a server outside the runtime that asks it.
async fn end(running: Running) {
    tokio::task::spawn_blocking(|| running.stop().unwrap()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_replicas_outlive_their_leader() {
    let folder = TemporaryFolder::new("kronos-three").unwrap();
    let ports: Vec<TcpListener> = (0..3).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    let peers: Vec<String> = ports.iter().map(|port| port.local_addr().unwrap().to_string()).collect();
    drop(ports);
    let start = |at: usize| {
        let mut options = Options::new(peers[at].parse().unwrap(), folder.path().join(at.to_string()));
        options.peers = peers.clone();
        tokio::task::block_in_place(|| serve(&options).unwrap())
    };
    let mut servers: Vec<Option<Running>> = (0..3).map(|at| Some(start(at))).collect();
    let leader = async |peers: &[String]| {
        eventually(async || {
            for (at, peer) in peers.iter().enumerate() {
                let Ok(mut client) = Client::connect(format!("http://{peer}")).await else { continue };
                if create(&mut client, 1).await.is_ok() {
                    return Ok(at);
                }
            }
            Err(Status::unavailable("nobody leads"))
        })
        .await
    };
    let first = leader(&peers).await;
    let mut client = connect(&peers[first]).await;
    let e = create(&mut client, 2).await.unwrap();
    assign(&mut client, vec![constraint(e[0], Order::Before, e[1], Strength::Must)]).await.unwrap();
    // A replica that does not lead answers orders, and after asking the leader what is concurrent; it names the leader.
    let follower = (first + 1) % 3;
    let mut other = connect(&peers[follower]).await;
    let answer = eventually(async || query(&mut other.clone(), e[0], e[1]).await).await;
    assert_eq!(answer, Order::Before);
    let refused = create(&mut other, 1).await.unwrap_err();
    assert_eq!(refused.code(), Code::Unavailable);
    assert_eq!(refused.metadata().get("kronos-leader").unwrap().to_str().unwrap(), peers[first]);

    end(servers[first].take().unwrap()).await;
    let second = leader(&peers).await;
    assert_ne!(second, first);
    let mut client = connect(&peers[second]).await;
    assert_eq!(query(&mut client, e[1], e[0]).await.unwrap(), Order::After);
    servers[first] = Some(start(first));
    let back = connect(&peers[first]).await;
    let answer = eventually(async || {
        query(&mut back.clone(), e[0], e[1]).await.map_err(|_| Status::unavailable("not yet"))
    });
    assert_eq!(answer.await, Order::Before);
    for server in servers.into_iter().flatten() {
        end(server).await;
    }
}

/// A replica that joined was sent messages and knew nobody to answer: it never got the state.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_joins_and_the_first_one_goes() {
    let folder = TemporaryFolder::new("kronos-join").unwrap();
    let ports: Vec<TcpListener> = (0..2).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    let addresses: Vec<String> = ports.iter().map(|port| port.local_addr().unwrap().to_string()).collect();
    drop(ports);
    let start = |at: usize, join: bool| {
        let data = folder.path().join(at.to_string());
        let options = Options { join, ..Options::new(addresses[at].parse().unwrap(), data) };
        tokio::task::block_in_place(|| serve(&options).unwrap())
    };
    let first = start(0, false);
    let mut client = connect(&addresses[0]).await;
    let e = eventually(async || create(&mut client.clone(), 2).await).await;
    assign(&mut client, vec![constraint(e[0], Order::Before, e[1], Strength::Must)]).await.unwrap();
    let second = start(1, true);
    let change = |at: usize, remove| ChangeMembersRequest { address: addresses[at].clone(), remove };
    client.change_members(change(1, false)).await.unwrap();
    let joined = connect(&addresses[1]).await;
    let answer = eventually(async || {
        query(&mut joined.clone(), e[1], e[0]).await.map_err(|_| Status::unavailable("not yet"))
    });
    assert_eq!(answer.await, Order::After);
    // Only one with a vote can take over; the one that leads hands over before it goes.
    eventually(async || {
        for client in [client.clone(), joined.clone()] {
            let mut client = client;
            if client.change_members(change(0, true)).await.is_ok() {
                return Ok(());
            }
        }
        Err(Status::unavailable("not yet"))
    })
    .await;
    end(first).await;
    let made = eventually(async || create(&mut joined.clone(), 1).await).await;
    assert_eq!(query(&mut joined.clone(), e[0], made[0]).await.unwrap(), Order::Concurrent);
    let stats = joined.clone().stats(StatsRequest {}).await.unwrap().into_inner();
    assert_eq!((stats.members, stats.events), (vec![addresses[1].clone()], 3));
    end(second).await;
}
