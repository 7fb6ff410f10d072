//! One connection: authentication, routing, and the answer to each request.

use super::body::{self, Received};
use super::events::{self, Subscribe};
use super::interface::Interface;
use super::origin;
use super::outlet::{Answer, Attention, Outgoing, Outlet, refused, whole};
use super::presence::Presence;
use super::query::{self, Ending, Format, QueryRequest, form_of_body};
use super::refusal::Refusal;
use super::route::Route;
use super::tokens::{Digest, digest_of};
use super::transactions::{Open, TransactionTerms, missing};
use crate::bolt::bookmark;
use crate::gremlin::message;
use crate::listener::crowd::{Crowd, Origin, Share, ValueAccount};
use crate::site;
use database::{Credential, Interrupter, Mode, NamedFigures, Session};
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, HeaderMap, HeaderValue, TRANSFER_ENCODING, WWW_AUTHENTICATE};
use hyper::{Method, Request, StatusCode, Version, header};
use model::{Map, Value};
use parking_lot::Mutex;
use serde_json::Value as Json;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use world::panics::caught;

/// Pause between two looks whether a bookmark's commit is there.
const BOOKMARK_PAUSE: Duration = Duration::from_millis(1);

/// A connection and its authenticated clients.
pub(super) struct Visitor {
    pub interface: Arc<Interface>,
    pub peer: SocketAddr,
    pub origin: Origin,
    pub number: u64,
    pub known: Mutex<Known>,
    /// Given back when nothing runs for the connection any more.
    pub place: Arc<Share<Origin>>,
    /// The state of the connection.
    pub presence: Arc<Presence>,
}

/// The last authenticated client.
pub(super) struct Known {
    /// Held until a client has authenticated.
    pub stranger: Option<Share<Origin>>,
    /// The hash of the last `Authorization` header, and its credential.
    credential: Option<(Digest, Credential)>,
    /// A place among the connections of the user.
    user_place: Option<(String, Share<String>)>,
}

impl Known {
    /// Not authenticated yet.
    pub fn nobody(stranger: Share<Origin>) -> Known {
        Known { stranger: Some(stranger), credential: None, user_place: None }
    }
}

impl Visitor {
    /// Has the client authenticated?
    pub fn is_known(&self) -> bool {
        self.known.lock().stranger.is_none()
    }
    /// Answers one request.
    pub async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Answer {
        let is_chunked = request.headers().contains_key(TRANSFER_ENCODING);
        let is_head = request.method() == Method::HEAD;
        let mut answer = self.respond(request).await.unwrap_or_else(|refusal| denied(&refusal));
        if is_head {
            *answer.body_mut() = Outgoing::Whole(None);
        }
        let headers = answer.headers_mut();
        for (name, value) in [
            (header::CACHE_CONTROL, "no-store"),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (header::REFERRER_POLICY, "no-referrer"),
            (header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
        ] {
            headers.entry(name).or_insert(HeaderValue::from_static(value));
        }
        if is_chunked {
            // Where a length stood beside the chunks, whoever is between may see other requests behind this one (RFC 9112, 6.1).
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        answer
    }

    async fn respond(self: Arc<Self>, request: Request<Incoming>) -> Result<Answer, Refusal> {
        let (head, body) = request.into_parts();
        let target = site::RequestTarget {
            authority: head.uri.authority().map(|authority| authority.as_str()),
            needs_host: head.version >= Version::HTTP_11,
        };
        site::check_name(&head.headers, target, self.interface.gate.asks())?;
        let path = head.uri.path();
        if head.method == Method::OPTIONS {
            return self.preflight(&head.headers);
        }
        let route = Route::of(&head.method, path)?;
        if route.is_public() {
            return Ok(self.interface.public(&route, &head.headers));
        }
        let site = origin::check(&head.headers, &self.interface.cors)?;
        let is_stranger = self.interface.gate.asks() && !head.headers.contains_key(AUTHORIZATION);
        if route == Route::Metrics && is_stranger && self.interface.metrics_for_everyone {
            return Ok(self.interface.metrics(NamedFigures::default()));
        }
        let mut answer = self.serve(route, &head, body).await.unwrap_or_else(|refusal| denied(&refusal));
        if let Some(site) = site {
            origin::permit(answer.headers_mut(), site);
        }
        Ok(answer)
    }

    fn preflight(&self, headers: &HeaderMap) -> Result<Answer, Refusal> {
        let site = origin::check(headers, &self.interface.cors)?;
        let mut answer = whole(StatusCode::NO_CONTENT, "text/plain", Vec::new());
        if let Some(site) = site {
            origin::permit(answer.headers_mut(), site);
            origin::permit_methods(answer.headers_mut());
        }
        Ok(answer)
    }

    /// Answers an authenticated client; the body is read only then.
    async fn serve(
        self: Arc<Self>,
        route: Route,
        head: &hyper::http::request::Parts,
        body: Incoming,
    ) -> Result<Answer, Refusal> {
        let user = self.clone().known(&head.headers).await?;
        let (mut asked, room) = match route.takes_json() {
            true => self.asked(&head.headers, body).await?,
            false => (QueryRequest::default(), None),
        };
        let parent = head.headers.get("traceparent").and_then(|value| value.to_str().ok());
        asked.trace_parent = parent.map(str::to_string);
        let format = Format::accepted(&head.headers);
        let name = user.as_ref().map(|user| user.name().to_string());
        match route {
            Route::Query => self.query(user, asked, room, format?).await,
            Route::Begin => self.begin(user, asked, room, format?).await,
            Route::RunIn(id) => self.run_in(name, id, asked, room, format?, false).await,
            Route::Commit(id) => self.run_in(name, id, asked, room, format?, true).await,
            Route::Rollback(id) => self.roll_back(name, id).await,
            Route::Subscribe(name) => {
                let query = head.uri.query().unwrap_or_default();
                let asked = Subscribe::of(name, query, &head.headers)?;
                let mut session = self.session(user);
                let keep_alive = self.interface.limits.keep_alive;
                let interrupter = session.interrupter();
                self.ask(interrupter, move |out| {
                    events::send(&mut session, &asked, keep_alive, out).map_err(|error| Some(error.into()))
                })
                .await
            }
            Route::GiveToken => self.give_token(user),
            Route::TakeToken => self.take_token(&head.headers),
            Route::Metrics => {
                let named = self.session(user).named_figures()?;
                Ok(self.interface.metrics(named))
            }
            _ => Ok(self.interface.public(&route, &head.headers)),
        }
    }

    /// The client's credential, if the gate demands one; also takes a place among the user's connections.
    async fn known(self: Arc<Self>, headers: &HeaderMap) -> Result<Option<Credential>, Refusal> {
        if !self.interface.gate.asks_now() {
            self.known.lock().stranger = None;
            return Ok(None);
        }
        let authorization = headers.get(AUTHORIZATION).map_or(&b""[..], HeaderValue::as_bytes).to_vec();
        let digest = digest_of(&authorization);
        let remembered = self.known.lock().credential.clone();
        let credential = match remembered {
            Some((other, credential)) if other == digest && credential.is_current() => credential,
            _ => {
                let visitor = self.clone();
                let admitted =
                    self.interface.runtime.spawn_blocking(move || visitor.admit(&authorization)).await;
                let admitted = admitted.map_err(|_| Refusal::busy("the server ends"))?;
                admitted?
            }
        };
        let mut known = self.known.lock();
        if known.user_place.as_ref().is_none_or(|(name, _)| name != credential.name()) {
            let place = self.interface.crowd.user(credential.name()).map_err(Refusal::busy)?;
            known.user_place = Some((credential.name().to_string(), place));
        }
        known.stranger = None;
        known.credential = Some((digest, credential.clone()));
        Ok(Some(credential))
    }

    /// Authenticates at the gate, or by a token, from the value of `Authorization`.
    fn admit(&self, authorization: &[u8]) -> Result<Credential, Refusal> {
        let unauthorized = |message: &str| {
            let error = database::Error::new("Neo.ClientError.Security.Unauthorized", message);
            Refusal::from(error)
        };
        let text = std::str::from_utf8(authorization).unwrap_or_default();
        let (scheme, secret) = text.split_once(' ').unwrap_or((text, ""));
        if scheme.eq_ignore_ascii_case("bearer") {
            let token: Map = [("scheme", "bearer"), ("credentials", secret.trim())]
                .into_iter()
                .map(|(key, text)| (key.into(), Value::from(text)))
                .collect();
            let user = self.interface.gate.admit(&token, self.peer.ip())?;
            return user.ok_or_else(|| unauthorized("this server knows no users"));
        }
        let decoded = data_encoding::BASE64.decode(secret.trim().as_bytes()).ok();
        let decoded = decoded.and_then(|bytes| String::from_utf8(bytes).ok());
        let pair = decoded.as_deref().and_then(|text| text.split_once(':'));
        let Some((name, password)) = pair.filter(|_| scheme.eq_ignore_ascii_case("basic")) else {
            return Err(unauthorized("this server asks for a name and a password, or a token"));
        };
        let token: Map = [("scheme", "basic"), ("principal", name), ("credentials", password)]
            .into_iter()
            .map(|(key, text)| (key.into(), Value::from(text)))
            .collect();
        let interface = &self.interface;
        let user = interface.crowd.in_turn(self.origin, || interface.gate.admit(&token, self.peer.ip()))?;
        user.ok_or_else(|| unauthorized("this server knows no users"))
    }

    /// Parses the request; its values are on an account as long as it is answered.
    async fn asked(
        &self,
        headers: &HeaderMap,
        incoming: Incoming,
    ) -> Result<(QueryRequest, Option<ValueAccount>), Refusal> {
        let crowd: &Arc<Crowd> = &self.interface.crowd;
        let received = body::read(incoming, &self.interface.limits, crowd.account(self.origin)).await?;
        self.presence.end_body();
        let Received { bytes, _account } = received;
        if bytes.is_empty() {
            return Ok((QueryRequest::default(), None));
        }
        let form = form_of_body(headers)?;
        let mut values = crowd.values(self.origin);
        let parsed = self.interface.runtime.spawn_blocking(move || {
            let json: Result<Json, _> = message::json(&bytes, &mut |bytes| values.grow(bytes));
            let json = json.map_err(|error| Refusal::invalid(format!("the body: {error}")))?;
            Ok((QueryRequest::of(&json, form)?, Some(values)))
        });
        parsed.await.map_err(|_| Refusal::busy("the server ends"))?
    }

    fn session(&self, user: Option<Credential>) -> Session {
        let mut session = self.interface.database.session();
        session.set_client(&format!("http-{}", self.number), &self.peer.to_string());
        user.into_iter().for_each(|user| session.log_on(user));
        session
    }

    async fn query(
        self: Arc<Self>,
        user: Option<Credential>,
        asked: QueryRequest,
        room: Option<ValueAccount>,
        format: Format,
    ) -> Result<Answer, Refusal> {
        if asked.statement.is_none() {
            return Err(Refusal::invalid("there is no `statement`"));
        }
        let mut session = self.session(user);
        let visitor = self.clone();
        self.ask(session.interrupter(), move |out| {
            let _room = room;
            visitor.await_bookmarks(&asked, out)?;
            session.act_as(asked.acts_as.as_deref()).map_err(|error| Some(error.into()))?;
            query::answer(&mut session, &asked, format, &Ending::Bookmark, None, out)
                .map_err(|error| error.map(Refusal::from))
        })
        .await
    }

    async fn begin(
        self: Arc<Self>,
        user: Option<Credential>,
        asked: QueryRequest,
        room: Option<ValueAccount>,
        format: Format,
    ) -> Result<Answer, Refusal> {
        let place = self.interface.transactions.place(self.origin)?;
        let owner = user.as_ref().map(|user| user.name().to_string());
        let mut session = self.session(user);
        let visitor = self.clone();
        self.ask(session.interrupter(), move |out| {
            visitor.await_bookmarks(&asked, out)?;
            session.act_as(asked.acts_as.as_deref()).map_err(|error| Some(error.into()))?;
            let reads_only = asked.reads_only == Some(true);
            let mode = if reads_only { Mode::Read } else { Mode::Write };
            let client_until_ns = asked.timeout.map(world::clock::after_ns);
            session.begin_within(mode, asked.timeout).map_err(|error| Some(error.into()))?;
            let terms =
                TransactionTerms { owner, acts_as: asked.acts_as.clone(), reads_only, client_until_ns };
            let kept = visitor.interface.transactions.keep(session, terms, place);
            let (id, open) = kept.map_err(Some)?;
            visitor.in_transaction(&id, &open, (&asked, room), format, false, out)
        })
        .await
    }

    async fn run_in(
        self: Arc<Self>,
        owner: Option<String>,
        id: String,
        asked: QueryRequest,
        room: Option<ValueAccount>,
        format: Format,
        commits: bool,
    ) -> Result<Answer, Refusal> {
        let open = self.interface.transactions.find_for(&id, owner.as_deref(), &asked)?;
        let visitor = self.clone();
        self.ask(open.interrupter.clone(), move |out| {
            visitor.in_transaction(&id, &open, (&asked, room), format, commits, out)
        })
        .await
    }

    /// Runs a statement in a transaction, if there is one, and commits it if requested. A failed statement ends the transaction.
    fn in_transaction(
        &self,
        id: &str,
        open: &Open,
        (asked, _room): (&QueryRequest, Option<ValueAccount>),
        format: Format,
        commits: bool,
        out: &mut Outlet,
    ) -> Result<(), Option<Refusal>> {
        let transactions = &self.interface.transactions;
        let mut held = open.session().map_err(Some)?;
        let Some(session) = held.as_mut() else { return Err(Some(missing())) };
        let ending = match commits {
            true => Ending::Commit,
            false => Ending::Transaction { id: id.to_string(), expires: transactions.expires() },
        };
        let outcome = query::answer(session, asked, format, &ending, open.terms.client_until_ns, out);
        if commits || outcome.is_err() {
            if session.in_transaction() {
                // Nothing is lost by a rollback that finds nothing to roll back.
                let _ = session.rollback();
            }
            *held = None;
            transactions.forget(id);
        }
        open.touch();
        outcome.map_err(|error| error.map(Refusal::from))
    }

    async fn roll_back(self: Arc<Self>, owner: Option<String>, id: String) -> Result<Answer, Refusal> {
        let open = self.interface.transactions.find(&id, owner.as_deref())?;
        let visitor = self.clone();
        self.ask(open.interrupter.clone(), move |out| {
            let mut held = open.session().map_err(Some)?;
            if let Some(mut session) = held.take() {
                session.rollback().map_err(|error| Some(error.into()))?;
            }
            visitor.interface.transactions.forget(&id);
            out.set(StatusCode::OK, "application/json");
            out.bytes.extend(b"{}");
            Ok(())
        })
        .await
    }

    /// Waits until the database has the commits that the client has seen.
    fn await_bookmarks(&self, asked: &QueryRequest, out: &Outlet) -> Result<(), Option<Refusal>> {
        let failed = |error: database::Error| Some(Refusal::from(error));
        let commit_version = bookmark::latest(&asked.bookmarks).map_err(failed)?;
        let go_on = || {
            world::threads::sleep(BOOKMARK_PAUSE);
            !out.is_abandoned()
        };
        bookmark::wait(
            &self.interface.database,
            commit_version,
            self.interface.limits.bookmark_timeout,
            go_on,
        )
        .map_err(failed)
    }

    /// Issues a token with the lifetime of one issued for a password; a client with a provider's token gets none that outlives it.
    fn give_token(&self, user: Option<Credential>) -> Result<Answer, Refusal> {
        let Some(user) = user else {
            return Err(Refusal::invalid("this server asks for no password, and so needs no tokens"));
        };
        let (token, left) = self.interface.tokens.give(user)?;
        let body =
            serde_json::json!({ "token": token, "token_type": "Bearer", "expires_in": left.as_secs() });
        Ok(whole(StatusCode::CREATED, "application/json", body.to_string()))
    }

    fn take_token(&self, headers: &HeaderMap) -> Result<Answer, Refusal> {
        let authorization = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let token = authorization.and_then(|value| value.split_once(' ')).map_or("", |(_, token)| token);
        self.known.lock().credential = None;
        match self.interface.tokens.take_back(token.trim()) {
            true => Ok(whole(StatusCode::OK, "application/json", "{}")),
            false => Err(Refusal::invalid("the token to give back is the one to ask with")),
        }
    }

    /// Runs work for the client on a thread that may block. If the client goes before its end, the work is interrupted.
    async fn ask(
        self: Arc<Self>,
        interrupter: Interrupter,
        work: impl FnOnce(&mut Outlet) -> Result<(), Option<Refusal>> + Send + 'static,
    ) -> Result<Answer, Refusal> {
        let (mut out, told) =
            Outlet::new(self.interface.runtime.clone(), self.interface.limits.write_timeout);
        let _attended = self.presence.attend();
        let attention = Attention { interrupter, is_over: Arc::default(), _attended };
        let is_over = attention.is_over.clone();
        let place = self.place.clone();
        self.interface.runtime.spawn_blocking(move || {
            let outcome = caught(|| work(&mut out));
            is_over.store(true, std::sync::atomic::Ordering::Release);
            match outcome {
                Ok(Ok(())) => out.finish(),
                Ok(Err(Some(refusal))) if out.is_begun() => {
                    // It has been told at the end of what was sent.
                    let _ = refusal;
                    out.finish();
                }
                Ok(Err(Some(refusal))) => out.refuse(&refusal),
                Ok(Err(None)) => drop(out),
                Err(panicked) => out.refuse(&database::Error::internal(&panicked).into()),
            }
            drop(place);
        });
        let mut answer = told.await.map_err(|_| Refusal::busy("the server ends"))?;
        answer.body_mut().attend(attention);
        Ok(answer)
    }
}

/// A refusal, and how to authenticate where that is missing.
fn denied(refusal: &Refusal) -> Answer {
    let mut answer = refused(refusal);
    if refusal.status == StatusCode::UNAUTHORIZED {
        let schemes = HeaderValue::from_static("Basic realm=\"tanglewood\", Bearer");
        answer.headers_mut().insert(WWW_AUTHENTICATE, schemes);
    }
    answer
}
