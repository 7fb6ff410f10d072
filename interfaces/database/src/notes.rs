//! Notes for the operator's log, buffered until there is a listener.

use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;

/// Notes that are buffered for a listener to come; beyond them the oldest is dropped.
const NOTES_MAX: usize = 1_000;

/// The receiver of notes.
type Listener = Arc<dyn Fn(&str) + Send + Sync>;

#[derive(Default)]
struct State {
    kept: VecDeque<String>,
    listener: Option<Listener>,
}

/// The notes of one database.
#[derive(Default)]
pub(crate) struct Notes(Mutex<State>);

impl Notes {
    /// Passes a note to the listener, or buffers it.
    pub fn add(&self, text: &str) {
        let mut state = self.0.lock();
        match state.listener.clone() {
            Some(listener) => {
                drop(state);
                listener(text);
            }
            None => {
                if state.kept.len() == NOTES_MAX {
                    state.kept.pop_front();
                }
                state.kept.push_back(text.to_string());
            }
        }
    }
    /// Passes the buffered notes, and all later ones, to a listener.
    pub fn listen(&self, listener: Listener) {
        let mut state = self.0.lock();
        let kept = std::mem::take(&mut state.kept);
        state.listener = Some(listener.clone());
        drop(state);
        kept.iter().for_each(|text| listener(text));
    }
}
