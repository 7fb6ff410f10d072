//! Rows spilled to disk, by operators that hold more of them than their query has room for.
//!
//! Problem: a sort, a grouping or a join may have more rows than the memory of its query. Idea: an operator that buffers rows checks after each batch
//! how much the query could still hold ([`is_tight`]). Once that is less than the operator holds itself, it writes rows to a file of its own, in
//! pieces of about [`PIECE_BYTES`], and reads them again when the others are processed: a sort writes runs, the others write rows by the hash of
//! their keys.
//! Invariant: spilled bytes are counted against the user, the tenant and the machine until the query ends; a file is removed with its operator, and
//! files of a killed process are removed when the folder is opened again.
//! Cost: pieces are compressed (LZ4 blocks); writing and reading take place on the executor, a piece at a time.

use crate::ExecuteError;
use crate::columns::Gathering;
use crate::rows::Rows;
use dataflow::ledger::SpillExceeded;
use dataflow::{Context, Failure};
use expression::hash_columns;
use model::batch::Carried;
use model::{Batch, Column, Value};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use world::disk::{Disk, DiskFile, DiskLock, DiskResult, OpenHow};

/// Bytes of rows, serialised and not yet compressed, from which on a piece is written.
pub(crate) const PIECE_BYTES: usize = 64 << 10;
/// Rows of a piece at most.
pub(crate) const PIECE_ROWS: usize = 4_096;
/// An operator that holds less puts nothing aside: it would win next to nothing.
const HELD_BYTES_MIN: usize = 128 << 10;

/// Where a database puts rows of its queries aside.
pub struct SpillFolder {
    disk: Arc<dyn Disk>,
    folder: PathBuf,
    next: AtomicU64,
    written: AtomicU64,
    /// No other process or database uses the folder.
    _lock: Option<Box<dyn DiskLock>>,
}

/// The names of operators' files: a number, and this.
const FILE_END: &str = ".rows";
/// The file by which one database keeps others out of a folder that it does not own otherwise.
const LOCK_FILE: &str = "LOCK";

impl SpillFolder {
    /// In this folder of a database that is locked: files that a process left which was killed are removed.
    ///
    /// # Errors
    /// As the disk says.
    pub fn inside(disk: Arc<dyn Disk>, folder: &Path) -> DiskResult<SpillFolder> {
        SpillFolder::open(disk, folder, None)
    }
    /// In this folder, which is made and locked. Other files in it stay.
    ///
    /// # Errors
    /// As the disk says; another database uses it.
    pub fn alone(disk: Arc<dyn Disk>, folder: &Path) -> DiskResult<SpillFolder> {
        disk.create_dir_all(folder)?;
        let lock = disk.lock(&folder.join(LOCK_FILE))?;
        SpillFolder::open(disk, folder, Some(lock))
    }
    fn open(disk: Arc<dyn Disk>, folder: &Path, lock: Option<Box<dyn DiskLock>>) -> DiskResult<SpillFolder> {
        if disk.exists(folder)? {
            let is_own = |name: &String| {
                let number = name.strip_suffix(FILE_END);
                number.is_some_and(|number| number.parse::<u64>().is_ok())
            };
            for name in disk.list(folder)?.into_iter().filter(is_own) {
                disk.remove(&folder.join(name))?;
            }
        }
        Ok(SpillFolder {
            disk,
            folder: folder.to_path_buf(),
            next: AtomicU64::new(0),
            written: AtomicU64::new(0),
            _lock: lock,
        })
    }
    /// Bytes that were written in all.
    pub fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }
    /// A new file.
    fn create(self: &Arc<Self>) -> DiskResult<SpillFile> {
        self.disk.create_dir_all(&self.folder)?;
        let path = self.folder.join(format!("{}{FILE_END}", self.next.fetch_add(1, Ordering::Relaxed)));
        let file = self.disk.open(&path, OpenHow::CreateNew)?;
        Ok(SpillFile { file, path, folder: self.clone() })
    }
}

impl std::fmt::Debug for SpillFolder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SpillFolder({})", self.folder.display())
    }
}

/// Room that is left to all others: batches on their way, and loops inside expressions; and for each executor, whose twin may take a batch at the
/// same moment.
const RESERVE_BYTES: usize = 256 << 10;
const RESERVE_BYTES_EACH: usize = 128 << 10;

/// Has the query little room beside the bytes that an operator holds and needs for its output? It must have as much left as the operator holds: for
/// its twins, and for later operators that buffer rows as well.
pub(crate) fn is_tight(context: &Context<'_, Rows>, held: usize, needed: usize) -> bool {
    held >= HELD_BYTES_MIN
        && context.room() < (held + needed + RESERVE_BYTES + RESERVE_BYTES_EACH * context.executors()) as u64
}

/// A file of an operator, removed with it.
pub(crate) struct SpillFile {
    file: Box<dyn DiskFile>,
    path: PathBuf,
    folder: Arc<SpillFolder>,
}

/// Where a piece is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SpilledPiece {
    at: u64,
    /// Bytes in the file.
    len: usize,
    /// About the bytes that its rows take in memory.
    pub(crate) bytes: usize,
}

impl SpillFile {
    /// A file in this folder; none where rows may not be put aside.
    pub(crate) fn create(
        folder: Option<&Arc<SpillFolder>>,
        context: &mut Context<'_, Rows>,
    ) -> Result<Option<SpillFile>, Failure> {
        match folder {
            Some(folder) if may_spill(context)? => Ok(Some(folder.create().map_err(fault)?)),
            _ => Ok(None),
        }
    }
    /// Writes rows of this size.
    fn put(
        &self,
        batch: &Batch,
        bytes: usize,
        context: &mut Context<'_, Rows>,
    ) -> Result<SpilledPiece, Failure> {
        let copies = charge_copies(bytes, context)?;
        let mut plain = Vec::with_capacity(bytes.max(PIECE_BYTES));
        store::write_rows(batch, &mut plain);
        let compressed = lz4_flex::block::compress_prepend_size(&plain);
        context.charge_spilled(compressed.len() as u64)?;
        let at = self.file.append(&compressed).map_err(fault)?;
        self.folder.written.fetch_add(compressed.len() as u64, Ordering::Relaxed);
        context.release(copies);
        Ok(SpilledPiece { at, len: compressed.len(), bytes })
    }
    /// Reads them again; the caller charges them as long as they are kept.
    pub(crate) fn get(&self, piece: SpilledPiece, context: &mut Context<'_, Rows>) -> Result<Batch, Failure> {
        let unread = |why: &dyn std::fmt::Display| {
            ExecuteError::Spill(format!(
                "rows that were put aside in {} cannot be read: {why}",
                self.path.display()
            ))
        };
        let copies = charge_copies(piece.bytes, context)?;
        let mut compressed = vec![0; piece.len];
        let read = self.file.read_at(&mut compressed, piece.at).map_err(|error| unread(&error))?;
        if read < piece.len {
            return Err(unread(&"the file became shorter").into());
        }
        let bytes =
            lz4_flex::block::decompress_size_prepended(&compressed).map_err(|error| unread(&error))?;
        let rows = store::read_rows(&bytes).map_err(|error| unread(&error))?;
        context.release(copies);
        Ok(rows)
    }
}

/// Copies of a usual piece while it is written or read are covered by [`RESERVE_BYTES`]; those of a larger one are charged.
fn charge_copies(bytes: usize, context: &mut Context<'_, Rows>) -> Result<usize, Failure> {
    let copies = if bytes > 2 * PIECE_BYTES { 2 * bytes } else { 0 };
    context.charge(copies)?;
    Ok(copies)
}

/// Bytes of rows with flat columns, in which each row has its values for itself.
fn row_bytes(batch: &Batch) -> usize {
    let of_column = |column: &Column| match column {
        Column::Constant(value, rows) => rows * (size_of::<Value>() + value.heap_bytes()),
        Column::Text(texts, _) if texts.codes().is_some() => {
            (0..texts.len()).map(|row| texts.get(row).len() + size_of::<u32>()).sum()
        }
        column => column.bytes(),
    };
    (0..batch.width()).map(|at| of_column(batch.column(at).column())).sum()
}

impl Drop for SpillFile {
    fn drop(&mut self) {
        // What cannot be removed now is when the folder is opened again.
        let _ = self.folder.disk.remove(&self.path);
    }
}

/// May anything be put aside at all?
fn may_spill(context: &mut Context<'_, Rows>) -> Result<bool, Failure> {
    match context.charge_spilled(1) {
        Ok(()) => Ok(true),
        Err(failure) if failure.is::<SpillExceeded>() => Ok(false),
        Err(failure) => Err(failure),
    }
}

fn fault(error: world::disk::DiskError) -> ExecuteError {
    ExecuteError::Spill(format!("rows cannot be put aside on disk: {error}"))
}

/// Parts that rows are spread over by the hash of their keys.
pub(crate) const PARTS: usize = 16;
/// Bits of the hash for that.
const PART_BITS: u32 = PARTS.trailing_zeros();
/// Of a hash, the highest bits are kept in hash tables beside their entries (SwissTable).
const TABLE_BITS: u32 = 7;
/// Times that a part is spread over parts again at most: a hash has no more bits.
const LEVELS_MAX: u32 = u64::BITS / PART_BITS;
/// Pieces of parts are no smaller than this, however short memory is while they are filled.
const PIECE_BYTES_MIN: usize = 4 << 10;
/// Part of the room that the pieces of all parts take while they are filled.
const FILLING_PART: usize = 8;

/// Which part rows of a hash belong to.
pub(crate) fn part_of(hash: u64) -> usize {
    part_at(hash, 0)
}

/// The same of rows that were spread `level` times before. The bits by which tables distinguish keys come last.
fn part_at(hash: u64, level: u32) -> usize {
    (hash.rotate_left(TABLE_BITS) >> (u64::BITS - PART_BITS * (level + 1))) as usize % PARTS
}

/// Rows put aside by the hash of their keys, so that those of one key are in one part.
pub(crate) struct SpilledParts {
    file: Arc<SpillFile>,
    parts: Vec<SpilledRows>,
    level: u32,
}

/// One of the parts: rows in one file or in those of several operators.
#[derive(Clone)]
pub(crate) struct SpilledPart {
    sources: VecDeque<(Arc<SpillFile>, VecDeque<SpilledPiece>)>,
    number: usize,
    level: u32,
}

impl SpilledPart {
    /// The number of the part: parts of one number have rows of the same hashes.
    pub(crate) fn number(&self) -> usize {
        self.number
    }
    /// The next rows of the part; none at the end. The second number is the bytes to release after use.
    pub(crate) fn next(
        &mut self,
        context: &mut Context<'_, Rows>,
    ) -> Result<Option<(Batch, usize)>, Failure> {
        while let Some((file, pieces)) = self.sources.front_mut() {
            if let Some(piece) = pieces.pop_front() {
                context.charge(piece.bytes)?;
                return Ok(Some((file.get(piece, context)?, piece.bytes)));
            }
            self.sources.pop_front();
        }
        Ok(None)
    }
}

/// Combines the spilled parts of several operators, none of it spread more than once: rows of one key are in one part.
pub(crate) fn joined(parts: Vec<SpilledPart>) -> Vec<SpilledPart> {
    let mut joined: Vec<SpilledPart> = Vec::new();
    for mut part in parts {
        match joined.iter_mut().find(|other| other.number == part.number) {
            Some(other) => {
                other.sources.append(&mut part.sources);
                other.level = other.level.min(part.level);
            }
            None => joined.push(part),
        }
    }
    joined
}

impl SpilledParts {
    /// Rows of `width` columns, spread anew if they come from a part; none where rows may not be spilled.
    pub(crate) fn create(
        width: usize,
        of: Option<&SpilledPart>,
        folder: Option<&Arc<SpillFolder>>,
        context: &mut Context<'_, Rows>,
    ) -> Result<Option<SpilledParts>, Failure> {
        let level = of.map_or(0, |part| part.level + 1);
        if level == LEVELS_MAX {
            return Ok(None);
        }
        let Some(file) = SpillFile::create(folder, context)? else { return Ok(None) };
        let room = usize::try_from(context.room()).unwrap_or(usize::MAX);
        let piece_bytes = (room / FILLING_PART / PARTS).clamp(PIECE_BYTES_MIN, PIECE_BYTES);
        let rows = || SpilledRows { piece_bytes, ..SpilledRows::new(width) };
        Ok(Some(SpilledParts { file: Arc::new(file), parts: (0..PARTS).map(|_| rows()).collect(), level }))
    }
    /// Takes the given rows of a batch; the keys are of all its rows.
    pub(crate) fn take(
        &mut self,
        batch: &Batch,
        keys: &[Carried],
        rows: impl Iterator<Item = u32>,
        context: &mut Context<'_, Rows>,
    ) -> Result<(), Failure> {
        let mut hashes = Vec::new();
        hash_columns(keys, batch.len(), &mut hashes);
        let mut of_part: [Vec<u32>; PARTS] = Default::default();
        rows.for_each(|row| of_part[part_at(hashes[row as usize], self.level)].push(row));
        for (part, rows) in self.parts.iter_mut().zip(of_part) {
            if !rows.is_empty() {
                part.take(&batch.select(rows), &self.file, context)?;
            }
        }
        Ok(())
    }
    /// Bytes that wait to be written.
    pub(crate) fn bytes(&self) -> usize {
        self.parts.iter().map(SpilledRows::bytes).sum()
    }
    /// Writes the rest; returns the parts that have rows.
    pub(crate) fn finish(self, context: &mut Context<'_, Rows>) -> Result<Vec<SpilledPart>, Failure> {
        let mut parts = Vec::new();
        for (number, mut rows) in self.parts.into_iter().enumerate() {
            rows.write(&self.file, context)?;
            if !rows.is_empty() {
                let sources = VecDeque::from([(self.file.clone(), rows.pieces)]);
                parts.push(SpilledPart { sources, number, level: self.level });
            }
        }
        if let [only] = parts.as_mut_slice() {
            // Rows of one key stay together however often they are spread.
            only.level = LEVELS_MAX - 1;
        }
        Ok(parts)
    }
}

/// Rows on their way to a file, and where those are that are there.
pub(crate) struct SpilledRows {
    width: usize,
    last: Option<Gathering>,
    last_bytes: usize,
    piece_bytes: usize,
    pieces: VecDeque<SpilledPiece>,
}

impl SpilledRows {
    /// Rows of `width` columns.
    pub(crate) fn new(width: usize) -> SpilledRows {
        SpilledRows { width, last: None, last_bytes: 0, piece_bytes: PIECE_BYTES, pieces: VecDeque::new() }
    }
    /// Takes rows; writes a piece once there are enough.
    pub(crate) fn take(
        &mut self,
        batch: &Batch,
        file: &SpillFile,
        context: &mut Context<'_, Rows>,
    ) -> Result<(), Failure> {
        // Picks of columns count all that they pick from: what is counted is what will be written.
        let batch = batch.flatten();
        let bytes = row_bytes(&batch);
        if batch.len() > 1 && bytes > 2 * self.piece_bytes {
            let half = batch.len() / 2;
            self.take(&batch.slice(0, half), file, context)?;
            return self.take(&batch.slice(half, batch.len()), file, context);
        }
        self.last_bytes += bytes;
        self.last.get_or_insert_with(|| Gathering::new(self.width, 0)).append(&batch);
        let is_full = |last: &Gathering| last.len() >= PIECE_ROWS || self.last_bytes >= self.piece_bytes;
        if self.last.as_ref().is_some_and(is_full) { self.write(file, context) } else { Ok(()) }
    }
    /// Writes the rows that were taken and not yet written.
    pub(crate) fn write(&mut self, file: &SpillFile, context: &mut Context<'_, Rows>) -> Result<(), Failure> {
        let bytes = std::mem::take(&mut self.last_bytes);
        if let Some(last) = self.last.take() {
            self.pieces.push_back(file.put(&last.finish(), bytes, context)?);
        }
        Ok(())
    }
    /// Bytes that wait to be written.
    pub(crate) fn bytes(&self) -> usize {
        // What grows has room for up to as much again.
        2 * self.last_bytes
    }
    /// Bytes that the largest piece takes in memory.
    pub(crate) fn piece_bytes_max(&self) -> usize {
        self.pieces.iter().map(|piece| piece.bytes).max().unwrap_or(0)
    }
    /// The next piece that was written; none at the end.
    pub(crate) fn next(&mut self) -> Option<SpilledPiece> {
        self.pieces.pop_front()
    }
    pub(crate) fn is_empty(&self) -> bool {
        self.pieces.is_empty() && self.last.is_none()
    }
}
