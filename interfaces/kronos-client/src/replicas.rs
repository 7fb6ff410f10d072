//! The replicas of the service, which one to ask, and asking another when that one cannot answer.
//!
//! Idea: calls go to one replica as long as it answers. One that does not lead names the leader; one that is silent or away is left for the
//! next in the list. A call is tried again with the same request number, so it is carried out once however often it is sent.
//! Invariant: a call ends within the caller's patience and one more attempt.

use crate::wire::kronos_client::KronosClient;
use crate::{KronosError, Options};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::error::Error as _;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};
use tonic::{Code, Request, Response, Status};

/// Addresses that a client knows: those it was given, and leaders that were named to it.
pub const REPLICAS_MAX: usize = 64;
/// Bytes of one message; the server's limit.
const MESSAGE_BYTES_MAX: usize = 4 << 20;
/// How long a connection may take to open.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// How long a replica may be silent before another is asked; doubled with every try, up to [`ATTEMPT_TIMEOUT_MAX`].
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(1);
/// An attempt takes no longer.
const ATTEMPT_TIMEOUT_MAX: Duration = Duration::from_secs(8);
/// How long a replica that did not answer gets no spread questions.
const AWAY: Duration = Duration::from_secs(1);
/// Pause between two tries without a leader; doubled up to [`PAUSE_MAX`].
const PAUSE: Duration = Duration::from_millis(10);
/// A pause is no longer.
const PAUSE_MAX: Duration = Duration::from_millis(200);
/// A connection that is in use is given up when it was silent for so long.
const SILENCE_MAX: Duration = Duration::from_secs(5);
/// Names the leader, in the metadata of an answer that only it could give.
const LEADER_KEY: &str = "kronos-leader";

pub(crate) type Client = KronosClient<InterceptedService<Channel, Token>>;

/// Shows the token with every call.
#[derive(Clone)]
pub(crate) struct Token(Option<MetadataValue<Ascii>>);

impl Interceptor for Token {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(token) = &self.0 {
            request.metadata_mut().insert("authorization", token.clone());
        }
        Ok(request)
    }
}

pub(crate) struct Replicas {
    known: Mutex<Known>,
    token: Token,
    tls: Option<ClientTlsConfig>,
    patience: Duration,
}

struct Known {
    addresses: Vec<String>,
    /// The one to ask.
    at: usize,
    /// The replica for the next spread question.
    next: usize,
    /// Replicas that did not answer, and until when spread questions pass them over.
    away: HashMap<String, Instant>,
    clients: HashMap<String, Client>,
}

impl Replicas {
    /// Not connected yet.
    pub(crate) fn new(options: &Options) -> Result<Replicas, KronosError> {
        let wrong = |what: String| KronosError::Options(what);
        if options.replicas.is_empty() || options.replicas.len() > REPLICAS_MAX {
            return Err(wrong(format!("name 1 to {REPLICAS_MAX} replicas, each as host:port")));
        }
        let shown = |token: &String| format!("Bearer {token}").parse();
        let mut token = options.token.as_ref().map(shown).transpose().map_err(|_| {
            wrong("the token has characters that cannot be sent: use letters and digits".into())
        })?;
        token.iter_mut().for_each(|token: &mut MetadataValue<Ascii>| token.set_sensitive(true));
        let tls = options.tls_ca.as_ref().map(|pem| {
            let tls = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(pem));
            options.tls_name.iter().fold(tls, |tls, name| tls.domain_name(name))
        });
        let known = Known {
            addresses: options.replicas.clone(),
            at: 0,
            next: 0,
            away: HashMap::new(),
            clients: HashMap::new(),
        };
        let replicas =
            Replicas { known: Mutex::new(known), token: Token(token), tls, patience: options.patience };
        // An address or a certificate that is none is said now.
        options.replicas.iter().try_for_each(|address| replicas.client(address).map(drop))?;
        Ok(replicas)
    }

    fn client(&self, address: &str) -> Result<Client, KronosError> {
        let mut known = self.known.lock();
        if let Some(client) = known.clients.get(address) {
            return Ok(client.clone());
        }
        if !is_address(address) {
            return Err(KronosError::Options(format!("`{address}` is no address; write host:port")));
        }
        let wrong = |error: &dyn std::error::Error| {
            let why = error.source().map(|source| format!(": {source}")).unwrap_or_default();
            KronosError::Options(format!(
                "`{address}` cannot be connected to ({error}{why}); write host:port"
            ))
        };
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let mut endpoint = Endpoint::from_shared(format!("{scheme}://{address}"))
            .map_err(|error| wrong(&error))?
            .connect_timeout(CONNECT_TIMEOUT)
            .tcp_nodelay(true)
            .http2_keep_alive_interval(SILENCE_MAX)
            .keep_alive_timeout(SILENCE_MAX);
        if let Some(tls) = &self.tls {
            endpoint = endpoint.tls_config(tls.clone()).map_err(|error| wrong(&error))?;
        }
        let client = KronosClient::with_interceptor(endpoint.connect_lazy(), self.token.clone())
            .max_decoding_message_size(MESSAGE_BYTES_MAX)
            .max_encoding_message_size(MESSAGE_BYTES_MAX);
        known.clients.insert(address.to_string(), client.clone());
        Ok(client)
    }

    /// The replica to ask, and whether the next one is asked the next time.
    fn to_ask(&self, spread: bool) -> String {
        let mut known = self.known.lock();
        if !spread {
            return known.addresses[known.at].clone();
        }
        let (count, now) = (known.addresses.len(), Instant::now());
        let is_here = |at: &usize| known.away.get(&known.addresses[*at]).is_none_or(|until| *until <= now);
        let following = (1..=count).map(|step| (known.next + step) % count);
        let next = following.clone().find(is_here).unwrap_or((known.next + 1) % count);
        known.next = next;
        known.addresses[next].clone()
    }

    /// Uses another replica from now on, unless another caller has found one meanwhile.
    fn leave(&self, address: &str, leader: Option<&str>) {
        let mut known = self.known.lock();
        if leader.is_none() {
            known.away.insert(address.to_string(), Instant::now() + AWAY);
        }
        if known.addresses[known.at] != address {
            return;
        }
        let named = leader.filter(|leader| *leader != address);
        match named.and_then(|leader| known.addresses.iter().position(|one| one == leader)) {
            Some(at) => known.at = at,
            None => match named {
                Some(leader) if known.addresses.len() < REPLICAS_MAX => {
                    known.addresses.push(leader.to_string());
                    known.at = known.addresses.len() - 1;
                }
                _ => known.at = (known.at + 1) % known.addresses.len(),
            },
        }
    }

    /// Makes a call until a replica has an answer.
    pub(crate) async fn call<T, F>(
        &self,
        spread: bool,
        mut attempt: impl FnMut(Client) -> F,
    ) -> Result<T, KronosError>
    where
        F: Future<Output = Result<Response<T>, Status>>,
    {
        // A patience that no clock can measure never ends.
        let until = Instant::now().checked_add(self.patience);
        let (mut pause, mut attempt_timeout) = (PAUSE, ATTEMPT_TIMEOUT);
        let (mut spread, mut was_told) = (spread, false);
        loop {
            let address = self.to_ask(spread);
            let client = self.client(&address)?;
            let status = match timeout(attempt_timeout, attempt(client)).await {
                Ok(Ok(response)) => return Ok(response.into_inner()),
                Ok(Err(status)) => status,
                Err(_) => Status::unavailable("no answer in time"),
            };
            if !is_passing(&status) {
                return Err(status.into());
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                return Err(KronosError::Unavailable(format!("{address}: {}", status.message())));
            }
            let leader = status.metadata().get(LEADER_KEY).and_then(|value| value.to_str().ok());
            self.leave(&address, leader);
            // The first hint is followed at once; where hints contradict each other there is an election under way.
            if leader.is_none() || was_told {
                sleep(pause).await;
                pause = (pause * 2).min(PAUSE_MAX);
            }
            was_told |= leader.is_some();
            attempt_timeout = (attempt_timeout * 2).min(ATTEMPT_TIMEOUT_MAX);
            spread = false;
        }
    }
}

fn is_address(text: &str) -> bool {
    let is_host = |host: &str| !host.is_empty() && !host.contains(['/', '@', '?', '#', ' ']);
    text.rsplit_once(':').is_some_and(|(host, port)| is_host(host) && port.parse::<u16>().is_ok())
}

/// May another try, or another replica, answer? Refusals of the server are final; errors of the connection are not.
fn is_passing(status: &Status) -> bool {
    status.source().is_some()
        || matches!(status.code(), Code::Unavailable | Code::Cancelled | Code::DeadlineExceeded)
}
