use super::*;
use crate::configuration::table::GROUPS;
use std::collections::BTreeSet;
use world::files::TemporaryFolder;

fn read(
    file: Option<&str>,
    variables: &[(&str, &str)],
    flags: &[(&'static str, &str)],
) -> Result<Configuration, String> {
    let folder = TemporaryFolder::new("settings").unwrap();
    let path = folder.path().join("tanglewood.toml");
    file.iter().for_each(|text| world::files::write_bytes(&path, text.as_bytes()).unwrap());
    let variable =
        |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, text)| text.to_string());
    let flags = flags.iter().map(|(key, text)| (*key, vec![text.to_string()])).collect();
    Configuration::read(file.map(|_| &*path), variable, flags).map_err(|faults| faults.to_string())
}

#[test]
fn where_nothing_is_said_the_defaults_of_the_library_hold() {
    let nothing = read(None, &[], &[]).unwrap();
    assert_eq!(format!("{:?}", nothing.options()), format!("{:?}", Options::default()));
    assert_eq!(format!("{:?}", nothing.limits()), format!("{:?}", Limits::default()));
}

#[test]
fn each_setting_is_named_once_and_its_default_is_a_value() {
    let mut seen = BTreeSet::new();
    for row in &SETTINGS {
        for name in [row.key, row.name, &format!("--{}", row.flag), &row.variable()] {
            assert!(seen.insert(name.to_string()) || row.key == row.flag, "{name} is named twice");
        }
        assert!(row.default.is_empty() || row.form.check(row.default).is_ok(), "{}", row.key);
        assert!(row.group < GROUPS.len() && !row.help.ends_with('.'), "{}", row.key);
    }
    assert!(SETTINGS.is_sorted_by_key(|row| row.group), "groups stand together");
}

#[test]
fn a_flag_goes_before_the_environment_and_that_before_the_file() {
    let file = "database = 'people.db'\nmemory = '1GiB'\n[query]\ntimeout = 30\nmemory = '1MiB'\n[gremlin]\naddress = 'localhost:0'\nsources = ['b=b.db', 'm=:memory:']\n";
    let variables = [("TANGLEWOOD_MEMORY", "2GiB"), ("TANGLEWOOD_QUERY_MEMORY", "2MiB")];
    let all = read(Some(file), &variables, &[("query.memory", "3MiB")]).unwrap();
    let options = all.options();
    assert_eq!((options.memory_bytes, options.query_bytes_max), (Some(2 << 30), 3 << 20));
    assert_eq!(options.query_timeout, Some(Duration::from_secs(30)));
    let origins = ["query.timeout", "memory", "query.memory", "auth"].map(|key| all.origin(key).to_string());
    assert_eq!(origins, ["file", "environment", "flag", "default"]);
    let database = all.path(DATABASE_KEY).unwrap();
    assert!(database.is_absolute() && database.ends_with("people.db"), "{database:?}");
    assert!(
        all.texts("gremlin.sources")[0].ends_with("/b.db") && all.texts("gremlin.sources")[1] == "m=:memory:"
    );
    let shown = all.settings();
    let of = |name: &str| shown.iter().find(|one| one.name == name).unwrap().value.clone();
    assert_eq!([of("tanglewood.gremlin.sources"), of("tanglewood.query.timeout")], ["b,m", "30s"]);
    assert_eq!(of("tanglewood.log.file"), "false");
}

#[test]
fn all_that_is_wrong_is_told_at_once() {
    let wrong = "colour = 1\n[query]\ntimeuot = '1s'\nmemory = 'much'\nrows_max = 0\n[tls]\nkey = 'k.pem'\n[http]\ncors = [1.5]\n";
    let told = read(Some(wrong), &[("TANGLEWOOD_LOG_LEVEL", "loud")], &[]).unwrap_err();
    for part in [
        "`colour` is no setting",
        "`query.timeuot` is no setting; there are query.timeout",
        "query.memory: `much`",
        "at least 1",
        "`tls.key` has no effect without `tls.certificate`",
        "http.cors: a list of texts is needed",
        "TANGLEWOOD_LOG_LEVEL: `loud`",
    ] {
        assert!(told.contains(part), "{part} is missing in {told}");
    }
    assert!(read(Some("x = ["), &[], &[]).unwrap_err().contains("is no TOML"));
    assert!(read(Some("timeout = '1s'"), &[], &[]).unwrap_err().contains("there is `gremlin.timeout`"));
    let folder = TemporaryFolder::new("settings").unwrap();
    let path = folder.path().join("tanglewood.toml");
    for (bytes, line) in
        [(&b"\xff"[..], 1), (b"memory = '1GiB'\n[log]\nfile = 'f\xfcr.log'\n", 3), (b"\n\n\xf0\x9f", 3)]
    {
        world::files::write_bytes(&path, bytes).unwrap();
        let told = Configuration::read(Some(&path), |_| None, BTreeMap::new()).unwrap_err().to_string();
        assert!(told.ends_with(&format!("line {line} is not UTF-8")), "{told}");
    }
    let late = [("query.timeout", "2s"), ("query.timeout_max", "1s")];
    assert!(read(None, &[], &late).unwrap_err().contains("longer"));
}
