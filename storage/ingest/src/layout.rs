//! The layout of files: as requested, or detected from their names and first lines.

use crate::edge_list::{self, EdgeLists};
use crate::find::Inputs;
use crate::plain::{self, Habits};
use crate::source::InputFile;
use crate::table::{IdKind, SpaceNo, Tables};
use crate::{ImportError, ImportOptions, Layout, Understood, guess, headers, ldbc};
use std::path::PathBuf;
use store::Names;

/// The plan for the files.
pub(crate) enum Plan {
    Tables(Tables),
    EdgeLists(EdgeLists),
}

impl Plan {
    /// Ids of this space turned out not to be integers all.
    pub fn take_ids_as_text(&mut self, space: SpaceNo) {
        if let Plan::Tables(plan) = self {
            plan.spaces[space].kind = IdKind::Text;
        }
    }
    /// The detected meaning of ordinary files.
    pub fn understood(&self) -> &[Understood] {
        match self {
            Plan::Tables(plan) => &plan.understood,
            Plan::EdgeLists(_) => &[],
        }
    }
    /// Files that will be read.
    pub fn files(&self) -> Vec<usize> {
        match self {
            Plan::Tables(plan) => plan.tables.iter().map(|table| table.file).collect(),
            Plan::EdgeLists(lists) => lists.files.iter().map(|file| file.file).collect(),
        }
    }
    /// Files that will not.
    pub fn skipped(&self) -> Vec<PathBuf> {
        match self {
            Plan::Tables(plan) => plan.skipped.clone(),
            Plan::EdgeLists(lists) => lists.skipped.clone(),
        }
    }
}

/// Recognises the files.
pub(crate) fn recognise(
    inputs: &Inputs,
    options: &ImportOptions,
    names: &Names,
) -> Result<Plan, ImportError> {
    let files = &inputs.files;
    if !options.mapping.is_empty() {
        let mapped = plain::mapped(&options.mapping, &inputs.by_path);
        return Ok(Plan::Tables(plain::tables(files, &mapped, Habits::default(), options, names)?));
    }
    let layout = match options.layout {
        Layout::Auto => find_out(files, options)?,
        asked => asked,
    };
    let plan = match layout {
        Layout::Csv => Plan::Tables(guess::tables(files, options, names)?),
        Layout::Ldbc => Plan::Tables(ldbc::tables(files, options, names)?),
        Layout::Headers => Plan::Tables(headers::tables(files, options, names)?),
        Layout::Auto | Layout::Edges => {
            let lists = edge_list::edge_lists(files, options)?;
            match lists.files.is_empty() {
                true => Plan::Tables(guess::text_edges(files, options, names)?),
                false => Plan::EdgeLists(lists),
            }
        }
    };
    if plan.files().is_empty() {
        return Err(ImportError::Nothing { path: options.from.clone(), layout: options.layout });
    }
    Ok(plan)
}

fn find_out(files: &[InputFile], options: &ImportOptions) -> Result<Layout, ImportError> {
    if ldbc::is_ldbc(files) {
        return Ok(Layout::Ldbc);
    }
    // A file that cannot be read is met again by whoever reads it.
    let has_header = |file: &InputFile| {
        if file.staged.is_some() {
            return false;
        }
        let line = headers::first_record(file).ok().flatten();
        line.is_some_and(|line| headers::is_header(&line, options.delimiter))
    };
    if files.iter().any(has_header) {
        return Ok(Layout::Headers);
    }
    Ok(if guess::is_csv(files, options)? { Layout::Csv } else { Layout::Edges })
}
