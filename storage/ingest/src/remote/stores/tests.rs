//! Objects of a server in this process that answers as S3 does: one, a prefix, pieces, what is refused and what is not there.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a server of this test's own")]

use super::*;
use std::collections::BTreeMap;
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use world::files::TemporaryFolder;

/// Objects of the bucket `box`. Large enough for several pieces is the last.
fn objects() -> Vec<(String, Vec<u8>)> {
    let large = (0..PIECE_BYTES as usize + 5).map(|at| at as u8).collect();
    [
        ("data/people.csv", b"id,name\n1,Ada\n".to_vec()),
        ("data/deep/friends.csv", b"from,to\n1,1\n".to_vec()),
        ("data/deep/", Vec::new()),
        ("other.csv", b"x\n".to_vec()),
        ("large.bin", large),
    ]
    .map(|(name, bytes)| (name.to_string(), bytes))
    .into()
}

fn answer(socket: &mut TcpStream, status: &str, heads: &str, body: &[u8], is_head: bool) {
    let head =
        format!("HTTP/1.1 {status}\r\n{heads}Content-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    let bytes = if is_head { head.into_bytes() } else { [head.as_bytes(), body].concat() };
    // Whoever asked may have gone.
    let _ = socket.write_all(&bytes);
}

const OBJECT: &str = "ETag: \"1\"\r\nLast-Modified: Sat, 28 Nov 2026 12:00:00 GMT\r\n";

fn list(prefix: &str, all: &[(String, Vec<u8>)]) -> String {
    let (mut contents, mut prefixes) = (String::new(), std::collections::BTreeSet::new());
    for (name, bytes) in all.iter().filter(|(name, _)| name.starts_with(prefix)) {
        match name[prefix.len()..].split_once('/') {
            Some((folder, _)) => drop(prefixes.insert(format!("{prefix}{folder}/"))),
            None => {
                contents += &format!(
                    "<Contents><Key>{name}</Key><LastModified>2026-11-28T12:00:00.000Z</LastModified><ETag>\"1\"</ETag><Size>{}</Size></Contents>",
                    bytes.len()
                )
            }
        }
    }
    let prefixes: String = prefixes
        .iter()
        .map(|prefix| format!("<CommonPrefixes><Prefix>{prefix}</Prefix></CommonPrefixes>"))
        .collect();
    format!(
        "<?xml version=\"1.0\"?><ListBucketResult>{contents}{prefixes}<IsTruncated>false</IsTruncated></ListBucketResult>"
    )
}

/// A store over a server that serves [`objects`] to clients that sign their requests; and the number of requests.
fn store(key: &str) -> (Store, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = asked.clone();
    std::mem::forget(threads::spawn("store of a test", move || {
        let (mut all, mut parts) = (objects(), BTreeMap::new());
        for mut socket in listener.incoming().flatten() {
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                if socket.read(&mut byte).unwrap_or(0) == 0 {
                    break;
                }
                request.push(byte[0]);
            }
            counted.fetch_add(1, Ordering::Relaxed);
            let text = String::from_utf8_lossy(&request).to_ascii_lowercase();
            let (method, url) = text
                .split_once(' ')
                .map_or(("", ""), |(method, rest)| (method, rest.split(' ').next().unwrap_or_default()));
            let is_head = method == "head";
            let url = percent_encoding::percent_decode_str(url).decode_utf8_lossy().into_owned();
            let (path, query) = url.split_once('?').unwrap_or((&url, ""));
            let name = path.strip_prefix("/box").unwrap_or_default().trim_start_matches('/');
            if !text.contains("authorization: aws4-hmac-sha256 credential=key/") {
                answer(&mut socket, "403 Forbidden", "", b"", is_head);
            } else if let "put" | "post" = method {
                let length =
                    text.split_once("content-length: ").map_or("0", |(_, rest)| rest.lines().next().unwrap());
                let mut body = vec![0; length.parse().unwrap()];
                socket.read_exact(&mut body).unwrap();
                let parameter = |name: &str| {
                    query.split('&').find_map(|part| part.strip_prefix(name)).map(str::to_string)
                };
                let put = match (parameter("uploads"), parameter("partnumber="), parameter("uploadid=")) {
                    (Some(_), ..) => {
                        let upload = "<InitiateMultipartUploadResult><UploadId>one</UploadId></InitiateMultipartUploadResult>";
                        answer(&mut socket, "200 OK", "", upload.as_bytes(), false);
                        continue;
                    }
                    (_, Some(number), _) => {
                        parts.insert(number.parse::<u32>().unwrap(), body);
                        None
                    }
                    (.., Some(_)) => Some(std::mem::take(&mut parts).into_values().flatten().collect()),
                    _ => Some(body),
                };
                if let Some(bytes) = put {
                    all.retain(|(known, _)| known != name);
                    all.push((name.to_string(), bytes));
                }
                let done = "<CompleteMultipartUploadResult><ETag>1</ETag></CompleteMultipartUploadResult>";
                answer(&mut socket, "200 OK", OBJECT, done.as_bytes(), false);
            } else if query.contains("list-type=2") {
                let prefix =
                    query.split('&').find_map(|part| part.strip_prefix("prefix=")).unwrap_or_default();
                answer(&mut socket, "200 OK", "", list(prefix, &all).as_bytes(), is_head);
            } else if let Some((_, bytes)) = all.iter().find(|(known, _)| *known == name) {
                let range =
                    text.split_once("range: bytes=").map(|(_, rest)| rest.lines().next().unwrap_or_default());
                let range = range.and_then(|range| range.trim().split_once('-'));
                match range.map(|(from, to)| (from.parse::<usize>().unwrap(), to.parse::<usize>().unwrap())) {
                    Some((from, to)) => {
                        let heads = format!("{OBJECT}Content-Range: bytes {from}-{to}/{}\r\n", bytes.len());
                        answer(&mut socket, "206 Partial Content", &heads, &bytes[from..=to], is_head);
                    }
                    None => answer(&mut socket, "200 OK", OBJECT, bytes, is_head),
                }
            } else {
                answer(&mut socket, "404 Not Found", "", b"", is_head);
            }
        }
    }));
    let builder =
        AmazonS3Builder::new().with_bucket_name("box").with_endpoint(endpoint).with_allow_http(true);
    let builder = builder.with_region("here").with_access_key_id(key).with_secret_access_key("secret");
    (Arc::new(builder.with_http_connector(Connector).build().unwrap()), asked)
}

fn brought(store: &Store, path: &str) -> Result<Vec<(String, Vec<u8>)>, String> {
    let folder = TemporaryFolder::new("stores").unwrap();
    let found = bring_from(store, &path.into(), (folder.path(), LIMITS), &|| true)?;
    let mut all = Vec::new();
    let mut open = vec![found];
    while let Some(path) = open.pop() {
        if files::is_folder(&path) {
            open.extend(files::list_folder(&path).unwrap());
        } else {
            let name = path.strip_prefix(folder.path()).unwrap().display().to_string();
            all.push((name, files::read_bytes(&path).unwrap()));
        }
    }
    all.sort();
    Ok(all)
}

#[test]
fn an_object_or_all_below_a_prefix_is_brought() {
    let (store, asked) = store("key");
    let all = objects();
    let expected = |names: &[(&str, usize)]| -> Vec<(String, Vec<u8>)> {
        names.iter().map(|(name, at)| (name.to_string(), all[*at].1.clone())).collect()
    };
    assert_eq!(brought(&store, "other.csv").unwrap(), expected(&[("other.csv", 3)]));
    assert_eq!(brought(&store, "data").unwrap(), expected(&[("deep/friends.csv", 1), ("people.csv", 0)]));
    asked.store(0, Ordering::Relaxed);
    assert_eq!(brought(&store, "large.bin").unwrap(), expected(&[("large.bin", 4)]));
    assert_eq!(asked.load(Ordering::Relaxed), 3, "once for its size, and for two pieces");
    assert!(brought(&store, "nothing").unwrap_err().contains("no object of this name"));
    let folder = TemporaryFolder::new("stores").unwrap();
    let bring = |limits: StoreLimits, goes_on: bool| {
        bring_from(&store, &"data".into(), (folder.path(), limits), &|| goes_on).map(drop)
    };
    assert_eq!(bring(LIMITS, false).unwrap_err(), ENDED);
    let all = 14 + 12;
    assert_eq!(bring(StoreLimits { bytes: all, ..LIMITS }, true), Ok(()));
    let error = bring(StoreLimits { bytes: all - 1, ..LIMITS }, true).unwrap_err();
    assert!(error.contains("26 bytes together; at most 25"), "{error}");
    let error = bring(StoreLimits { time: Duration::ZERO, ..LIMITS }, true).unwrap_err();
    assert!(error.contains("longer than 0 s"), "{error}");
}

#[test]
fn what_the_store_refuses_is_told() {
    let (store, _) = store("stranger");
    let error = brought(&store, "other.csv").unwrap_err();
    assert!(error.contains("the store refuses") && error.contains("environment"), "{error}");
    for (url, wanted) in [("s3://", "s3"), ("az://box/x", "account")] {
        let error = open(url).map(drop).map_err(told).unwrap_err();
        assert!(error.to_lowercase().contains(wanted), "{url}: {error}");
    }
}

/// Small ones and such of several parts come back whole; a later one takes the place of an earlier one.
#[test]
fn named_objects_come_back_whole() {
    let scratch = TemporaryFolder::new("named-objects").unwrap();
    let (one, back) = (scratch.path().join("one"), scratch.path().join("back"));
    let (over_http, _) = store("key");
    for store in [Arc::new(object_store::memory::InMemory::new()) as Store, over_http] {
        let objects = NamedObjects { store, prefix: ObjectPath::from("cluster") };
        assert_eq!(objects.get("shard-0/checkpoint", &back), Ok(false));
        for length in [3, 0, 2 * PIECE_BYTES as usize + 9, PIECE_BYTES as usize] {
            let bytes: Vec<u8> = (0..length).map(|at| (at / 7) as u8).collect();
            files::write_bytes(&one, &bytes).unwrap();
            objects.put("shard-0/checkpoint", &one).unwrap();
            assert_eq!(objects.get("shard-0/checkpoint", &back), Ok(true));
            assert!(files::read_bytes(&back).unwrap() == bytes, "{length} bytes");
        }
    }
}
