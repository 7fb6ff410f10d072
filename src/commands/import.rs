//! `tanglewood import`: other people's files into a database.

use super::Exit;
use super::folder::Whole;
use super::interrupted;
use super::units;
use clap::{Args, ValueEnum};
use database::{Error, GraphsonImport, ImportOptions, ImportReport, Options};
use indicatif::{ProgressBar, ProgressStyle};
use ingest::{ExistingPolicy, Layout, Progress};
use shell::text::count_text;
use shell::{Ink, Style};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Read files of other systems into a database; creates it if it does not exist
///
/// Reads a folder, a file or an archive into a database, all of it or nothing; creates the database if there is none. Files may be
/// compressed by gzip or zstd. Malformed lines are left out, counted, and the first ten shown.
#[derive(Args)]
#[command(after_help = "Layouts:
  ldbc     folders of LDBC SNB, such as social_network/dynamic/person_0_0.csv
  headers  CSV whose first line names columns: id:ID(Person),name,:LABEL and :START_ID,:END_ID,:TYPE
  edges    two ids a line, # comments; vertices get the property `id`, indexed
  graphson TinkerPop's files, one vertex a line with its outgoing edges

Examples:
  tanglewood import people.db --from social_network/
  tanglewood import web.db --from web-Google.txt.gz --label Page --type LINKS_TO")]
pub struct Import {
    /// Folder of the database, or :memory: to try the files out
    #[arg(value_name = "DB")]
    database: PathBuf,
    /// What to read: a folder or a file
    #[arg(long, value_name = "DIR_OR_FILE")]
    from: PathBuf,
    /// How the files are laid out
    #[arg(long, value_enum, default_value_t)]
    layout: LayoutName,
    /// Stop at the first malformed line, and change nothing
    #[arg(long)]
    strict: bool,
    /// What to do about nodes and relationships that the database has already
    #[arg(long, value_enum, default_value_t)]
    existing: ExistingName,
    /// Label of the vertices of edge lists [default: Node]
    #[arg(long, value_name = "LABEL")]
    label: Option<String>,
    /// Type of the edges of edge lists [default: EDGE]
    #[arg(long = "type", value_name = "TYPE")]
    edge_type: Option<String>,
    /// What separates fields, where the first line does not tell; `tab` for tabs
    #[arg(long, value_name = "CHAR", value_parser = delimiter)]
    delimiter: Option<u8>,
    /// Threads; one a core where not given
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Memory for the import beside the ids of its nodes, such as 2GB; what does not fit goes to a temporary file [default: about
    /// twice the graph]
    #[arg(long, value_name = "SIZE", value_parser = units::bytes)]
    memory: Option<u64>,
    /// Has no effect any more: the file's ids and all its values are always kept
    #[arg(long = "gremlin-multi-properties", hide = true)]
    _multi_properties: bool,
}

/// How files are laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum LayoutName {
    /// Decided by looking at names and first lines
    #[default]
    Auto,
    /// LDBC SNB folders
    Ldbc,
    /// CSV with typed headers
    Headers,
    /// Edge lists
    Edges,
    /// TinkerPop's GraphSON, one vertex a line
    Graphson,
}

/// What becomes of what is there already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum ExistingName {
    /// Import nothing, and say what is there
    #[default]
    Fail,
    /// Leave it as it is, and add the rest
    Skip,
    /// Set the properties of nodes that are there, and add the rest
    Merge,
}

impl Import {
    pub fn run(self) -> Result<(), Exit> {
        let bar = std::io::stderr().is_terminal().then(progress_bar);
        let options = self.options(bar.clone());
        let watch = interrupted::watch(Whole::unfinished(&self.database));
        let whole = watch.make(|| Whole::open(&self.database, Options::default()))?;
        let outcome = match self.layout {
            LayoutName::Graphson => whole.database().import_graphson(&self.graphson()),
            _ => whole.database().import(&options),
        };
        if let Some(bar) = bar {
            bar.finish_and_clear();
        }
        let report = outcome?;
        // Where nothing was imported, no empty database is left behind.
        let shown = show(&report);
        if !is_output_closed(&shown) {
            shown?;
        }
        watch.finish(|| whole.finish())
    }

    fn graphson(&self) -> GraphsonImport {
        GraphsonImport { from: self.from.clone() }
    }
    /// Beside the database, on the disk that has room for it.
    fn spill_folder(&self) -> Option<PathBuf> {
        let above = self.database.parent()?;
        let above = if above.as_os_str().is_empty() { Path::new(".") } else { above };
        world::files::is_folder(above).then(|| above.to_path_buf())
    }
    fn options(&self, bar: Option<ProgressBar>) -> ImportOptions {
        ImportOptions {
            from: self.from.clone(),
            layout: match self.layout {
                // GraphSON is read elsewhere.
                LayoutName::Auto | LayoutName::Graphson => Layout::Auto,
                LayoutName::Ldbc => Layout::Ldbc,
                LayoutName::Headers => Layout::Headers,
                LayoutName::Edges => Layout::Edges,
            },
            strict: self.strict,
            existing: match self.existing {
                ExistingName::Fail => ExistingPolicy::Fail,
                ExistingName::Skip => ExistingPolicy::Skip,
                ExistingName::Merge => ExistingPolicy::Merge,
            },
            threads: self.threads,
            progress: bar.map(|bar| Arc::new(move |progress: &Progress| follow(&bar, progress)) as _),
            vertex_label: self.label.clone(),
            edge_type: self.edge_type.clone(),
            delimiter: self.delimiter,
            memory_bytes: self.memory,
            stop: None,
            spill_folder: self.spill_folder(),
        }
    }
}

/// Nobody reads what is said; what was imported stays.
fn is_output_closed(shown: &Result<(), Exit>) -> bool {
    matches!(shown, Err(Exit::OutputClosed))
}

fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"tab" | b"\\t" => Ok(b'\t'),
        [byte] => Ok(*byte),
        _ => Err("one character is needed, such as | or tab".into()),
    }
}

fn progress_bar() -> ProgressBar {
    let template = "{msg:9} {bar:24.blue} {bytes}/{total_bytes} {elapsed}  {prefix}";
    let style = ProgressStyle::with_template(template).expect("the template is fixed and well formed");
    ProgressBar::new(0).with_style(style.progress_chars("━╸ "))
}

fn follow(bar: &ProgressBar, progress: &Progress) {
    bar.set_length(progress.bytes_total);
    bar.set_position(progress.bytes_done);
    bar.set_message(progress.phase);
    let (vertices, edges) = (count_text(progress.vertices), count_text(progress.edges));
    bar.set_prefix(format!("{vertices} vertices, {edges} edges"));
}

/// Plain digits, one fact a line: people and scripts read the same.
fn show(report: &ImportReport) -> Result<(), Exit> {
    let (mut out, style) = (world::files::stdout(), Style::of_stdout());
    writeln!(out, "vertices  {}", report.vertices)?;
    writeln!(out, "edges     {}", report.edges)?;
    if report.existing > 0 {
        writeln!(out, "existing  {}", report.existing)?;
    }
    writeln!(out, "seconds   {:.2}", report.seconds)?;
    writeln!(out, "rejected  {}", report.rejected)?;
    for line in &report.rejected_first {
        let place = format!("{}:{}", line.file.display(), line.line);
        writeln!(out, "  {}: {}", style.paint(Ink::Strong, &place), line.what)?;
    }
    let hidden = report.rejected.saturating_sub(report.rejected_first.len() as u64);
    if hidden > 0 {
        writeln!(out, "  and {hidden} more")?;
    }
    if !report.skipped.is_empty() {
        writeln!(out, "skipped   {}", report.skipped.len())?;
        for path in report.skipped.iter().take(ingest::REJECTED_SHOWN_MAX) {
            writeln!(out, "  {}", path.display())?;
        }
    }
    if report.vertices + report.edges == 0 && report.rejected > 0 {
        let message = format!("nothing was imported: all {} lines are malformed", report.rejected);
        return Err(Error::new("Neo.ClientError.Import.MalformedLine", message).into());
    }
    Ok(())
}
