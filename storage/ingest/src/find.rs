//! Finds the files to import: a file, all files of a folder and the folders in it, or the content of a tar archive.
//!
//! An archive is unpacked into a temporary folder that goes away with the import, since its files are needed in another order than
//! they come in; messages name them by their place in the archive.

use crate::export::{self, SCHEMA_FILE};
use crate::source::{self, InputFile};
use crate::stage::{DefaultNames, graphml, lines, node_link, rdf};
use crate::staged::IdNames;
use crate::{DEFAULT_EDGE_TYPE, DEFAULT_VERTEX_LABEL, ImportError, ImportOptions, columnar, json_rows};
use std::collections::BTreeMap;
use std::io::Write;
#[cfg(feature = "archives")]
use std::path::Component;
use std::path::{Path, PathBuf};
#[cfg(feature = "archives")]
use std::sync::Arc;
use world::files::{self, TemporaryFolder};

/// Folders deeper than this are not looked into: a link may lead back up.
const FOLDER_DEPTH_MAX: usize = 16;
/// Files one import may read.
const FILE_COUNT_MAX: usize = 1 << 20;
/// Where a tar archive says that it is one.
const TAR_MAGIC_AT: usize = 257;

/// The files, sorted by path, and the folders they were unpacked to, if any.
pub(crate) struct Inputs {
    pub files: Vec<InputFile>,
    /// Which of them lie at each path that a mapping names.
    pub by_path: BTreeMap<PathBuf, Vec<usize>>,
    unpacked: Vec<TemporaryFolder>,
    /// Columns that hold ids, as a mapping says.
    ids: IdNames,
    names: DefaultNames,
}

/// The format of a file, by its first bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FileForm {
    /// Lines of text.
    Text,
    /// A graph as an object of JSON a line.
    Lines,
    /// A graph as one object of JSON with nodes and links.
    NodeLink,
    GraphMl,
    /// N-Triples or Turtle.
    Triples,
    /// Parquet or Arrow.
    Columns,
    /// Rows of JSON.
    Json,
}

fn form(file: &InputFile) -> Result<FileForm, ImportError> {
    Ok(if lines::is_graph_of_lines(file)? {
        FileForm::Lines
    } else if columnar::is_columnar(file)? {
        FileForm::Columns
    } else if graphml::is_graphml(file)? {
        FileForm::GraphMl
    } else if rdf::is_rdf(file)? {
        FileForm::Triples
    } else if node_link::is_node_link(file)? {
        FileForm::NodeLink
    } else if json_rows::is_json(file)? {
        FileForm::Json
    } else {
        FileForm::Text
    })
}

/// Everything that is to be read.
pub(crate) fn inputs(options: &ImportOptions) -> Result<Inputs, ImportError> {
    let names = DefaultNames {
        label: options.vertex_label.clone().unwrap_or_else(|| DEFAULT_VERTEX_LABEL.into()),
        edge_type: options.edge_type.clone().unwrap_or_else(|| DEFAULT_EDGE_TYPE.into()),
    };
    let (files, by_path, unpacked) = Default::default();
    let mut inputs = Inputs { files, by_path, unpacked, ids: options.mapping.ids(), names };
    if options.mapping.is_empty() {
        inputs.add(&options.from, &options.shown(&options.from))?;
    }
    for path in options.mapping.files() {
        let first = inputs.files.len();
        inputs.add(path, &options.shown(path))?;
        if inputs.files.len() == first {
            let what = "it is a folder or an archive without files".into();
            return Err(ImportError::Read { path: options.shown(path), what });
        }
        inputs.by_path.insert(path.to_path_buf(), (first..inputs.files.len()).collect());
    }
    Ok(inputs)
}

impl Inputs {
    /// Everything at `from`, which messages call `shown`.
    fn add(&mut self, from: &Path, shown: &Path) -> Result<(), ImportError> {
        if from == Path::new("-") {
            return self.add_standard_input();
        }
        if !files::exists(from) {
            return Err(ImportError::NotFound { path: shown.to_path_buf() });
        }
        if files::is_folder(from) {
            let first = self.files.len();
            walk(from, from, shown, 0, &mut self.files)?;
            return self.stage(first);
        }
        self.add_file(InputFile::new(from.to_path_buf(), shown.to_path_buf())?, shown)
    }
    /// Adds a file, or the content of an archive.
    fn add_file(&mut self, file: InputFile, shown: &Path) -> Result<(), ImportError> {
        let is_archive =
            source::head(&file)?.get(TAR_MAGIC_AT..).is_some_and(|rest| rest.starts_with(b"ustar"));
        let first = self.files.len();
        if !is_archive {
            self.files.push(file);
            return self.stage(first);
        }
        let folder = unpack(&file)?;
        walk(folder.path(), folder.path(), shown, 0, &mut self.files)?;
        self.unpacked.push(folder);
        self.stage(first)
    }
    /// Puts tables in place of files that are none, from the file `first` on: those before are known already.
    fn stage(&mut self, first: usize) -> Result<(), ImportError> {
        let mut triples = Vec::new();
        for file in self.files.split_off(first) {
            match form(&file)? {
                FileForm::Text => self.files.push(file),
                FileForm::Triples => triples.push(file),
                form => {
                    let folder = TemporaryFolder::new("import")?;
                    let made = self.tables(form, &file, folder.path());
                    let made = made.map_err(|error| error.of_file(&file.shown))?;
                    self.files.extend(made);
                    self.unpacked.push(folder);
                }
            }
        }
        if !triples.is_empty() {
            // What is said of a resource may stand in any of them.
            let folder = TemporaryFolder::new("import")?;
            self.files.extend(rdf::tables(&triples, folder.path())?);
            self.unpacked.push(folder);
        }
        Ok(())
    }
    /// Makes tables of a file that is none, in a folder.
    fn tables(&self, form: FileForm, file: &InputFile, folder: &Path) -> Result<Vec<InputFile>, ImportError> {
        // Ids of such a file mean nothing in another.
        let group = || format!("file {}", self.unpacked.len());
        match form {
            FileForm::Lines => lines::tables(file, folder),
            FileForm::NodeLink => node_link::tables(file, folder, group(), &self.names),
            FileForm::GraphMl => graphml::tables(file, folder, group(), &self.names),
            FileForm::Columns => Ok(vec![columnar::rows(file, folder, &self.ids)?]),
            FileForm::Json => Ok(vec![json_rows::rows(file, folder, &self.ids)?]),
            FileForm::Text | FileForm::Triples => Ok(Vec::new()),
        }
    }
    /// Standard input is read more than once, so it is put into a file.
    fn add_standard_input(&mut self) -> Result<(), ImportError> {
        let folder = TemporaryFolder::new("import")?;
        let path = folder.path().join("stdin");
        let mut writer = files::create_writer(&path)?;
        let shown = PathBuf::from("-");
        let unreadable =
            |error: std::io::Error| ImportError::Read { path: shown.clone(), what: error.to_string() };
        std::io::copy(&mut files::stdin(), &mut writer).map_err(unreadable)?;
        writer.flush().map_err(unreadable)?;
        self.unpacked.push(folder);
        self.add_file(InputFile::new(path, shown.clone())?, &shown)
    }
}

/// The statements of the schema that lie beside or in the files.
pub(crate) fn schema(options: &ImportOptions) -> Result<Vec<String>, ImportError> {
    let from = &options.from;
    if !options.mapping.is_empty() || !files::exists(from) {
        return Ok(Vec::new());
    }
    if !files::is_folder(from) {
        let file = InputFile::new(from.clone(), from.clone())?;
        return if lines::is_graph_of_lines(&file)? { lines::schema(&file) } else { Ok(Vec::new()) };
    }
    let beside = from.join(SCHEMA_FILE);
    if files::exists(&beside) {
        return Ok(export::statements(&files::read_text(&beside)?));
    }
    let (mut found, mut statements) = (Vec::new(), Vec::new());
    walk(from, from, from, 0, &mut found)?;
    for file in found {
        if lines::is_graph_of_lines(&file)? {
            statements.extend(lines::schema(&file)?);
        }
    }
    Ok(statements)
}

fn walk(
    folder: &Path,
    root: &Path,
    shown: &Path,
    depth: usize,
    found: &mut Vec<InputFile>,
) -> Result<(), ImportError> {
    if depth > FOLDER_DEPTH_MAX {
        return Ok(());
    }
    for path in files::list_folder(folder)? {
        let hidden = path.file_name().is_none_or(|name| name.to_string_lossy().starts_with('.'));
        let is_schema = depth == 0 && path.file_name().is_some_and(|name| name == SCHEMA_FILE);
        if hidden || is_schema {
            continue;
        }
        if files::is_folder(&path) {
            walk(&path, root, shown, depth + 1, found)?;
            continue;
        }
        if found.len() >= FILE_COUNT_MAX {
            let what = format!("the folder holds more than {FILE_COUNT_MAX} files");
            return Err(ImportError::Read { path: shown.to_path_buf(), what });
        }
        let inner = path.strip_prefix(root).unwrap_or(&path);
        let shown = shown.join(inner);
        found.push(InputFile::new(path, shown)?);
    }
    Ok(())
}

#[cfg(not(feature = "archives"))]
fn unpack(archive: &InputFile) -> Result<TemporaryFolder, ImportError> {
    Err(ImportError::left_out(&archive.shown, "a tar archive", "archives"))
}

#[cfg(feature = "archives")]
fn unpack(archive: &InputFile) -> Result<TemporaryFolder, ImportError> {
    let unreadable = |error: std::io::Error| archive.unreadable(&error);
    let folder = TemporaryFolder::new("import")?;
    let mut reader = tar::Archive::new(source::open(archive, Arc::default())?);
    for entry in reader.entries().map_err(unreadable)? {
        let mut entry = entry.map_err(unreadable)?;
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let inside = inside(&entry.path().map_err(unreadable)?);
        let path = folder.path().join(inside);
        files::create_folder(path.parent().unwrap_or(folder.path()))?;
        let mut writer = files::create_writer(&path)?;
        std::io::copy(&mut entry, &mut writer).map_err(unreadable)?;
        writer.flush().map_err(unreadable)?;
    }
    Ok(folder)
}

/// The path without anything that would lead out of the folder it is put into.
#[cfg(feature = "archives")]
fn inside(path: &Path) -> PathBuf {
    path.components().filter(|part| matches!(part, Component::Normal(_))).collect()
}
