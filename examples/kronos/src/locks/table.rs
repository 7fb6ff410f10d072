//! Holders and waiting calls of each lock.
//!
//! Invariant: in each line the tickets that have the lock come first: one that wants it alone, or all that share it up to the first that does not.

use std::collections::{HashMap, VecDeque};

/// The locks of one call.
pub(super) type Ticket = u64;

/// The result of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Acquired {
    /// All locks are had.
    Granted,
    /// The ticket stands in all lines.
    Waits,
    /// One is taken; nothing is changed.
    Refused,
}

#[derive(Default)]
pub(super) struct Table {
    lines: HashMap<u32, VecDeque<Place>>,
    wanted: HashMap<Ticket, Wanted>,
}

struct Place {
    ticket: Ticket,
    shared: bool,
    has: bool,
}

struct Wanted {
    names: Vec<u32>,
    /// Locks that it does not have yet.
    lacking: usize,
}

impl Table {
    /// `names` are ascending.
    pub(super) fn acquire(&mut self, ticket: Ticket, names: Vec<u32>, shared: bool, waits: bool) -> Acquired {
        let fits = |line: &VecDeque<Place>| line.is_empty() || shared && line.iter().all(|one| one.shared);
        if !waits && !names.iter().all(|name| self.lines.get(name).is_none_or(fits)) {
            return Acquired::Refused;
        }
        for name in &names {
            self.lines.entry(*name).or_default().push_back(Place { ticket, shared, has: false });
        }
        self.wanted.insert(ticket, Wanted { lacking: names.len(), names: names.clone() });
        let mut granted = Vec::new();
        names.iter().for_each(|name| self.hand_out(*name, &mut granted));
        if self.wanted[&ticket].lacking == 0 { Acquired::Granted } else { Acquired::Waits }
    }

    /// Returns the tickets that have all their locks from now on.
    pub(super) fn release(&mut self, ticket: Ticket) -> Vec<Ticket> {
        let Some(wanted) = self.wanted.remove(&ticket) else { return Vec::new() };
        let mut granted = Vec::new();
        for name in wanted.names {
            let Some(line) = self.lines.get_mut(&name) else { continue };
            line.retain(|one| one.ticket != ticket);
            if line.is_empty() {
                self.lines.remove(&name);
            } else {
                self.hand_out(name, &mut granted);
            }
        }
        granted
    }

    fn hand_out(&mut self, name: u32, granted: &mut Vec<Ticket>) {
        let Some(line) = self.lines.get_mut(&name) else { return };
        let sharing = line.iter().take_while(|one| one.shared).count().max(1);
        for place in line.iter_mut().take(sharing).filter(|place| !place.has) {
            place.has = true;
            if let Some(wanted) = self.wanted.get_mut(&place.ticket) {
                wanted.lacking -= 1;
                granted.extend((wanted.lacking == 0).then_some(place.ticket));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};
    use world::chance::Chance;

    /// The twin: all calls in their order; a ticket is granted when no earlier one that is still here wants one of its locks in a conflicting mode.
    struct Calls(BTreeMap<Ticket, (Vec<u32>, bool)>);

    impl Calls {
        fn granted(&self) -> BTreeSet<Ticket> {
            let in_the_way = |(names, shared): &(Vec<u32>, bool), other: &(Vec<u32>, bool)| {
                !(*shared && other.1) && names.iter().any(|name| other.0.contains(name))
            };
            let is_free = |(ticket, one): &(&Ticket, &(Vec<u32>, bool))| {
                // By each lock: those that wait for another one hold up who stands behind them.
                !self.0.range(..*ticket).any(|(_, earlier)| in_the_way(one, earlier))
            };
            self.0.iter().filter(is_free).map(|(ticket, _)| *ticket).collect()
        }
    }

    #[test]
    fn lines_are_as_all_calls_in_their_order() {
        for seed in 0..300 {
            let mut chance = Chance::seeded(seed);
            let (mut table, mut calls, mut had) = (Table::default(), Calls(BTreeMap::new()), BTreeSet::new());
            for ticket in 0..200 {
                let here: Vec<Ticket> = calls.0.keys().copied().collect();
                if !here.is_empty() && chance.below(2) == 0 {
                    let gone = here[chance.index(here.len())];
                    calls.0.remove(&gone);
                    had.remove(&gone);
                    had.extend(table.release(gone));
                }
                let mut names: Vec<u32> = (0..1 + chance.below(3)).map(|_| chance.below(6) as u32).collect();
                names.sort_unstable();
                names.dedup();
                let (shared, waits) = (chance.below(2) == 0, chance.below(2) == 0);
                calls.0.insert(ticket, (names.clone(), shared));
                match table.acquire(ticket, names, shared, waits) {
                    Acquired::Granted => drop(had.insert(ticket)),
                    Acquired::Waits => assert!(waits),
                    Acquired::Refused => {
                        assert!(!waits && !calls.granted().contains(&ticket), "seed {seed}");
                        calls.0.remove(&ticket);
                    }
                }
                assert_eq!(had, calls.granted(), "seed {seed}");
            }
            calls.0.keys().for_each(|ticket| drop(table.release(*ticket)));
            assert!(table.lines.is_empty() && table.wanted.is_empty());
        }
    }
}
