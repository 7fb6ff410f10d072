//! Graphs of one kind of vertex and one of edge as files, and how they are imported: vertices `N` with an `id`, edges `E`.

use database::ImportOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use world::files;

/// Writes an edge a line, source before target.
pub(crate) fn write(file: &Path, edges: impl IntoIterator<Item = (u32, u32)>) -> Result<(), String> {
    lines(file, edges.into_iter().map(|(source, target)| format!("{source} {target}")))
}

/// The same with a weight behind them.
pub(crate) fn write_weighted(
    file: &Path,
    edges: impl IntoIterator<Item = (u32, u32, u32)>,
) -> Result<(), String> {
    lines(file, edges.into_iter().map(|(source, target, weight)| format!("{source} {target} {weight}")))
}

fn lines(file: &Path, mut lines: impl Iterator<Item = String>) -> Result<(), String> {
    let mut writer = files::create_writer(file).map_err(|error| error.to_string())?;
    let written = lines.try_for_each(|line| writeln!(writer, "{line}"));
    written.and_then(|()| writer.flush()).map_err(|error| error.to_string())
}

/// How such a file is imported.
pub(crate) fn options(file: impl Into<PathBuf>) -> ImportOptions {
    ImportOptions {
        from: file.into(),
        vertex_label: Some("N".into()),
        edge_type: Some("E".into()),
        ..ImportOptions::default()
    }
}
