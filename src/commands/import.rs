//! `tanglewood import`: other people's files into a database.

mod there;

use super::Exit;
use super::folder::Whole;
use super::interrupted;
use super::remote::{LogOn, OPEN, Remote, url};
use super::units;
use clap::{Args, ValueEnum};
use database::{Database, Error, GraphsonImport, ImportOptions, ImportReport, MEMORY, Options};
use indicatif::{ProgressBar, ProgressStyle};
use ingest::remote::is_url;
use ingest::{ExistingPolicy, Layout, MappedEdges, MappedNodes, Mapping, Progress, Understood};
use shell::text::count_text;
use shell::{Ink, Style};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Read files of other systems into a database; creates it if it does not exist
///
/// Reads a folder, a file or an archive into a database, all of it or nothing; creates the database if there is none. Files may be
/// compressed by gzip or zstd. Malformed lines are left out, counted, and the first ten shown. Where a server has the database open, the
/// files are read here and sent there, in pieces that become visible one after another.
#[derive(Args)]
#[command(after_help = "Layouts:
  ldbc     folders of LDBC SNB, such as social_network/dynamic/person_0_0.csv
  headers  CSV whose first line names columns: id:ID(Person),name,:LABEL and :START_ID,:END_ID,:TYPE
  edges    two ids a line, numbers or texts, # comments; vertices get the property `id`, indexed
  csv      CSV whose first line names columns and nothing more; what rows are, their columns tell, or --nodes and --edges
  graphson TinkerPop's files, one vertex a line with its outgoing edges

Files are known by how they begin, not by their names:
  CSV, also with tabs, semicolons or bars, in UTF-8, UTF-16 or Windows-1252; JSON, NDJSON, GraphSON;
  tables of pandas as JSON; Parquet; Arrow files and streams (Feather 2); lists of edges; graphs as
  GraphML, RDF (N-Triples, Turtle) or the JSON of networkx; what export writes (csv, jsonl,
  parquet, graphson); each also packed by gzip or zstd, or in a tar archive

Examples:
  tanglewood import people.db --nodes Person=people.csv:id --edges KNOWS=friends.csv:from:Person,to:Person
  tanglewood import people.db --from folder/ --dry-run
  tanglewood import people.db --from social_network/
  tanglewood import web.db --from web-Google.txt.gz --label Page --type LINKS_TO
  tanglewood import bolt://db.example.org --from folder/ --user ada")]
pub struct Import {
    /// Folder of the database, also while a server has it open; :memory: to try the files out; or a server's bolt://HOST:PORT
    #[arg(value_name = "DB")]
    database: PathBuf,
    /// What to read: a folder, a file, or a URL (https://, s3://, gs://, az://); - for standard input. Files of --nodes, --edges and --mapping are looked for in this folder
    #[arg(long, value_name = "DIR_OR_FILE", required_unless_present_any = ["nodes", "edges", "mapping"])]
    from: Option<PathBuf>,
    /// Rows that become nodes: their label, the file, and the column with their ids. Every other column becomes a property
    #[arg(long, value_name = "LABEL=FILE:ID", value_parser = ingest::nodes_flag)]
    nodes: Vec<MappedNodes>,
    /// Rows that become relationships: their type, the file, and for both ends the column with the node's id and the node's label
    #[arg(long, value_name = "TYPE=FILE:COLUMN:LABEL,COLUMN:LABEL", value_parser = ingest::edges_flag)]
    edges: Vec<MappedEdges>,
    /// A file of TOML that says what --nodes and --edges say, and more
    #[arg(long, value_name = "FILE", conflicts_with_all = ["nodes", "edges"])]
    mapping: Option<PathBuf>,
    /// Read and count everything, show what was understood, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// A word that stands for no value in ordinary CSV, beside an empty field and \\N
    #[arg(long = "null", value_name = "WORD")]
    nulls: Vec<String>,
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
    #[command(flatten)]
    log_on: LogOn,
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
    /// CSV whose first line names the columns
    Csv,
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

impl ExistingName {
    fn policy(self) -> ExistingPolicy {
        match self {
            ExistingName::Fail => ExistingPolicy::Fail,
            ExistingName::Skip => ExistingPolicy::Skip,
            ExistingName::Merge => ExistingPolicy::Merge,
        }
    }
}

impl Import {
    pub fn run(self) -> Result<(), Exit> {
        let bar = std::io::stderr().is_terminal().then(progress_bar);
        let options = self.options(bar.clone())?;
        if let Some(url) = url(&self.database) {
            let remote = self.log_on.at(url, None)?;
            return self.there(remote, &options, bar, &interrupted::watch(None));
        }
        let database = self.target();
        let watch = interrupted::watch(Whole::unfinished(database));
        let whole = match watch.make(|| Whole::open(database, Options::default())) {
            Err(Exit::Failed(refused)) if refused.code == OPEN => {
                let remote = self.log_on.beside_said(database, *refused, None)?;
                return self.there(remote, &options, bar, &watch);
            }
            opened => opened?,
        };
        let outcome = self.read(whole.database(), &options);
        if let Some(bar) = bar {
            bar.finish_and_clear();
        }
        let report = outcome?;
        // Where nothing was imported, no empty database is left behind.
        let shown = show(&report, self.dry_run);
        if !is_output_closed(&shown) {
            shown?;
        }
        watch.finish(|| whole.finish())
    }

    fn read(&self, database: &Database, options: &ImportOptions) -> Result<ImportReport, Error> {
        match self.layout {
            LayoutName::Graphson => database.import_graphson(&self.graphson()),
            _ => database.import(options),
        }
    }

    /// Reads the files here, and sends what they hold.
    fn there(
        &self,
        mut remote: Remote,
        options: &ImportOptions,
        bar: Option<ProgressBar>,
        watch: &interrupted::Watch,
    ) -> Result<(), Exit> {
        if matches!(self.layout, LayoutName::Graphson) {
            return Err(there::refused().into());
        }
        let started_ns = world::clock::monotonic_ns();
        let graph = Database::open(MEMORY, Options::default())?;
        // Of what is there already the server tells.
        let mut report = self.read(&graph, options)?;
        if !self.dry_run {
            watch.sends();
            let rows = report.vertices + report.edges;
            bar.iter().for_each(|bar| bar.set_style(style("{bar:24.blue} {elapsed}  {msg}")));
            let told = |sent: there::Sent| bar.iter().for_each(|bar| follow_sent(bar, sent, rows));
            let sent = there::send(&graph, &report.known_by, &mut remote, self.existing.policy(), &told);
            bar.iter().for_each(ProgressBar::finish_and_clear);
            let sent = sent?;
            (report.vertices, report.edges, report.existing) =
                (sent.nodes, sent.relationships, sent.existing);
            report.seconds = (world::clock::monotonic_ns() - started_ns) as f64 / 1e9;
        }
        show(&report, self.dry_run)
    }

    /// The database; one that is not there need not be made to try files out.
    fn target(&self) -> &Path {
        let is_missing = Whole::unfinished(&self.database).is_some();
        if self.dry_run && is_missing { Path::new(MEMORY) } else { &self.database }
    }
    fn graphson(&self) -> GraphsonImport {
        let (from, existing) = (self.from.clone().unwrap_or_default(), self.existing.policy());
        GraphsonImport { from, existing, dry_run: self.dry_run }
    }
    /// What flags or a file say of ordinary files.
    fn mapping(&self) -> Result<Mapping, Exit> {
        let folder = self.from.as_deref();
        if let Some(path) = &self.mapping {
            return Ok(Mapping::read(path, folder).map_err(Error::from)?);
        }
        let mut mapping = Mapping { nodes: self.nodes.clone(), edges: self.edges.clone() };
        if let Some(folder) = folder {
            let place = |file: &mut PathBuf| {
                if !file.to_str().is_some_and(is_url) {
                    *file = folder.join(&file);
                }
            };
            mapping.nodes.iter_mut().for_each(|nodes| place(&mut nodes.file));
            mapping.edges.iter_mut().for_each(|edges| place(&mut edges.file));
        }
        Ok(mapping)
    }
    /// Beside the database, on the disk that has room for it.
    fn spill_folder(&self) -> Option<PathBuf> {
        let above = self.database.parent()?;
        let above = if above.as_os_str().is_empty() { Path::new(".") } else { above };
        world::files::is_folder(above).then(|| above.to_path_buf())
    }
    fn options(&self, bar: Option<ProgressBar>) -> Result<ImportOptions, Exit> {
        let (told, is_dry) = (bar.clone(), self.dry_run);
        Ok(ImportOptions {
            from: self.from.clone().unwrap_or_default(),
            told_as: Vec::new(),
            mapping: self.mapping()?,
            nulls: self.nulls.clone(),
            dry_run: self.dry_run,
            understood: Some(Arc::new(move |file: &Understood| say(file, told.as_ref(), is_dry))),
            layout: match self.layout {
                // GraphSON is read elsewhere.
                LayoutName::Auto | LayoutName::Graphson => Layout::Auto,
                LayoutName::Ldbc => Layout::Ldbc,
                LayoutName::Headers => Layout::Headers,
                LayoutName::Edges => Layout::Edges,
                LayoutName::Csv => Layout::Csv,
            },
            strict: self.strict,
            existing: self.existing.policy(),
            threads: self.threads,
            progress: bar.map(|bar| Arc::new(move |progress: &Progress| follow(&bar, progress)) as _),
            vertex_label: self.label.clone(),
            edge_type: self.edge_type.clone(),
            delimiter: self.delimiter,
            memory_bytes: self.memory,
            stop: None,
            spill_folder: self.spill_folder(),
        })
    }
}

/// What a file was understood to be: what a dry run answers, else said beside the answer.
fn say(file: &Understood, bar: Option<&ProgressBar>, is_dry: bool) {
    let told = || match is_dry {
        // Who reads no more of it wants no more.
        true => drop(writeln!(world::files::stdout(), "{file}")),
        false => world::files::say(file),
    };
    match bar {
        Some(bar) => bar.suspend(told),
        None => told(),
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
    ProgressBar::new(0).with_style(style("{msg:9} {bar:24.blue} {bytes}/{total_bytes} {elapsed}  {prefix}"))
}

fn style(template: &'static str) -> ProgressStyle {
    let style = ProgressStyle::with_template(template).expect("templates are fixed and well formed");
    style.progress_chars("━╸ ")
}

fn follow(bar: &ProgressBar, progress: &Progress) {
    bar.set_length(progress.bytes_total);
    bar.set_position(progress.bytes_done);
    bar.set_message(progress.phase);
    let (vertices, edges) = (count_text(progress.vertices), count_text(progress.edges));
    bar.set_prefix(format!("{vertices} vertices, {edges} edges"));
}

fn follow_sent(bar: &ProgressBar, sent: there::Sent, rows: u64) {
    // Nodes are looked for and sent, so this is a little behind.
    bar.set_length(rows.max(sent.rows));
    bar.set_position(sent.rows);
    let (nodes, relationships) = (count_text(sent.nodes), count_text(sent.relationships));
    bar.set_message(format!("sending: {nodes} nodes, {relationships} relationships"));
}

/// Plain digits, one fact a line: people and scripts read the same.
fn show(report: &ImportReport, is_dry: bool) -> Result<(), Exit> {
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
    if is_dry {
        writeln!(out, "a dry run: nothing was changed")?;
    }
    if report.vertices + report.edges == 0 && report.rejected > 0 {
        let message = format!("nothing was imported: all {} lines are malformed", report.rejected);
        return Err(Error::new("Neo.ClientError.Import.MalformedLine", message).into());
    }
    Ok(())
}
