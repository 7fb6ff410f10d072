//! The event dependency graph: events in a slab, edges, references, levels, and collection.
//!
//! ```text
//!   slot      0        1        2        3
//!           level 0  level 1  free     level 2        an edge leads from a lower level to a higher one
//!           refs 1   refs 0            refs 3         slot 1 has no reference: slot 0, before it, keeps it
//! ```
//!
//! Invariants, asserted by [`EventGraph::check`]: an edge leads to a higher level; an event counts the edges that lead to it; an event
//! without references and without such edges is free; a name fits one generation of its slot.
//! Cost: 32 bytes an event, 4 to 8 an edge.

use super::event::{EVENTS_LARGEST, EventId, EventOrder, KronosError, SnapshotError};
use super::lists::{List, Lists};
use super::search::Search;
use foldhash::fast::FixedState;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

const SEGMENT_EVENTS: usize = 1 << 14;
/// Levels are far from this: one step a call away from zero.
const LEVEL_LARGEST: u64 = 1 << 61;
/// Marks a free slot in place of its count of predecessors.
const FREE: u32 = u32::MAX;

/// Limits of a graph. Its replicas must have the same limits, since they decide which calls are refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct GraphLimits {
    /// Events at once; at most [`EVENTS_LARGEST`].
    pub events_max: u32,
    /// Edges at once.
    pub edges_max: u64,
}

impl Default for GraphLimits {
    fn default() -> Self {
        // About 4 GiB at 32 bytes an event and 8 an edge, with the references of sessions beside them.
        GraphLimits { events_max: 64 << 20, edges_max: 128 << 20 }
    }
}

/// Counters of a graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GraphCounts {
    /// Events that live.
    pub events: u64,
    /// Edges between them.
    pub edges: u64,
    /// References held.
    pub references: u64,
    /// Events created since the beginning.
    pub created: u64,
    /// Events collected since the beginning.
    pub collected: u64,
    /// Searches made by calls that change the graph.
    pub searches: u64,
    /// Events visited by them.
    pub visited: u64,
}

/// Events and which of them happens before which.
#[derive(Clone, Debug)]
pub struct EventGraph {
    pub(super) limits: GraphLimits,
    nonce: u32,
    segments: Vec<Box<[GraphEvent]>>,
    slots: u32,
    /// Free slots; the last one is taken first.
    free: Vec<u32>,
    lists: Lists,
    pub(super) search: Search,
    counts: GraphCounts,
}

#[derive(Clone, Copy, Debug)]
struct GraphEvent {
    level: i64,
    generation: u32,
    references: u32,
    /// Edges that lead here, or [`FREE`].
    predecessors: u32,
    after: List,
}

/// A graph without its slots, for a snapshot.
#[derive(Serialize, Deserialize, PartialEq, Eq, Debug)]
pub(super) struct GraphImage {
    nonce: u32,
    limits: GraphLimits,
    slots: u32,
    free: Vec<u32>,
    created: u64,
    collected: u64,
}

/// One slot of a snapshot.
#[derive(Serialize, Deserialize, PartialEq, Eq, Debug)]
pub(super) struct SlotImage {
    /// Counted from the nonce, so that it is a small number.
    generation: u32,
    live: bool,
    references: u32,
    level: i64,
    successors: Vec<u32>,
}

impl GraphEvent {
    fn free(generation: u32) -> GraphEvent {
        GraphEvent { level: 0, generation, references: 0, predecessors: FREE, after: List::default() }
    }
}

impl EventGraph {
    /// An empty graph. Graphs whose names must not be confused get different nonces.
    pub fn new(nonce: u32, limits: GraphLimits) -> EventGraph {
        EventGraph {
            limits: GraphLimits { events_max: limits.events_max.min(EVENTS_LARGEST), ..limits },
            nonce,
            segments: Vec::new(),
            slots: 0,
            free: Vec::new(),
            lists: Lists::default(),
            search: Search::default(),
            counts: GraphCounts::default(),
        }
    }

    /// New events, each with one reference, concurrent with all others.
    pub fn create_events(&mut self, count: u32) -> Result<Vec<EventId>, KronosError> {
        if self.counts.events + u64::from(count) > u64::from(self.limits.events_max) {
            return Err(KronosError::TooManyEvents { max: self.limits.events_max });
        }
        let fresh = u64::from(count).saturating_sub(self.free.len() as u64);
        if u64::from(self.slots) + fresh > u64::from(EVENTS_LARGEST) {
            return Err(KronosError::TooManyEvents { max: EVENTS_LARGEST });
        }
        self.counts.created += u64::from(count);
        self.counts.events += u64::from(count);
        self.counts.references += u64::from(count);
        Ok((0..count).map(|_| self.create()).collect())
    }

    fn create(&mut self) -> EventId {
        let slot = self.free.pop().unwrap_or_else(|| {
            if (self.slots as usize).is_multiple_of(SEGMENT_EVENTS) {
                self.segments.push(vec![GraphEvent::free(self.nonce); SEGMENT_EVENTS].into());
            }
            self.slots += 1;
            self.slots - 1
        });
        let event = self.event_mut(slot);
        (event.level, event.references, event.predecessors) = (0, 1, 0);
        EventId::new(slot, event.generation)
    }

    /// One more reference to each. An event may be named several times.
    pub fn acquire_refs(&mut self, events: &[EventId]) -> Result<(), KronosError> {
        for (at, id) in events.iter().enumerate() {
            let gained = self.slot(*id).and_then(|slot| {
                let event = self.event_mut(slot);
                event.references = event.references.checked_add(1).ok_or(KronosError::References(*id))?;
                Ok(())
            });
            if let Err(error) = gained {
                events[..at].iter().for_each(|id| self.event_mut(id.slot()).references -= 1);
                return Err(error);
            }
        }
        self.counts.references += events.len() as u64;
        Ok(())
    }

    /// One reference less to each; collects events without references that none before them pins. Returns how many were collected.
    pub fn release_refs(&mut self, events: &[EventId]) -> Result<u64, KronosError> {
        for (at, id) in events.iter().enumerate() {
            let lost = self.generation_slot(*id).and_then(|slot| {
                let event = self.event_mut(slot);
                event.references = event.references.checked_sub(1).ok_or(KronosError::References(*id))?;
                Ok(())
            });
            if let Err(error) = lost {
                events[..at].iter().for_each(|id| self.event_mut(id.slot()).references += 1);
                // With no reference before the call it is the name that is wrong, not the count.
                return Err(self.slot(*id).err().unwrap_or(error));
            }
        }
        self.counts.references -= events.len() as u64;
        let before = self.counts.collected;
        events.iter().for_each(|id| self.collect_from(id.slot()));
        Ok(self.counts.collected - before)
    }

    /// Releases `count` references to a slot that are known to be held.
    pub(super) fn release_all(&mut self, slot: u32, count: u32) {
        let event = self.event_mut(slot);
        debug_assert!(event.references >= count, "only held references are released");
        event.references -= count;
        self.counts.references -= u64::from(count);
        self.collect_from(slot);
    }

    /// How the first event of each pair stands to the second.
    pub fn query_order(&mut self, pairs: &[(EventId, EventId)]) -> Result<Vec<EventOrder>, KronosError> {
        let mut search = std::mem::take(&mut self.search);
        let answers = pairs.iter().map(|(this, that)| self.query_with(&mut search, *this, *that)).collect();
        self.search = search;
        answers
    }

    /// The same for one pair, with a memory of the caller's, so that several threads may ask at once.
    pub fn query_with(
        &self,
        search: &mut Search,
        this: EventId,
        that: EventId,
    ) -> Result<EventOrder, KronosError> {
        let (a, b) = self.pair(this, that)?;
        Ok(self.order_of(search, a, b))
    }

    pub(super) fn order_of(&self, search: &mut Search, a: u32, b: u32) -> EventOrder {
        if search.reaches(self, a, b) {
            EventOrder::Before
        } else if search.reaches(self, b, a) {
            EventOrder::After
        } else {
            EventOrder::Concurrent
        }
    }

    /// The counters.
    pub fn counts(&self) -> GraphCounts {
        GraphCounts { searches: self.search.searches(), visited: self.search.visited(), ..self.counts }
    }
    /// The limits that it was made with.
    pub fn limits(&self) -> GraphLimits {
        self.limits
    }
    /// Has no event ever been created?
    pub fn is_unused(&self) -> bool {
        self.slots == 0
    }
    /// The number of references to an event, from all holders.
    pub fn references(&self, id: EventId) -> Result<u32, KronosError> {
        Ok(self.event(self.slot(id)?).references)
    }
    /// The same by slot.
    pub(super) fn references_of_slot(&self, slot: u32) -> u32 {
        self.event(slot).references
    }
    /// Bytes of events, edges and the memory of searches.
    pub fn bytes(&self) -> usize {
        self.segments.len() * SEGMENT_EVENTS * size_of::<GraphEvent>()
            + self.free.capacity() * 4
            + self.lists.bytes()
            + self.search.bytes()
    }

    /// The slots of two events that can be named.
    pub(super) fn pair(&self, this: EventId, that: EventId) -> Result<(u32, u32), KronosError> {
        let (a, b) = (self.slot(this)?, self.slot(that)?);
        if a == b { Err(KronosError::Same(this)) } else { Ok((a, b)) }
    }

    /// The slot of an event that has a reference.
    pub(super) fn slot(&self, id: EventId) -> Result<u32, KronosError> {
        let slot = self.generation_slot(id)?;
        if self.event(slot).references == 0 { Err(KronosError::Released(id)) } else { Ok(slot) }
    }

    /// The slot of an event that lives.
    fn generation_slot(&self, id: EventId) -> Result<u32, KronosError> {
        let slot = id.slot();
        if slot >= self.slots {
            return Err(KronosError::Unknown(id));
        }
        let event = self.event(slot);
        let age = |generation: u32| generation.wrapping_sub(self.nonce);
        match age(id.generation()).cmp(&age(event.generation)) {
            std::cmp::Ordering::Less => Err(KronosError::Released(id)),
            std::cmp::Ordering::Equal if event.predecessors != FREE => Ok(slot),
            _ => Err(KronosError::Unknown(id)),
        }
    }

    /// An edge between two concurrent events. Raises levels where it must.
    pub(super) fn connect(&mut self, search: &mut Search, from: u32, to: u32) -> Result<(), KronosError> {
        if self.counts.edges >= self.limits.edges_max {
            return Err(KronosError::TooManyEdges { max: self.limits.edges_max });
        }
        let mut list = self.event(from).after;
        self.lists.push(&mut list, to);
        self.event_mut(from).after = list;
        self.event_mut(to).predecessors += 1;
        self.counts.edges += 1;
        let (low, high) = (self.level(from), self.level(to));
        if low >= high {
            if self.predecessors(from) == 0 {
                self.event_mut(from).level = high - 1;
            } else {
                self.raise(search, to, low + 1);
            }
        }
        Ok(())
    }

    /// Takes the last edge of an event back; levels stay, since they still hold.
    pub(super) fn disconnect(&mut self, from: u32, to: u32) {
        let mut list = self.event(from).after;
        let last = self.lists.pop(&mut list);
        debug_assert_eq!(last, Some(to), "edges are taken back in reverse order");
        self.event_mut(from).after = list;
        self.event_mut(to).predecessors -= 1;
        self.counts.edges -= 1;
    }

    /// Raises an event to a level, and those behind it above it. Goes by their old levels, upward, so that each is raised once.
    fn raise(&mut self, search: &mut Search, event: u32, level: i64) {
        if self.successors(event).iter().all(|after| self.level(*after) > level) {
            return self.event_mut(event).level = level;
        }
        // An event keeps its old level until its turn, since the old levels are the order of turns.
        let mut wanted = HashMap::<u32, i64, FixedState>::default();
        let mut open = BinaryHeap::from([(Reverse(self.level(event)), event)]);
        wanted.insert(event, level);
        while let Some((_, event)) = open.pop() {
            let level = wanted[&event];
            self.event_mut(event).level = level;
            for &after in self.successors(event) {
                let old = self.level(after);
                if old <= level {
                    let above = wanted.entry(after).or_insert_with(|| {
                        open.push((Reverse(old), after));
                        level + 1
                    });
                    *above = (*above).max(level + 1);
                }
            }
        }
        search.add_visited(wanted.len());
    }

    /// Collects an event and its successors, as far as they have no references and no predecessors.
    fn collect_from(&mut self, slot: u32) {
        let mut open = vec![slot];
        while let Some(slot) = open.pop() {
            let event = *self.event(slot);
            if event.references > 0 || event.predecessors != 0 {
                continue;
            }
            for &after in self.lists.targets(&event.after) {
                let behind =
                    &mut self.segments[after as usize / SEGMENT_EVENTS][after as usize % SEGMENT_EVENTS];
                behind.predecessors -= 1;
                if behind.predecessors == 0 && behind.references == 0 {
                    open.push(after);
                }
            }
            self.counts.edges -= event.after.len() as u64;
            self.counts.events -= 1;
            self.counts.collected += 1;
            let mut list = event.after;
            self.lists.clear(&mut list);
            let generation = event.generation.wrapping_add(1);
            *self.event_mut(slot) = GraphEvent::free(generation);
            // A slot whose generations are used up is not given again: its names would repeat.
            if generation != self.nonce {
                self.free.push(slot);
            }
        }
    }

    pub(super) fn slots(&self) -> usize {
        self.slots as usize
    }
    pub(super) fn level(&self, slot: u32) -> i64 {
        self.event(slot).level
    }
    pub(super) fn predecessors(&self, slot: u32) -> u32 {
        self.event(slot).predecessors
    }
    pub(super) fn successors(&self, slot: u32) -> &[u32] {
        self.lists.targets(&self.event(slot).after)
    }
    fn event(&self, slot: u32) -> &GraphEvent {
        &self.segments[slot as usize / SEGMENT_EVENTS][slot as usize % SEGMENT_EVENTS]
    }
    fn event_mut(&mut self, slot: u32) -> &mut GraphEvent {
        &mut self.segments[slot as usize / SEGMENT_EVENTS][slot as usize % SEGMENT_EVENTS]
    }

    pub(super) fn image(&self) -> GraphImage {
        GraphImage {
            nonce: self.nonce,
            limits: self.limits,
            slots: self.slots,
            free: self.free.clone(),
            created: self.counts.created,
            collected: self.counts.collected,
        }
    }
    pub(super) fn slot_image(&self, slot: u32) -> SlotImage {
        let event = self.event(slot);
        SlotImage {
            generation: event.generation.wrapping_sub(self.nonce),
            live: event.predecessors != FREE,
            references: event.references,
            level: event.level,
            successors: self.successors(slot).to_vec(),
        }
    }

    /// The graph of an image, with all slots free; each is then set once, from `bytes` bytes in all.
    pub(super) fn from_image(image: GraphImage, bytes: usize) -> Result<EventGraph, SnapshotError> {
        // A slot takes a byte and more, so that damage cannot ask for memory without bound.
        if image.slots as usize > bytes
            || image.slots > EVENTS_LARGEST
            || image.free.iter().any(|slot| *slot >= image.slots)
        {
            return Err(SnapshotError("its slots are out of bounds".into()));
        }
        let mut graph = EventGraph::new(image.nonce, image.limits);
        (graph.slots, graph.free) = (image.slots, image.free);
        let segments = (image.slots as usize).div_ceil(SEGMENT_EVENTS);
        graph.segments =
            (0..segments).map(|_| vec![GraphEvent::free(image.nonce); SEGMENT_EVENTS].into()).collect();
        (graph.counts.created, graph.counts.collected) = (image.created, image.collected);
        Ok(graph)
    }
    pub(super) fn set_slot(&mut self, slot: u32, image: &SlotImage) -> Result<(), SnapshotError> {
        if image.successors.iter().any(|after| *after >= self.slots || *after == slot) {
            return Err(SnapshotError(format!("an edge of slot {slot} leads out of bounds")));
        }
        let mut list = List::default();
        image.successors.iter().for_each(|after| self.lists.push(&mut list, *after));
        let generation = image.generation.wrapping_add(self.nonce);
        let event = self.event_mut(slot);
        (event.generation, event.references, event.level) = (generation, image.references, image.level);
        (event.predecessors, event.after) = (if image.live { 0 } else { FREE }, list);
        self.counts.events += u64::from(image.live);
        self.counts.edges += image.successors.len() as u64;
        self.counts.references += u64::from(image.references);
        Ok(())
    }
    /// Counts the edges to each event, when all slots are set.
    pub(super) fn finish_image(&mut self) -> Result<(), SnapshotError> {
        for slot in 0..self.slots {
            let list = self.event(slot).after;
            for at in 0..list.len() {
                let after = self.lists.targets(&list)[at];
                if self.level(after) <= self.level(slot) || self.predecessors(after) == FREE {
                    return Err(SnapshotError(format!("the edge from slot {slot} to {after} leads nowhere")));
                }
                self.event_mut(after).predecessors += 1;
            }
        }
        Ok(())
    }

    /// Asserts the invariants in the head of this file. Goes through everything.
    ///
    /// # Panics
    /// If an invariant does not hold.
    pub fn check(&self) {
        self.verify().expect("the graph keeps its invariants");
    }

    /// The same for a graph that was read: the first thing that is wrong with it.
    pub(super) fn verify(&self) -> Result<(), String> {
        let (mut events, mut edges, mut references) = (0, 0, 0_u64);
        let mut leading_to = vec![0_u32; self.slots()];
        let live = |slot: &u32| self.predecessors(*slot) != FREE;
        for slot in (0..self.slots).filter(live) {
            events += 1;
            references += u64::from(self.event(slot).references);
            if self.level(slot).unsigned_abs() > LEVEL_LARGEST {
                return Err(format!("slot {slot} has a level out of bounds"));
            }
            for &after in self.successors(slot) {
                if self.level(after) <= self.level(slot) {
                    return Err(format!(
                        "the edge from slot {slot} to {after} does not lead to a higher level"
                    ));
                }
                leading_to[after as usize] += 1;
                edges += 1;
            }
        }
        for slot in (0..self.slots).filter(live) {
            if leading_to[slot as usize] != self.predecessors(slot) {
                return Err(format!("slot {slot} does not count the edges that lead to it"));
            }
            if leading_to[slot as usize] == 0 && self.event(slot).references == 0 {
                return Err(format!("slot {slot} is garbage"));
            }
        }
        let counted = (self.counts.events, self.counts.edges, self.counts.references);
        if (events, edges, references) != counted {
            return Err(format!(
                "events, edges, references are {:?}, not {counted:?}",
                (events, edges, references)
            ));
        }
        self.verify_free()
    }

    /// Free slots are listed once, unless their generations are used up, and hold nothing.
    fn verify_free(&self) -> Result<(), String> {
        let mut listed = vec![false; self.slots()];
        for &slot in &self.free {
            if self.predecessors(slot) != FREE || std::mem::replace(&mut listed[slot as usize], true) {
                return Err(format!("slot {slot} is not free, or is listed twice"));
            }
        }
        let free = (0..self.slots).filter(|slot| self.predecessors(*slot) == FREE);
        for slot in free {
            let event = self.event(slot);
            let used_up = event.generation == self.nonce;
            if event.references > 0 || event.after.len() > 0 || listed[slot as usize] == used_up {
                return Err(format!("free slot {slot} is not as free slots are"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod damage_tests {
    use super::*;

    /// Events 0 → 1 → 2 and 3, of which 1 has no reference; 4 and 5 are free.
    fn graph() -> EventGraph {
        let mut graph = EventGraph::new(7, GraphLimits::default());
        let events = graph.create_events(6).expect("there is room");
        let mut search = std::mem::take(&mut graph.search);
        for (from, to) in [(0, 1), (1, 2)] {
            graph.connect(&mut search, from, to).expect("there is room");
        }
        graph.search = search;
        graph.release_refs(&[events[1], events[4], events[5]]).expect("they are held");
        graph.check();
        graph
    }

    type Damage = fn(&mut EventGraph);

    /// Each damage of a graph is found by itself, and valid values at the limits are not.
    #[test]
    fn every_damage_is_found() {
        let damages: [(&str, Damage); 16] = [
            ("a level too high", |graph| graph.event_mut(3).level = LEVEL_LARGEST as i64 + 1),
            ("a level too low", |graph| graph.event_mut(3).level = -(LEVEL_LARGEST as i64) - 1),
            ("an edge down", |graph| graph.event_mut(1).level = graph.level(0) - 1),
            ("an edge on one level", |graph| graph.event_mut(1).level = graph.level(0)),
            ("one predecessor too many", |graph| graph.event_mut(2).predecessors += 1),
            ("one predecessor too few", |graph| graph.event_mut(2).predecessors -= 1),
            ("garbage", |graph| {
                graph.event_mut(3).references = 0;
                graph.counts.references -= 1;
            }),
            ("a reference that is not counted", |graph| graph.event_mut(3).references += 1),
            ("an event that is not there", |graph| graph.counts.events += 1),
            ("an edge that is not there", |graph| graph.counts.edges -= 1),
            ("a free slot that lives", |graph| graph.free.push(3)),
            ("a free slot that is listed twice", |graph| graph.free.push(4)),
            ("a free slot that is not listed", |graph| graph.free.truncate(1)),
            ("a free slot with a reference", |graph| graph.event_mut(4).references = 1),
            ("a free slot with an edge", |graph| graph.event_mut(4).after = graph.event(0).after),
            ("a slot that is used up, and listed", |graph| graph.event_mut(4).generation = graph.nonce),
        ];
        for (what, damage) in damages {
            let mut damaged = graph();
            damage(&mut damaged);
            assert!(damaged.verify().is_err(), "{what}");
        }
        for level in [LEVEL_LARGEST as i64, -(LEVEL_LARGEST as i64), 0] {
            let mut sound = graph();
            sound.event_mut(3).level = level;
            assert_eq!(sound.verify(), Ok(()), "{level}");
        }
        let mut used_up = graph();
        let last = used_up.free.pop().expect("two are free");
        used_up.event_mut(last).generation = used_up.nonce;
        assert_eq!(used_up.verify(), Ok(()));
    }

    fn restored(image: GraphImage, slots: &[SlotImage]) -> Result<EventGraph, String> {
        let mut graph = EventGraph::from_image(image, 1 << 10).map_err(|error| error.to_string())?;
        for (slot, image) in (0..).zip(slots) {
            graph.set_slot(slot, image).map_err(|error| error.to_string())?;
        }
        graph.finish_image().map_err(|error| error.to_string())?;
        graph.verify().map(|()| graph)
    }

    /// An image is the graph again; with any one field out of bounds, or at odds with another, it is none.
    #[test]
    fn a_damaged_image_is_no_graph() {
        let whole = graph();
        let images = || -> (GraphImage, Vec<SlotImage>) {
            (whole.image(), (0..6).map(|slot| whole.slot_image(slot)).collect())
        };
        let (image, slots) = images();
        let again = restored(image, &slots).expect("nothing was changed");
        assert_eq!((again.counts(), again.image()), (whole.counts(), whole.image()));
        assert!((0..6).all(|slot| again.slot_image(slot) == whole.slot_image(slot)));
        type Change = fn(&mut GraphImage, &mut Vec<SlotImage>);
        let changes: [(&str, Change); 12] = [
            ("an edge to the first slot that is not there", |_, slots| slots[0].successors[0] = 6),
            ("an edge far out of bounds", |_, slots| slots[0].successors[0] = u32::MAX),
            ("an edge to itself", |_, slots| slots[0].successors[0] = 0),
            ("an edge back", |_, slots| slots[2].successors.push(0)),
            ("an edge to a free slot", |_, slots| slots[3].successors.push(4)),
            ("a free slot with an edge", |_, slots| slots[4].successors.push(2)),
            ("one free slot too many", |image, _| image.free.push(3)),
            ("a free slot out of bounds", |image, _| image.free.push(6)),
            ("more slots than bytes", |image, _| image.slots = (1 << 10) + 1),
            ("a level out of bounds", |_, slots| slots[3].level = LEVEL_LARGEST as i64 + 1),
            ("a live slot without anything", |_, slots| slots[3].references = 0),
            ("a slot that lives no more", |_, slots| slots[1].live = false),
        ];
        for (what, change) in changes {
            let (mut image, mut slots) = images();
            change(&mut image, &mut slots);
            assert!(restored(image, &slots).is_err(), "{what}");
        }
    }
}
