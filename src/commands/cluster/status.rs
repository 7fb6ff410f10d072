//! The status of a cluster: a file that its monitor renews.

use super::super::Exit;
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The file in the cluster's folder; there while the cluster is watched.
pub fn file(folder: &Path) -> PathBuf {
    folder.join("status.json")
}

/// Does a process of this number live?
pub fn lives(pid: u64) -> bool {
    // Ended and not waited for counts as ended.
    let state = world::files::read_text(Path::new(&format!("/proc/{pid}/stat")));
    match state {
        Ok(text) => !text.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z')),
        Err(_) => {
            !world::files::exists(Path::new("/proc/self/stat"))
                && super::up::shell("kill", &["-0", &pid.to_string()]).is_ok()
        }
    }
}

/// What is known now; nothing where the cluster is not up.
pub fn read(folder: &Path) -> Option<Value> {
    let text = world::files::read_text(&file(folder)).ok()?;
    let value: Value = serde_json::from_str(&text).ok()?;
    lives(value["watcher"].as_u64()?).then_some(value)
}

pub fn print(folder: &Path, as_json: bool) -> Result<(), Exit> {
    super::layout::Layout::read(&super::layout::file(folder))?;
    let value = read(folder).unwrap_or_else(|| json!({ "state": "down", "processes": [] }));
    let mut out = world::files::stdout();
    if as_json {
        writeln!(out, "{value:#}")?;
        return Ok(());
    }
    writeln!(out, "{}", value["state"].as_str().unwrap_or_default())?;
    for process in value["processes"].as_array().into_iter().flatten() {
        let name = format!("{} {}", process["role"].as_str().unwrap_or_default(), process["number"]);
        let interfaces = ["bolt", "gremlin", "http"].into_iter();
        let interfaces: Vec<String> = interfaces
            .filter_map(|interface| Some(format!("{interface} {}", process[interface].as_str()?)))
            .collect();
        writeln!(out, "  {name:<10} pid {:<8} {}", process["pid"].to_string(), interfaces.join("  "))?;
    }
    Ok(())
}
