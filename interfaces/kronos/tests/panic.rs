//! A panic in a step of the replica ends the service with its reason, on every thread; acknowledged changes are there after a restart.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use std::time::{Duration, Instant};
use tanglewood_kronos_server::v1::kronos_client::KronosClient;
use tanglewood_kronos_server::v1::*;
use tanglewood_kronos_server::{Options, Running, serve};
use tonic::Status;
use world::failpoint;
use world::files::TemporaryFolder;

async fn create(running: &Running) -> Result<u64, Status> {
    let at = format!("http://{}", running.address());
    let unavailable = |error: tonic::transport::Error| Status::unavailable(error.to_string());
    let mut client = KronosClient::connect(at).await.map_err(unavailable)?;
    let request = CreateEventsRequest { count: 1, caller: None };
    let answered = tokio::time::timeout(Duration::from_secs(60), client.create_events(request)).await;
    Ok(answered.expect("every call is answered")?.into_inner().events[0])
}

async fn until<T>(what: &str, mut done: impl AsyncFnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = done().await {
            return found;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_that_panics_ends_the_service_and_loses_nothing() {
    let folder = TemporaryFolder::new("kronos-panic").unwrap();
    let data = folder.path().join("data");
    let options = Options::new("127.0.0.1:0".parse().unwrap(), data);
    let mut known = 0;
    // At different visits: by a tick of the thread, by a caller.
    for nth in [1, 3, 10] {
        let running = tokio::task::block_in_place(|| serve(&options).unwrap());
        let event = until("it serves", async || create(&running).await.ok()).await;
        assert!(event > known, "{event} was given before");
        known = event;
        failpoint::panic_at("a step of the replica", nth, 1);
        until("it has failed", async || {
            if let Ok(event) = create(&running).await {
                known = event;
            }
            running.has_failed().then_some(())
        })
        .await;
        failpoint::clear();
        // Calls are answered, though not as hoped.
        assert!(create(&running).await.is_err());
        let why = tokio::task::block_in_place(|| running.stop()).unwrap_err().to_string();
        assert!(why.contains("failpoint"), "{why}");
    }
    let running = tokio::task::block_in_place(|| serve(&options).unwrap());
    let event = until("it serves", async || create(&running).await.ok()).await;
    assert!(event > known);
    tokio::task::block_in_place(|| running.stop()).unwrap();
}
