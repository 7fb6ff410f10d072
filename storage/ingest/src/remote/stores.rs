//! Objects of S3, Google Cloud Storage and Azure, by the crate `object_store`, over the client of HTTP that the rest of the crate has.
//!
//! Credentials and endpoints are the environment variables of the stores' own tools (`AWS_ACCESS_KEY_ID`, `AWS_ENDPOINT`,
//! `GOOGLE_APPLICATION_CREDENTIALS`, `AZURE_STORAGE_ACCOUNT_NAME` and their like). Objects are downloaded piece by piece, [`BRINGERS`] at a time.

use crate::certificates;
use bytes::Bytes;
use hyper::body::{Body, Frame};
use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody,
    HttpService,
};
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::path::Path as ObjectPath;
use object_store::{ClientOptions, Error, ObjectMeta, ObjectStore, ObjectStoreExt, RetryConfig};
use std::future::Future;
use std::io::{Read, Write};
use std::path::{Component, Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use ureq::config::Config;
use ureq::{Agent, http};
use world::clock;
use world::files;
use world::threads;

/// Objects brought at a time.
const BRINGERS: usize = 4;
/// Bytes of an object in one request.
const PIECE_BYTES: u64 = 16 << 20;
/// Objects below a prefix.
const OBJECTS_MAX: usize = 1 << 20;
/// Prefixes within one another.
const DEPTH_MAX: usize = 64;
/// Times that a request is tried again, and for how long.
const RETRIES_MAX: usize = 3;
const RETRY_TIME_MAX: Duration = Duration::from_secs(60);
/// Time without a byte.
const QUIET_TIME_MAX: Duration = Duration::from_secs(30);
/// Time for one request and its answer, of at most [`PIECE_BYTES`].
const REQUEST_TIME_MAX: Duration = Duration::from_secs(900);
/// Bytes and time of all objects together.
const LIMITS: StoreLimits = StoreLimits { bytes: 1 << 40, time: Duration::from_secs(24 * 3600) };
/// Bytes handed on at once.
const READ_BYTES: usize = 64 << 10;

type Store = Arc<dyn ObjectStore>;

/// Limits of one URL.
#[derive(Clone, Copy, Debug)]
struct StoreLimits {
    bytes: u64,
    time: Duration,
}

/// Downloads an object, or all below a prefix, into a folder; returns the path for the import.
pub(super) fn bring(
    url: &str,
    folder: &Path,
    goes_on: &(dyn Fn() -> bool + Sync),
) -> Result<PathBuf, String> {
    let (store, path) = open(url).map_err(told)?;
    bring_from(&store, &path, (folder, LIMITS), goes_on)
}

/// The same from a store that is open.
fn bring_from(
    store: &Store,
    path: &ObjectPath,
    (folder, limits): (&Path, StoreLimits),
    goes_on: &(dyn Fn() -> bool + Sync),
) -> Result<PathBuf, String> {
    let end_ns = clock::after_ns(limits.time);
    let goes_on = || match goes_on() {
        true if clock::monotonic_ns() < end_ns => Ok(()),
        true => Err(format!("it took longer than {} s", limits.time.as_secs())),
        false => Err(ENDED.to_string()),
    };
    let (objects, is_one) = found(store, path, &goes_on)?;
    if objects.is_empty() {
        return Err("there is no object of this name, and none below it".into());
    }
    let bytes = objects.iter().fold(0_u64, |sum, object| sum.saturating_add(object.size));
    if bytes > limits.bytes {
        let what = format!("the objects have {bytes} bytes together; at most {} are read", limits.bytes);
        return Err(format!("{what}; name a smaller part of them"));
    }
    let place = |object: &ObjectMeta| {
        let inner = match is_one {
            true => object.location.filename().unwrap_or("file").to_string(),
            false => object.location.as_ref().strip_prefix(path.as_ref()).unwrap_or_default().to_string(),
        };
        let inner = Path::new(&inner).components().filter(|part| matches!(part, Component::Normal(_)));
        folder.join(inner.collect::<PathBuf>())
    };
    let brought = threads::map_parallel("objects", BRINGERS, &objects, |object| {
        one(store, object, &place(object), &goes_on).map_err(|what| format!("{}: {what}", object.location))
    });
    brought.into_iter().collect::<Result<(), String>>()?;
    match (objects.first(), is_one) {
        (Some(object), true) => Ok(place(object)),
        _ => Ok(folder.to_path_buf()),
    }
}

/// Objects below the path of a URL, by name.
#[derive(Debug)]
pub(super) struct NamedObjects {
    store: Store,
    prefix: ObjectPath,
}

impl NamedObjects {
    pub(super) fn open(url: &str) -> Result<NamedObjects, String> {
        let (store, prefix) = open(url).map_err(told)?;
        Ok(NamedObjects { store, prefix })
    }
    fn path(&self, name: &str) -> ObjectPath {
        name.split('/').fold(self.prefix.clone(), |path, part| path.join(part))
    }
    /// Stores a file as an object, which appears when all of it is there.
    pub(super) fn put(&self, name: &str, file: &Path) -> Result<(), String> {
        let from = files::RandomFile::open(file).map_err(|error| error.to_string())?;
        let (bytes, path) = (from.size_bytes(), self.path(name));
        let piece = |at: u64| -> Result<Bytes, String> {
            let mut piece = vec![0; (bytes - at).min(PIECE_BYTES) as usize];
            let count = from.read_at(at, &mut piece).map_err(|error| error.to_string())?;
            match count == piece.len() {
                true => Ok(piece.into()),
                false => Err("it became shorter while it was stored".into()),
            }
        };
        if bytes <= PIECE_BYTES {
            return wait(self.store.put(&path, piece(0)?.into()))?.map(drop).map_err(told);
        }
        let mut upload = wait(self.store.put_multipart(&path))?.map_err(told)?;
        let parts = (0..bytes).step_by(PIECE_BYTES as usize);
        let stored =
            parts.into_iter().try_for_each(|at| wait(upload.put_part(piece(at)?.into()))?.map_err(told));
        match stored {
            Ok(()) => wait(upload.complete())?.map(drop).map_err(told),
            Err(why) => {
                // The store removes the parts in its time where this fails, too.
                let _ = wait(upload.abort());
                Err(why)
            }
        }
    }
    /// Writes an object into a new file; false where there is none.
    pub(super) fn get(&self, name: &str, file: &Path) -> Result<bool, String> {
        match wait(self.store.head(&self.path(name)))? {
            Err(Error::NotFound { .. }) => Ok(false),
            Err(error) => Err(told(error)),
            Ok(object) => one(&self.store, &object, file, &|| Ok(())).map(|()| true),
        }
    }
}

/// The object of this name, or those below it; and whether it is one.
fn found(
    store: &Store,
    path: &ObjectPath,
    goes_on: &dyn Fn() -> Result<(), String>,
) -> Result<(Vec<ObjectMeta>, bool), String> {
    if !path.as_ref().is_empty() {
        match wait(store.head(path))? {
            Ok(object) => return Ok((vec![object], true)),
            Err(Error::NotFound { .. }) => {}
            Err(error) => return Err(told(error)),
        }
    }
    let (mut objects, mut prefixes) = (Vec::new(), vec![(path.clone(), 0)]);
    while let Some((prefix, depth)) = prefixes.pop() {
        goes_on()?;
        let listed = wait(store.list_with_delimiter(Some(&prefix)))?.map_err(told)?;
        // What ends with a bar stands for a folder.
        objects.extend(listed.objects.into_iter().filter(|object| object.size > 0));
        if objects.len() > OBJECTS_MAX || depth > DEPTH_MAX {
            return Err(format!(
                "there are more than {OBJECTS_MAX} objects, or deeper ones than {DEPTH_MAX}"
            ));
        }
        prefixes.extend(listed.common_prefixes.into_iter().map(|prefix| (prefix, depth + 1)));
    }
    objects.sort_by(|one, other| one.location.cmp(&other.location));
    Ok((objects, false))
}

const ENDED: &str = "the reading was ended";

fn one(
    store: &Store,
    object: &ObjectMeta,
    to: &Path,
    goes_on: &dyn Fn() -> Result<(), String>,
) -> Result<(), String> {
    let kept = |error: &dyn std::fmt::Display| format!("it cannot be kept: {error}");
    files::create_folder(to.parent().unwrap_or(to)).map_err(|error| kept(&error))?;
    let mut writer = files::create_writer(to).map_err(|error| kept(&error))?;
    let mut at = 0;
    while at < object.size {
        goes_on()?;
        let end = (at + PIECE_BYTES).min(object.size);
        let piece = wait(store.get_range(&object.location, at..end))?.map_err(told)?;
        if piece.len() as u64 != end - at {
            return Err("it became shorter while it was read".into());
        }
        writer.write_all(&piece).map_err(|error| kept(&error))?;
        at = end;
    }
    writer.flush().map_err(|error| kept(&error))
}

/// An error with its causes, in one line.
fn told(error: Error) -> String {
    match error {
        Error::Unauthenticated { .. } | Error::PermissionDenied { .. } => {
            format!(
                "the store refuses: {error}; name the keys in the environment, as the store's own tools do"
            )
        }
        error => error.to_string(),
    }
}

/// The store that a URL names, and the name within it.
fn open(url: &str) -> Result<(Store, ObjectPath), Error> {
    let (scheme, rest) = url.split_once("://").unwrap_or_default();
    let (_, path) = rest.split_once('/').unwrap_or((rest, ""));
    let path = ObjectPath::from_url_path(path)?;
    let retry =
        RetryConfig { max_retries: RETRIES_MAX, retry_timeout: RETRY_TIME_MAX, ..RetryConfig::default() };
    let store: Store = match scheme.to_ascii_lowercase().as_str() {
        "gs" => Arc::new(
            GoogleCloudStorageBuilder::from_env()
                .with_url(url)
                .with_http_connector(Connector)
                .with_retry(retry)
                .build()?,
        ),
        "az" | "abfs" | "abfss" => Arc::new(
            MicrosoftAzureBuilder::from_env()
                .with_url(url)
                .with_http_connector(Connector)
                .with_retry(retry)
                .build()?,
        ),
        _ => Arc::new(
            AmazonS3Builder::from_env()
                .with_url(url)
                .with_http_connector(Connector)
                .with_retry(retry)
                .build()?,
        ),
    };
    Ok((store, path))
}

/// Waits for a store on the thread that calls.
fn wait<F: Future>(future: F) -> Result<F::Output, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    Ok(runtime.map_err(|error| format!("it cannot be waited for: {error}"))?.block_on(future))
}

/// Makes clients for stores.
#[derive(Debug)]
struct Connector;

impl HttpConnector for Connector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        let tls = certificates::tls()
            .map_err(|what| Error::Generic { store: "certificates", source: what.into() })?;
        let config = Config::builder()
            .tls_config(tls)
            .proxy(None)
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_connect(Some(QUIET_TIME_MAX))
            .timeout_recv_response(Some(QUIET_TIME_MAX))
            .timeout_per_read(Some(QUIET_TIME_MAX))
            .timeout_global(Some(REQUEST_TIME_MAX))
            .build();
        Ok(HttpClient::new(StoreClient(Agent::new_with_config(config))))
    }
}

/// Requests of a store, each done while its thread waits.
#[derive(Debug)]
struct StoreClient(Agent);

impl StoreClient {
    fn answer(&self, request: HttpRequest) -> Result<HttpResponse, ureq::Error> {
        let (head, body) = request.into_parts();
        let bytes = bytes_of(body);
        let answer = match bytes.is_empty() {
            true => self.0.run(http::Request::from_parts(head, ()))?,
            false => self.0.run(http::Request::from_parts(head, bytes))?,
        };
        let (head, body) = answer.into_parts();
        let reader = body.into_with_config().limit(u64::MAX).reader();
        Ok(HttpResponse::from_parts(head, HttpResponseBody::new(AnswerBody(Box::new(reader)))))
    }
}

impl HttpService for StoreClient {
    fn call<'s, 'f>(
        &'s self,
        request: HttpRequest,
    ) -> Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'f>>
    where
        's: 'f,
        Self: 'f,
    {
        let kind = |error: &ureq::Error| match error {
            ureq::Error::Timeout(_) => HttpErrorKind::Timeout,
            ureq::Error::ConnectionFailed | ureq::Error::HostNotFound => HttpErrorKind::Connect,
            ureq::Error::Io(_) => HttpErrorKind::Interrupted,
            _ => HttpErrorKind::Unknown,
        };
        Box::pin(async move { self.answer(request).map_err(|error| HttpError::new(kind(&error), error)) })
    }
}

/// The body of a request, which may be in pieces; all of them are in memory.
fn bytes_of(body: impl Body<Data = Bytes>) -> Vec<u8> {
    let (mut body, mut bytes) = (Box::pin(body), Vec::new());
    let mut context = Context::from_waker(Waker::noop());
    while let Poll::Ready(Some(Ok(frame))) = body.as_mut().poll_frame(&mut context) {
        bytes.extend(frame.into_data().unwrap_or_default());
    }
    bytes
}

/// The body of an answer, read on demand.
struct AnswerBody(Box<dyn Read + Send + Sync>);

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = HttpError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, HttpError>>> {
        let mut bytes = vec![0; READ_BYTES];
        Poll::Ready(match self.0.read(&mut bytes) {
            Ok(0) => None,
            Ok(count) => {
                bytes.truncate(count);
                Some(Ok(Frame::data(bytes.into())))
            }
            Err(error) => Some(Err(HttpError::new(HttpErrorKind::Interrupted, error))),
        })
    }
}

#[cfg(test)]
mod tests;
