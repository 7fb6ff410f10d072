//! A network in memory: every process is a name, every frame may be lost, doubled or late, every link may be cut. Faults are drawn from a seed.

use super::{FRAME_BYTES_MAX, INBOX_FRAMES_MAX, Net, NetCounts};
use crate::chance::Chance;
use crate::clock;
use parking_lot::{Condvar, Mutex};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// The faults of each frame, as probabilities.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct NetFaults {
    /// It never comes.
    pub loss: f64,
    /// It comes twice.
    pub doubled: f64,
    /// It comes late, up to [`NetFaults::late_max`], and so out of order.
    pub late: f64,
    /// The longest that it is late.
    pub late_max: Duration,
}

struct Hub {
    chance: Chance,
    faults: NetFaults,
    number: u64,
    /// Frames by their time, for each name.
    inboxes: BTreeMap<String, BTreeMap<(u64, u64), Vec<u8>>>,
    cut: BTreeSet<(String, String)>,
    woken: BTreeSet<String>,
    counts: BTreeMap<String, NetCounts>,
}

struct Shared {
    hub: Mutex<Hub>,
    came: Condvar,
}

/// One process' end; all ends of one network share a hub.
pub struct SimNet {
    name: String,
    shared: Arc<Shared>,
}

impl SimNet {
    /// A network of processes with these names.
    pub fn network(names: &[&str], faults: NetFaults, seed: u64) -> Vec<SimNet> {
        let hub = Hub {
            chance: Chance::seeded(seed),
            faults,
            number: 0,
            inboxes: names.iter().map(|name| (name.to_string(), BTreeMap::new())).collect(),
            cut: BTreeSet::new(),
            woken: BTreeSet::new(),
            counts: BTreeMap::new(),
        };
        let shared = Arc::new(Shared { hub: Mutex::new(hub), came: Condvar::new() });
        names.iter().map(|name| SimNet { name: name.to_string(), shared: shared.clone() }).collect()
    }
    /// Nothing gets from one to the other any more; the other way is another link.
    pub fn cut(&self, from: &str, to: &str) {
        self.shared.hub.lock().cut.insert((from.to_string(), to.to_string()));
    }
    /// All links carry again.
    pub fn heal(&self) {
        self.shared.hub.lock().cut.clear();
    }
}

impl Hub {
    fn put(&mut self, to: &str, frame: Vec<u8>) -> bool {
        let (late, faults) = (self.chance.happens(self.faults.late), self.faults);
        let later = if late { self.chance.below(1 + faults.late_max.as_nanos() as u64) } else { 0 };
        self.number += 1;
        let key = (clock::monotonic_ns() + later, self.number);
        let inbox = self.inboxes.get_mut(to).filter(|inbox| inbox.len() < INBOX_FRAMES_MAX);
        inbox.map(|inbox| inbox.insert(key, frame)).is_some()
    }
}

impl Net for SimNet {
    fn address(&self) -> &str {
        &self.name
    }
    fn send(&self, to: &str, frame: Vec<u8>) {
        let mut hub = self.shared.hub.lock();
        let (loss, doubled) = (hub.faults.loss, hub.faults.doubled);
        let is_cut = hub.cut.contains(&(self.name.clone(), to.to_string()));
        let lost = is_cut || frame.len() > FRAME_BYTES_MAX || hub.chance.happens(loss);
        if !lost && hub.chance.happens(doubled) {
            hub.put(to, frame.clone());
        }
        let put = !lost && hub.put(to, frame);
        let counts = hub.counts.entry(self.name.clone()).or_default();
        counts.sent += u64::from(put);
        counts.dropped += u64::from(!put);
        drop(hub);
        self.shared.came.notify_all();
    }
    fn receive(&self, longest: Duration) -> Option<Vec<u8>> {
        let until_ns = clock::after_ns(longest);
        let mut hub = self.shared.hub.lock();
        loop {
            let now_ns = clock::monotonic_ns();
            let first = hub.inboxes.get_mut(&self.name)?.first_entry();
            let due_ns = match first {
                Some(frame) if frame.key().0 <= now_ns => {
                    let frame = frame.remove();
                    hub.counts.entry(self.name.clone()).or_default().received += 1;
                    return Some(frame);
                }
                Some(frame) => frame.key().0.min(until_ns),
                None => until_ns,
            };
            if until_ns <= now_ns || hub.woken.remove(&self.name) {
                return None;
            }
            self.shared.came.wait_for(&mut hub, Duration::from_nanos(due_ns - now_ns));
        }
    }
    fn wake(&self) {
        self.shared.hub.lock().woken.insert(self.name.clone());
        self.shared.came.notify_all();
    }
    fn counts(&self) -> NetCounts {
        self.shared.hub.lock().counts.get(&self.name).copied().unwrap_or_default()
    }
}
