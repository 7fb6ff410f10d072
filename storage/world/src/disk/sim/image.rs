//! What the simulated disk holds: names and bytes, each as seen now and as surely kept, and the changes between.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::SECTOR_BYTES;
use crate::chance::Chance;

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Node {
    Folder,
    /// Index into the files of the disk; never reused.
    File(usize),
}

/// One change of names, not yet durable.
#[derive(Clone, Debug)]
pub(super) enum NameChange {
    Set { path: PathBuf, node: Node },
    Unset { path: PathBuf },
    Move { from: PathBuf, to: PathBuf, node: Node },
}

impl NameChange {
    pub(super) fn apply(&self, names: &mut BTreeMap<PathBuf, Node>) {
        match self {
            Self::Set { path, node } => {
                names.insert(path.clone(), *node);
            }
            Self::Unset { path } => {
                names.remove(path);
            }
            Self::Move { from, to, node } => {
                if names.get(from) == Some(node) {
                    names.remove(from);
                }
                names.insert(to.clone(), *node);
            }
        }
    }

    /// Whether syncing `folder` makes this change durable.
    pub(super) fn is_in(&self, folder: &Path) -> bool {
        match self {
            Self::Set { path, .. } | Self::Unset { path } => path.parent() == Some(folder),
            Self::Move { from, to, .. } => from.parent() == Some(folder) || to.parent() == Some(folder),
        }
    }
}

/// Which un-synced changes a power failure spares.
#[derive(Clone, Copy, Debug)]
pub(super) enum Loss {
    Nothing,
    Everything,
    /// All after a point.
    Tail {
        kept_of_1024: u64,
    },
    /// Each by itself: the disk had reordered them.
    Scattered,
}

impl Loss {
    pub(super) fn draw(chance: &mut Chance) -> Self {
        match chance.below(4) {
            0 => Self::Nothing,
            1 => Self::Everything,
            2 => Self::Tail { kept_of_1024: chance.below(1025) },
            _ => Self::Scattered,
        }
    }

    /// Whether change number `index` of `count` is found after the failure.
    pub(super) fn keeps(self, index: usize, count: usize, chance: &mut Chance) -> bool {
        match self {
            Self::Nothing => true,
            Self::Everything => false,
            Self::Tail { kept_of_1024 } => (index as u64) * 1024 < kept_of_1024 * count as u64,
            Self::Scattered => chance.below(2) == 0,
        }
    }
}

/// One change of bytes, not yet durable.
#[derive(Clone, Debug)]
pub(super) enum Change {
    Write { offset: u64, bytes: Vec<u8> },
    Truncate { length: u64 },
}

impl Change {
    fn apply(&self, image: &mut Vec<u8>) {
        match self {
            Self::Write { offset, bytes } => write(image, *offset, bytes),
            Self::Truncate { length } => {
                image.resize(usize::try_from(*length).expect("a simulated file fits in memory"), 0);
            }
        }
    }

    /// The change cut at the boundaries of sectors.
    fn in_sectors(&self) -> Vec<Self> {
        let Self::Write { offset, bytes } = self else { return vec![self.clone()] };
        let (mut pieces, mut start) = (Vec::new(), 0);
        while start < bytes.len() {
            let position = *offset + start as u64;
            let inside = usize::try_from(position % SECTOR_BYTES as u64).expect("smaller than a sector");
            let end = bytes.len().min(start + SECTOR_BYTES - inside);
            pieces.push(Self::Write { offset: position, bytes: bytes[start..end].to_vec() });
            start = end;
        }
        pieces
    }
}

fn write(image: &mut Vec<u8>, offset: u64, bytes: &[u8]) {
    // Nothing, wherever it is written, makes no file longer.
    if bytes.is_empty() {
        return;
    }
    let start = usize::try_from(offset).expect("a simulated file fits in memory");
    let end = start + bytes.len();
    if image.len() < end {
        image.resize(end, 0);
    }
    image[start..end].copy_from_slice(bytes);
}

/// How surely a change is found after a power failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// Not synced yet.
    Pending,
    /// A failed sync covered it: still seen, perhaps kept, never promised.
    Limbo,
    /// Synced, but listed because something in limbo lies before it.
    Synced,
}

/// The bytes of one file.
#[derive(Clone, Default)]
pub(super) struct FileImage {
    pub(super) current: Vec<u8>,
    /// What is surely kept, up to the first change in the list.
    durable: Vec<u8>,
    changes: Vec<(Change, Fate)>,
}

impl FileImage {
    pub(super) fn change(&mut self, change: Change) {
        change.apply(&mut self.current);
        self.changes.push((change, Fate::Pending));
    }

    pub(super) fn sync(&mut self) {
        if self.changes.iter().any(|(_, fate)| *fate == Fate::Limbo) {
            return self.settle(Fate::Synced);
        }
        for (change, _) in self.changes.drain(..) {
            change.apply(&mut self.durable);
        }
    }

    pub(super) fn fail_sync(&mut self) {
        self.settle(Fate::Limbo);
    }

    fn settle(&mut self, settled: Fate) {
        for (_, fate) in &mut self.changes {
            if *fate == Fate::Pending {
                *fate = settled;
            }
        }
    }

    pub(super) fn damage(&mut self, offset: u64, mask: u8) {
        let Ok(index) = usize::try_from(offset) else { return };
        for image in [&mut self.current, &mut self.durable] {
            if let Some(byte) = image.get_mut(index) {
                *byte ^= mask;
            }
        }
    }

    /// Keeps what was synced and a drawn part of the rest.
    pub(super) fn lose_power(&mut self, chance: &mut Chance) {
        let cut =
            |(change, fate): (Change, Fate)| change.in_sectors().into_iter().map(move |piece| (piece, fate));
        let pieces: Vec<(Change, Fate)> = self.changes.drain(..).flat_map(cut).collect();
        let loss = Loss::draw(chance);
        for (index, (piece, fate)) in pieces.iter().enumerate() {
            if *fate == Fate::Synced || loss.keeps(index, pieces.len(), chance) {
                piece.apply(&mut self.durable);
            }
        }
        self.current = self.durable.clone();
    }
}
