//! An import, a query and a checkpoint on a disk that is full: nothing that was acknowledged is lost, what failed says so, and once there
//! is room everything goes on. The disk is a small file system of its own, in a mount namespace that only its commands see; where the
//! system permits none, the test says so and is skipped.
#![allow(clippy::disallowed_methods)]

mod support;

use std::fmt::Write as _;
use std::process::Command;
use support::{Place, TANGLEWOOD};

/// Runs lines of a shell in a folder, with a file system of `megabytes` megabytes at `small`: their output, or `None` where such a file system cannot
/// be made.
fn on_a_small_disk(place: &Place, megabytes: u32, script: &str) -> Option<String> {
    std::fs::create_dir_all(place.path().join("small")).unwrap();
    let mount = format!("mount -t tmpfs -o size={megabytes}m none small 2>/dev/null || exit 77\n");
    let run = |namespaces: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(namespaces).args(["sh", "-c", &format!("{mount}{script}")]);
        let output = command.current_dir(place.path()).env("TW", TANGLEWOOD).output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let is_skipped = output.status.code() == Some(77) || !text.starts_with("begun");
        (!is_skipped).then(|| text + &String::from_utf8_lossy(&output.stderr))
    };
    // As the owner of the machine, or as one within a namespace of users.
    run(&["--mount"]).or_else(|| run(&["--mount", "--user", "--map-root-user"]))
}

/// An edge list over `nodes` nodes from `from` on.
fn edges(from: u32, nodes: u32) -> String {
    let mut text = String::new();
    for at in 0..nodes {
        for step in [1, 77, 1_234] {
            writeln!(text, "{}\t{}", from + at, from + (at * 31 + step) % nodes).unwrap();
        }
    }
    text
}

#[test]
fn an_import_that_fills_the_disk_loses_nothing_and_goes_on_with_room() {
    let place = Place::new();
    place.file("few.txt", &edges(0, 500));
    place.file("many.txt", &edges(1_000_000, 300_000));
    place.file("some.txt", &edges(2_000_000, 1_000));
    let script = r#"
echo begun
try() { name=$1; shift; "$TW" "$@" >out.$name 2>err.$name; echo "$name: $?"; }
count() { try $1 query small/g.db "MATCH (n) OPTIONAL MATCH (n)-[r]->() RETURN 'nodes=' + count(DISTINCT n) + ' edges=' + count(r) AS x"; grep -o 'nodes=.*[0-9]' out.$1; }
try import import small/g.db --from few.txt
count before
try full import small/g.db --from many.txt
count after
try check check small/g.db
# A new database that does not fit is not there at all.
try new import small/new.db --from many.txt
ls -A small | tr '\n' ' '; echo
# Not even room for a commit.
head -c 64000000 /dev/zero >small/filler 2>/dev/null
try commit query small/g.db "UNWIND range(1, 200000) AS i CREATE (:Filler {i: i, text: toString(i)})"
count filled
rm small/filler
try some import small/g.db --from some.txt
count end
try sound check small/g.db
"#;
    let Some(said) = on_a_small_disk(&place, 6, script) else {
        eprintln!("skipped: no mount namespace for this test");
        return;
    };
    println!("{said}");
    let lines: Vec<&str> = said.lines().collect();
    let has = |line: &str| assert!(lines.contains(&line), "{line} is missing in\n{said}");
    let file = |name: &str| std::fs::read_to_string(place.path().join(name)).unwrap();
    for line in ["import: 0", "full: 1", "check: 0", "new: 1", "commit: 1", "some: 0", "sound: 0"] {
        has(line);
    }
    let counts: Vec<&&str> = lines.iter().filter(|line| line.starts_with("nodes=")).collect();
    assert_eq!(
        counts,
        [&"nodes=500 edges=1500"; 3].into_iter().chain([&"nodes=1500 edges=4500"]).collect::<Vec<_>>()
    );
    has("g.db ");
    for name in ["full", "new", "commit"] {
        let error = file(&format!("err.{name}"));
        assert!(error.contains("no space left on the disk"), "{name}: {error}");
        assert!(error.contains("hint: free some space"), "{name}: {error}");
        assert!(!error.contains("panicked"), "{name}: {error}");
    }
}
