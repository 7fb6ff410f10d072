//! `config check` refuses what `serve` refuses, and nothing else: for every setting, texts at the edge of its form and beyond.

use super::parts::Parts;
use super::*;
use server::configuration::forms::SettingForm;
use server::configuration::{SETTINGS, SettingRow};
use std::collections::BTreeMap;
use std::path::Path;
use world::files::TemporaryFolder;

/// Texts that may be good or bad, by the form of a setting.
fn texts(row: &SettingRow, folder: &Path) -> Vec<String> {
    let here = |name: &str| folder.join(name).display().to_string();
    let texts: &[&str] = match row.form {
        SettingForm::Address => &[
            "127.0.0.1:0",
            "[::1]:0",
            "0.0.0.0:0",
            "localhost:0",
            "7687",
            "127.0.0.1:65536",
            "",
            "nobody.invalid:1",
        ],
        SettingForm::Path => {
            return vec![
                here("file"),
                here("none/file"),
                here("empty"),
                here("."),
                here(&"x".repeat(300)),
                "".into(),
                "\0".into(),
            ];
        }
        SettingForm::Text => &[
            "x",
            " ",
            "",
            "http://127.0.0.1:1",
            "https://127.0.0.1:1",
            "http://",
            "ftp://x",
            "http://[::1]:99999",
        ],
        SettingForm::Size => &["1", "512MB", "99999999999999999999GiB", "0", "-1", "1XB", "", "NaN"],
        SettingForm::Time | SettingForm::TimeTo(_) => {
            &["0s", "1ms", "4m", "6m", "99999999999999999h", "1e400s", "-1s", "1d", ""]
        }
        SettingForm::Count | SettingForm::CountTo(_) => &[
            "1",
            "2",
            "8",
            "1_0",
            "2000",
            "1000000",
            "1000001",
            "18446744073709551615",
            "18446744073709551616",
            "0",
            "-1",
            "1.5",
            "",
        ],
        SettingForm::Word(words) => {
            return words.iter().copied().chain(["", "None", "x"]).map(String::from).collect();
        }
        SettingForm::History => &["none", "forever", "7d", "0d", "-7d", "7", "", "99999999999999999999d"],
        SettingForm::Sites => &["*", "https://app.example", "app.example", "https://a/b", "https://", ""],
        SettingForm::Hosts => {
            &["*", "data.example.org", "*.example.org", "http://data.example.org", "a b", ""]
        }
        SettingForm::Sources => &["people=:memory:", "g=:memory:", "people", "=x", "x=", ""],
        SettingForm::Levels => &["info", "off,audit=info", "loud", "info,x=debug", "query=", ""],
    };
    texts.iter().map(|text| text.to_string()).collect()
}

/// Has this machine a loopback address of IPv6? Not every container does.
#[allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "asks the system, not the server")]
fn has_ipv6() -> bool {
    std::net::TcpListener::bind("[::1]:0").is_ok()
}

/// Settings that the one under test has no effect without.
fn beside(key: &str, folder: &Path) -> Vec<(&'static str, String)> {
    let here = |name: &str| folder.join(name).display().to_string();
    let jwt = || {
        [("jwt.keys", here("keys.json")), ("jwt.issuer", "i".into()), ("jwt.audience", "a".into())].to_vec()
    };
    match key {
        "tls.certificate" => vec![("tls.key", here("file"))],
        "tls.key" => vec![("tls.certificate", here("file"))],
        _ if key.starts_with("jwt.") => jwt(),
        _ if key.starts_with("gremlin.") => vec![("gremlin.address", "127.0.0.1:0".into())],
        "http.cors" | "http.metrics" => vec![("http.address", "127.0.0.1:0".into())],
        _ => Vec::new(),
    }
}

/// What `config check` and `serve` say of settings: each an error's code, or nothing.
fn judged(flags: &BTreeMap<&'static str, Vec<String>>, path: &Path) -> [Option<String>; 2] {
    let code = |exit: Exit| match exit {
        Exit::Failed(error) => error.code,
        other => format!("{other:?}"),
    };
    let settings = match Configuration::read(None, |_| None, flags.clone()) {
        Ok(settings) => settings,
        // Both read settings by this.
        Err(faults) => return [Some(faults.to_string()), Some(faults.to_string())],
    };
    let checked = Parts::check(&settings).map_err(code).err();
    let starting = Starting { settings, file: None, flags: flags.clone(), path: path.to_path_buf() };
    let served = super::super::logging::Logging::check(&starting.settings).map_err(Exit::from);
    let served = served.and_then(|()| starting.open().map(drop));
    [checked, served.map_err(code).err()]
}

#[test]
fn config_check_refuses_what_serve_refuses_and_nothing_else() {
    let folder = TemporaryFolder::new("settings").unwrap();
    for (name, text) in [
        ("file", "no certificate"),
        ("empty", ""),
        (
            "keys.json",
            r#"{"keys": [{"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#,
        ),
    ] {
        world::files::write_bytes(&folder.path().join(name), text.as_bytes()).unwrap();
    }
    let (mut refused, mut taken, has_ipv6) = (0, 0, has_ipv6());
    for row in &SETTINGS {
        for text in texts(row, folder.path()) {
            if text == "[::1]:0" && !has_ipv6 {
                continue;
            }
            let usual = [("bolt.address", "127.0.0.1:0".to_string()), ("executors", "1".to_string())];
            let said =
                usual.into_iter().chain(beside(row.key, folder.path())).chain([(row.key, text.clone())]);
            let flags: BTreeMap<_, _> = said.map(|(key, text)| (key, vec![text])).collect();
            // Only a folder keeps the past.
            let path = match row.form {
                SettingForm::History => folder.path().join("past.db"),
                _ => database::MEMORY.into(),
            };
            let [checked, served] = judged(&flags, &path);
            // Whether there are users is what the database says.
            let needs_users = ["Serve.NoUsers", "Serve.NotLoopback"];
            let is_of_database =
                served.as_ref().is_some_and(|code| needs_users.iter().any(|one| code.ends_with(one)));
            if checked.is_none() && is_of_database {
                continue;
            }
            assert_eq!(checked, served, "{} = {text:?}", row.key);
            *(if checked.is_some() { &mut refused } else { &mut taken }) += 1;
        }
    }
    assert!(refused > 100 && taken > 100, "{refused} refused, {taken} taken");
}

/// What no single setting tells.
#[test]
fn settings_that_contradict_each_other_are_refused_by_both() {
    for (what, said) in [
        (
            "two interfaces at one address",
            &[("bolt.address", "127.0.0.1:47777"), ("http.address", "127.0.0.1:47777")][..],
        ),
        (
            "one interface before all addresses",
            &[("bolt.address", "127.0.0.1:47777"), ("gremlin.address", "0.0.0.0:47777")],
        ),
        ("a name that is taken", &[("gremlin.address", "127.0.0.1:0"), ("gremlin.sources", "g=:memory:")]),
        ("others, and no passwords", &[("auth", "none"), ("http.address", "0.0.0.0:0")]),
        ("clocks far apart", &[("jwt.leeway", "301s")]),
        ("sites for nobody", &[("http.cors", "*")]),
    ] {
        let usual = [("bolt.address", "127.0.0.1:0"), ("executors", "1")];
        let flags = usual.iter().chain(said).map(|(key, text)| (*key, vec![text.to_string()])).collect();
        let [checked, served] = judged(&flags, Path::new(database::MEMORY));
        assert!(checked.is_some() && checked == served, "{what}: {checked:?}, {served:?}");
    }
}
