//! TLS, tokens, folders and lists of members that do not fit: authentication, and the errors of refused calls.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use std::net::TcpListener;
use std::time::{Duration, Instant};
use tanglewood_kronos_server::v1::kronos_client::KronosClient;
use tanglewood_kronos_server::v1::*;
use tanglewood_kronos_server::{KronosServerError, Options, Running, Tls, Tokens, serve};
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};
use tonic::{Code, Request, Status};
use world::files::TemporaryFolder;

const CLIENT: &str = "a-token-of-clients-1";
const REPLICA: &str = "a-token-of-replicas-1";

type Show = Box<dyn FnMut(Request<()>) -> Result<Request<()>, Status> + Send>;
type Client = KronosClient<InterceptedService<Channel, Show>>;

fn ports(count: usize) -> Vec<String> {
    let ports: Vec<TcpListener> = (0..count).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    ports.iter().map(|port| port.local_addr().unwrap().to_string()).collect()
}

fn options(folder: &TemporaryFolder, at: usize, peers: &[String]) -> Options {
    let mut options = Options::new(peers[at].parse().unwrap(), folder.path().join(at.to_string()));
    options.peers = if peers.len() > 1 { peers.to_vec() } else { Vec::new() };
    options
}

fn start(options: &Options) -> Running {
    tokio::task::block_in_place(|| serve(options).unwrap())
}

fn refused(options: &Options) -> KronosServerError {
    tokio::task::block_in_place(|| serve(options).map(drop).unwrap_err())
}

async fn end(running: Running) {
    tokio::task::spawn_blocking(|| running.stop().unwrap()).await.unwrap();
}

fn client(address: &str, authority: Option<&str>, token: Option<&'static str>) -> Client {
    let scheme = if authority.is_some() { "https" } else { "http" };
    let mut endpoint = Endpoint::from_shared(format!("{scheme}://{address}")).unwrap();
    if let Some(pem) = authority {
        let tls = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(pem)).domain_name("localhost");
        endpoint = endpoint.tls_config(tls).unwrap();
    }
    let show: Show = Box::new(move |mut request| {
        if let Some(token) = token {
            let value: MetadataValue<Ascii> = format!("Bearer {token}").parse().unwrap();
            request.metadata_mut().insert("authorization", value);
        }
        Ok(request)
    });
    KronosClient::with_interceptor(endpoint.connect_lazy(), show)
}

async fn create(client: &mut Client) -> Result<Vec<u64>, Status> {
    let request = CreateEventsRequest { count: 1, caller: None };
    Ok(client.create_events(request).await?.into_inner().events)
}

/// The outcome once somebody leads.
async fn settled<T>(mut what: impl AsyncFnMut() -> Result<T, Status>) -> Result<T, Status> {
    let started = Instant::now();
    loop {
        match what().await {
            Err(status)
                if status.code() == Code::Unavailable && started.elapsed() < Duration::from_secs(20) =>
            {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            other => return other,
        }
    }
}

/// A certificate that vouches for itself, and its key.
fn certificate() -> (String, String) {
    let names = ["localhost".to_string(), "127.0.0.1".to_string()];
    let made = rcgen::generate_simple_self_signed(names).unwrap();
    (made.cert.pem(), made.signing_key.serialize_pem())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_replicas_with_certificates_and_tokens() {
    let folder = TemporaryFolder::new("kronos-guarded").unwrap();
    let peers = ports(3);
    let (pem, key) = certificate();
    let guarded = |at: usize| {
        let mut options = options(&folder, at, &peers);
        options.tls = Some(Tls::from_pem(pem.as_bytes(), key.as_bytes(), pem.as_bytes()));
        options.tokens = Some(Tokens::from_text(&format!("{CLIENT}\nanother-one-that-is-good\n")).unwrap());
        options.peer_tokens = Some(Tokens::from_text(REPLICA).unwrap());
        options
    };
    let servers: Vec<Running> = (0..3).map(|at| start(&guarded(at))).collect();
    // Somebody leads, so messages between replicas pass.
    let mut leader = None;
    let started = Instant::now();
    while leader.is_none() {
        assert!(started.elapsed() < Duration::from_secs(20));
        for peer in &peers {
            if create(&mut client(peer, Some(&pem), Some(CLIENT))).await.is_ok() {
                leader = Some(peer.clone());
            }
        }
    }
    let leader = leader.unwrap();
    for token in [None, Some("a-token-of-nobody-at-all"), Some("")] {
        let status = create(&mut client(&leader, Some(&pem), token)).await.unwrap_err();
        assert_eq!(status.code(), Code::Unauthenticated, "{token:?}: {status}");
        let status = client(&leader, Some(&pem), token).stats(StatsRequest {}).await.unwrap_err();
        assert_eq!(status.code(), Code::Unauthenticated);
    }
    assert!(create(&mut client(&leader, Some(&pem), Some("another-one-that-is-good"))).await.is_ok());
    // Whoever orders events does not change the members.
    let change = || ChangeMembersRequest { address: "127.0.0.1:1".into(), remove: true };
    let status = client(&leader, Some(&pem), Some(CLIENT)).change_members(change()).await.unwrap_err();
    assert_eq!(status.code(), Code::PermissionDenied);
    client(&leader, Some(&pem), Some(REPLICA)).change_members(change()).await.unwrap();
    // Without TLS, or with another authority, there is no connection.
    assert!(create(&mut client(&leader, None, Some(CLIENT))).await.is_err());
    let (stranger, _) = certificate();
    assert!(create(&mut client(&leader, Some(&stranger), Some(CLIENT))).await.is_err());
    for server in servers {
        assert_eq!(server.notes_from(0), Vec::<String>::new());
        end(server).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stranger_does_not_speak_for_a_replica() {
    let folder = TemporaryFolder::new("kronos-stranger").unwrap();
    let peers = ports(2);
    let mut first = options(&folder, 0, &peers);
    first.peer_tokens = Some(Tokens::from_text(REPLICA).unwrap());
    let mut second = options(&folder, 1, &peers);
    second.peer_tokens = Some(Tokens::from_text("another-token-of-replicas").unwrap());
    let servers = [start(&first), start(&second)];
    let note = noted(&servers[1]).await;
    assert!(note.contains(&peers[0]) && note.contains("token"), "{note}");
    let status = create(&mut client(&peers[0], None, None)).await.unwrap_err();
    assert_eq!(status.code(), Code::Unavailable, "nobody leads: {status}");
    for server in servers {
        end(server).await;
    }
}

async fn noted(server: &Running) -> String {
    let started = Instant::now();
    loop {
        if let Some(note) = server.notes_from(0).pop() {
            return note;
        }
        assert!(started.elapsed() < Duration::from_secs(20), "nothing is said");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// One replica was started with another list of members: the others go on without it, and it says why it cannot.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_of_members_that_lies_is_refused() {
    let folder = TemporaryFolder::new("kronos-liar").unwrap();
    let peers = ports(4);
    let (group, liar) = (&peers[..3], 2);
    let mut honest: Vec<Running> = (0..2).map(|at| start(&options(&folder, at, group))).collect();
    let mut lie = options(&folder, liar, group);
    lie.peers = vec![peers[2].clone(), peers[3].clone(), peers[0].clone()];
    let lying = start(&lie);
    let note = noted(&lying).await;
    assert!(note.contains("--peers") || note.contains("another group"), "{note}");
    let made = settled(async || {
        for peer in &peers[..2] {
            if let Ok(events) = create(&mut client(peer, None, None)).await {
                return Ok(events);
            }
        }
        Err(Status::unavailable("nobody leads"))
    });
    assert_eq!(made.await.unwrap().len(), 1);
    let status = create(&mut client(&peers[2], None, None)).await.unwrap_err();
    assert_eq!(status.code(), Code::Unavailable);
    end(lying).await;
    for server in honest.drain(..) {
        end(server).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_does_not_fit_together_is_refused_at_the_start() {
    let folder = TemporaryFolder::new("kronos-options").unwrap();
    let peers = ports(3);
    let plain = options(&folder, 0, &peers);
    let tokens = || Some(Tokens::from_text(CLIENT).unwrap());
    let outside = Options::new("0.0.0.0:0".parse().unwrap(), folder.path().join("outside"));
    assert!(matches!(refused(&outside), KronosServerError::Exposed(_)));
    let half = Options { tokens: tokens(), ..outside.clone() };
    assert!(
        matches!(refused(&half), KronosServerError::Exposed(_)),
        "tokens cross the network in clear text"
    );
    end(start(&Options { insecure: true, ..outside.clone() })).await;
    let (pem, key) = certificate();
    let tls = Some(Tls::from_pem(pem.as_bytes(), key.as_bytes(), pem.as_bytes()));
    end(start(&Options { tls: tls.clone(), tokens: tokens(), ..outside })).await;

    let with = |peers: Vec<String>| Options { peers, ..plain.clone() };
    let own = peers[0].clone();
    for lists in [
        vec![peers[1].clone()],
        vec![own.clone(), peers[1].clone(), peers[1].clone()],
        vec![own.clone(), "no address".into()],
        vec![own.clone(), String::new()],
        (0..16).map(|port| if port == 0 { own.clone() } else { format!("127.0.0.1:{port}") }).collect(),
    ] {
        assert!(matches!(refused(&with(lists.clone())), KronosServerError::Options(_)), "{lists:?}");
    }
    let no_peer_tokens = Options { tokens: tokens(), ..plain.clone() };
    assert!(matches!(refused(&no_peer_tokens), KronosServerError::Options(_)));
    let (_, other_key) = certificate();
    for (pem, key) in [(pem.as_str(), other_key.as_str()), ("no pem", &key), (&pem, "no key")] {
        let tls = Some(Tls::from_pem(pem.as_bytes(), key.as_bytes(), pem.as_bytes()));
        let error = refused(&Options { tls, ..plain.clone() });
        assert!(matches!(error, KronosServerError::Tls(_)), "{error}");
    }

    // Folders: one process, one replica.
    let running = start(&plain);
    let other_port = Options { data: plain.data.clone(), ..options(&folder, 1, &peers) };
    assert!(matches!(refused(&other_port), KronosServerError::Folder(_)), "in use");
    let taken = Options { data: folder.path().join("taken"), ..plain.clone() };
    assert!(matches!(refused(&taken), KronosServerError::Listen(_)));
    end(running).await;
    let error = refused(&other_port);
    assert!(error.to_string().contains("belongs to the replica"), "{error}");
    end(start(&plain)).await;
}
