//! The group of a replica: a number computed from the members that the group began with, sent with every message.
//!
//! Idea: replicas that were started with different lists of members would count different majorities. So messages of a replica with another list are
//! refused, with a note. A replica that joins takes the number of the group that first contacts it.
//! Invariant: a folder belongs to one group, and to one replica of it, for ever.

use crate::KronosServerError;
use crate::options::is_address;
use parking_lot::Mutex;
use replicate::{Members, ReplicaId, replica_id};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::{Request, Status};
use world::disk::{Disk, DiskError, replace_whole};

/// The metadata of messages between replicas: the group's number.
const GROUP_KEY: &str = "kronos-group";
/// The metadata of messages between replicas: where the sender is reached.
const SENDER_KEY: &str = "kronos-sender";
/// Senders that are remembered; the members of a group and those that come and go are fewer.
const SENDERS_MAX: usize = 64;
const FILE: &str = "GROUP";

/// The group's number, once it is known, and notes about others.
#[derive(Clone)]
pub(crate) struct Group {
    shared: Arc<Shared>,
}

struct Shared {
    disk: Arc<dyn Disk>,
    folder: PathBuf,
    address: String,
    number: Mutex<Option<u64>>,
    /// The addresses of senders: a replica that joins has no list of members yet, and must answer.
    senders: Mutex<HashMap<ReplicaId, String>>,
    /// By subject.
    notes: Mutex<Vec<(&'static str, String)>>,
}

impl Group {
    /// Reads the folder's group, or begins one there. `members` are empty for a replica that joins.
    ///
    /// # Errors
    /// The folder is another replica's, or cannot be read or written.
    pub(crate) fn open(
        disk: Arc<dyn Disk>,
        folder: &Path,
        address: &str,
        members: &Members,
    ) -> Result<Group, KronosServerError> {
        let file = folder.join(FILE);
        // A map, so the order in the list does not matter.
        let list: Vec<&str> = members.0.values().map(String::as_str).collect();
        let begun = (!list.is_empty()).then(|| replica_id(&list.join(",")));
        let kept = match disk.exists(&file).map_err(failed)? {
            true => Some(disk.read_whole(&file).map_err(failed)?),
            false => None,
        };
        let number = match &kept {
            Some(bytes) => owned(bytes, address, folder, list.len())?,
            None => begun,
        };
        let shared = Shared {
            disk,
            folder: folder.to_path_buf(),
            address: address.to_string(),
            number: Mutex::new(number),
            senders: Mutex::default(),
            notes: Mutex::default(),
        };
        let group = Group { shared: Arc::new(shared) };
        if kept.is_none() {
            group.keep(number).map_err(failed)?;
        }
        Ok(group)
    }

    fn keep(&self, number: Option<u64>) -> Result<(), DiskError> {
        let number = number.map_or("none".to_string(), |number| format!("{number:016x}"));
        let text = format!("group {number}\nreplica {}\n", self.shared.address);
        replace_whole(&*self.shared.disk, &self.shared.folder, FILE, text.as_bytes())
    }

    /// The number, for a message to another replica; nothing before it is known.
    pub(crate) fn shown(&self) -> Option<MetadataValue<Ascii>> {
        (*self.shared.number.lock()).and_then(|number| format!("{number:016x}").parse().ok())
    }
    /// Shows it.
    pub(crate) fn show<T>(&self, request: T) -> Request<T> {
        let mut request = Request::new(request);
        if let Some(number) = self.shown() {
            request.metadata_mut().insert(GROUP_KEY, number);
        }
        if let Ok(address) = self.shared.address.parse() {
            request.metadata_mut().insert(SENDER_KEY, address);
        }
        request
    }

    /// Remembers the address of the sender of an admitted message. The id is made of the address, so no sender can pose as another.
    pub(crate) fn remember_sender<T>(&self, request: &Request<T>) {
        let shown = request.metadata().get(SENDER_KEY).and_then(|value| value.to_str().ok());
        let Some(address) = shown.filter(|address| is_address(address)) else { return };
        let mut senders = self.shared.senders.lock();
        if senders.len() < SENDERS_MAX || senders.contains_key(&replica_id(address)) {
            senders.insert(replica_id(address), address.to_string());
        }
    }
    /// Where a replica that sent messages is reached.
    pub(crate) fn sender(&self, id: ReplicaId) -> Option<String> {
        self.shared.senders.lock().get(&id).cloned()
    }

    /// May this message come in?
    ///
    /// # Errors
    /// It is from a replica of another group.
    pub(crate) fn admit<T>(&self, request: &Request<T>) -> Result<(), Status> {
        let shown = request.metadata().get(GROUP_KEY).and_then(|value| value.to_str().ok());
        let Some(theirs) = shown.and_then(|shown| u64::from_str_radix(shown, 16).ok()) else {
            return Err(Status::failed_precondition("a message between replicas names its group"));
        };
        let mut number = self.shared.number.lock();
        match *number {
            Some(own) if own == theirs => Ok(()),
            Some(_) => {
                let from = request.remote_addr().map_or("somewhere".into(), |address| address.to_string());
                let what = "was started with another list of --peers, or is of another group: its messages are refused";
                self.note("another group", format!("a replica at {from} {what}"));
                Err(Status::failed_precondition(
                    "this replica was started with another list of --peers, or belongs to another group",
                ))
            }
            None => {
                self.keep(Some(theirs)).map_err(|error| Status::internal(error.to_string()))?;
                *number = Some(theirs);
                Ok(())
            }
        }
    }

    /// Something for the operator, said once for each subject.
    pub(crate) fn note(&self, subject: &'static str, note: String) {
        let mut notes = self.shared.notes.lock();
        if !notes.iter().any(|(known, _)| *known == subject) {
            notes.push((subject, note));
        }
    }
    /// The notes but for the first `read`.
    pub(crate) fn notes_from(&self, read: usize) -> Vec<String> {
        self.shared.notes.lock().iter().skip(read).map(|(_, note)| note.clone()).collect()
    }
}

/// The group of a folder, if it is this replica's.
fn owned(
    bytes: &[u8],
    address: &str,
    folder: &Path,
    members: usize,
) -> Result<Option<u64>, KronosServerError> {
    let text = std::str::from_utf8(bytes).ok();
    let (number, owner) = text
        .and_then(parsed)
        .ok_or_else(|| KronosServerError::Folder(format!("{} is damaged", folder.join(FILE).display())))?;
    // A replica that is alone may move: nobody else knows where it is.
    let is_alone = members == 1 && number == Some(replica_id(owner));
    if owner == address || is_alone {
        return Ok(number);
    }
    Err(KronosServerError::Folder(format!(
        "{} belongs to the replica {owner}, and this is {address}\nhint: give each replica a folder of its own; a replica keeps its \
         address",
        folder.display()
    )))
}

fn parsed(text: &str) -> Option<(Option<u64>, &str)> {
    let (group, replica) = text.split_once('\n')?;
    let owner = replica.trim_end().strip_prefix("replica ")?;
    match group.strip_prefix("group ")? {
        "none" => Some((None, owner)),
        number => Some((Some(u64::from_str_radix(number, 16).ok()?), owner)),
    }
}

fn failed(error: DiskError) -> KronosServerError {
    KronosServerError::Folder(error.to_string())
}
