//! Counters of one executor for one query, without atomics, added to the query's shared counters after each turn.

use crate::Message;
use crate::accounting::tablets::NO_TABLET;
use crate::accounting::watch::Paused;
use crate::queries::links::Shared;
use crate::terms::limits::LONG_CALL_NS;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use world::clock::thread_cpu_ns;

#[derive(Clone, Default)]
pub(crate) struct VertexCounts {
    pub(crate) operators: u64,
    pub(crate) gone: u64,
    pub(crate) arrived: u64,
    pub(crate) left: u64,
    pub(crate) messages_in: u64,
    pub(crate) rows_in: u64,
    pub(crate) rows_out: u64,
    pub(crate) batches: u64,
    pub(crate) cpu_ns: u64,
    pub(crate) overruns: u64,
    /// The longest call.
    pub(crate) longest_ns: u64,
    /// Some count is not zero.
    touched: bool,
}

#[derive(Clone, Default)]
pub(crate) struct ScopeCounts {
    pub(crate) opened: u64,
    pub(crate) cancelled: u64,
    pub(crate) ended: u64,
}

/// Counters since the last hand-over.
pub(crate) struct Tally {
    vertices: Vec<VertexCounts>,
    touched: Vec<u32>,
    scopes: Vec<ScopeCounts>,
    /// Time by tablet; as many as there are once one was worked for.
    tablets: Vec<u64>,
    /// Work by tablet that operators reported since the clock was last read, how many tablets that are, and how many of the calls since.
    worked: Vec<u64>,
    worked_on: Vec<u32>,
    tellers: u64,
    tells: bool,
    /// Called since the clock was last read, and for which tablet.
    unread: Vec<(u32, u32)>,
    read_ns: u64,
    /// The last reading of processor time; at a call's begin or shortly before.
    cpu_ns: u64,
}

fn add(to: &AtomicU64, from: &mut u64) {
    if *from > 0 {
        to.fetch_add(std::mem::take(from), Relaxed);
    }
}

impl Tally {
    pub(crate) fn new(vertices: usize, scopes: usize) -> Tally {
        Tally {
            vertices: vec![VertexCounts::default(); vertices],
            touched: Vec::new(),
            scopes: vec![ScopeCounts::default(); scopes],
            tablets: Vec::new(),
            worked: Vec::new(),
            worked_on: Vec::new(),
            tellers: 0,
            tells: false,
            unread: Vec::new(),
            read_ns: 0,
            cpu_ns: 0,
        }
    }

    #[inline]
    pub(crate) fn vertex(&mut self, vertex: usize) -> &mut VertexCounts {
        let counts = &mut self.vertices[vertex];
        if !counts.touched {
            counts.touched = true;
            self.touched.push(vertex as u32);
        }
        counts
    }

    #[inline]
    pub(crate) fn scope(&mut self, scope: usize) -> &mut ScopeCounts {
        &mut self.scopes[scope]
    }

    /// Time is counted from here on; `cpu_ns` is a reading of processor time not long before.
    pub(crate) fn begin(&mut self, now_ns: u64, cpu_ns: u64) {
        (self.read_ns, self.cpu_ns) = (now_ns, cpu_ns);
        self.tellers = 0;
        self.unread.clear();
    }

    /// The call that has just ended was paused for a while.
    pub(crate) fn leave_out(&mut self, paused: Paused) {
        self.read_ns += paused.wall_ns;
        self.cpu_ns += paused.cpu_ns;
    }

    /// The call that runs worked for this tablet.
    #[inline]
    pub(crate) fn worked_on(&mut self, tablet: usize, amount: u64) {
        if self.worked.len() <= tablet {
            self.worked.resize(tablet + 1, 0);
        }
        if self.worked[tablet] == 0 {
            self.worked_on.push(tablet as u32);
        }
        self.worked[tablet] += amount.max(1);
        self.tells = true;
    }

    fn add_tablet(&mut self, tablet: usize, busy_ns: u64) {
        self.tablets.resize(self.tablets.len().max(tablet + 1), 0);
        self.tablets[tablet] += busy_ns;
    }

    /// Splits the time of calls that reported tablets among these.
    fn split_worked(&mut self, busy_ns: u64) {
        let worked_on = std::mem::take(&mut self.worked_on);
        let amount = |at: &u32| self.worked[*at as usize];
        let total = worked_on.iter().map(amount).sum::<u64>().max(1);
        for tablet in &worked_on {
            let amount = std::mem::take(&mut self.worked[*tablet as usize]);
            self.add_tablet(
                *tablet as usize,
                (u128::from(busy_ns) * u128::from(amount) / u128::from(total)) as u64,
            );
        }
        self.worked_on = worked_on;
        self.worked_on.clear();
    }

    /// An operator was called; the clock, if it was read after that, is later than at the last call. True if it was.
    #[inline]
    pub(crate) fn called(&mut self, vertex: usize, tablet: u32, now_ns: u64) -> bool {
        self.unread.push((vertex as u32, tablet));
        self.tellers += u64::from(std::mem::take(&mut self.tells));
        if now_ns == self.read_ns {
            return false;
        }
        self.split(now_ns);
        true
    }

    fn split(&mut self, now_ns: u64) {
        let unread = std::mem::take(&mut self.unread);
        let part_ns = self.used(now_ns - self.read_ns) / (unread.len() as u64).max(1);
        for (vertex, tablet) in &unread {
            let counts = self.vertex(*vertex as usize);
            counts.cpu_ns += part_ns;
            counts.longest_ns = counts.longest_ns.max(part_ns);
            if *tablet != NO_TABLET {
                self.add_tablet(*tablet as usize, part_ns);
            }
        }
        if self.tellers > 0 {
            self.split_worked(part_ns * self.tellers);
        }
        self.begin(now_ns, self.cpu_ns);
        self.unread = unread;
        self.unread.clear();
    }

    /// The part of `wall_ns` that this thread ran: if it is long, other threads may have had the core meanwhile.
    fn used(&mut self, wall_ns: u64) -> u64 {
        if wall_ns <= LONG_CALL_NS {
            return wall_ns;
        }
        let before_ns = std::mem::replace(&mut self.cpu_ns, thread_cpu_ns());
        wall_ns.min(self.cpu_ns - before_ns)
    }

    /// Adds all counters to the shared ones.
    pub(crate) fn hand_over<M: Message>(&mut self, shared: &Shared<M>, executor: usize) {
        let executors = shared.executors();
        for vertex in self.touched.drain(..) {
            let (from, to) = (&mut self.vertices[vertex as usize], &shared.stats[vertex as usize]);
            add(&to.operators, &mut from.operators);
            add(&to.gone, &mut from.gone);
            add(&to.arrived, &mut from.arrived);
            add(&to.left, &mut from.left);
            add(&to.messages_in, &mut from.messages_in);
            add(&to.rows_in, &mut from.rows_in);
            add(&to.rows_out, &mut from.rows_out);
            add(&to.batches, &mut from.batches);
            if executors > 1 && from.cpu_ns > 0 {
                shared.cpu_by_executor[vertex as usize * executors + executor]
                    .fetch_add(from.cpu_ns, Relaxed);
            }
            add(&to.cpu_ns, &mut from.cpu_ns);
            add(&to.overruns, &mut from.overruns);
            if from.longest_ns > to.longest_ns.load(Relaxed) {
                to.longest_ns.fetch_max(from.longest_ns, Relaxed);
            }
            from.touched = false;
        }
        for (tablet, busy_ns) in self.tablets.drain(..).enumerate().filter(|(_, busy_ns)| *busy_ns > 0) {
            shared.links.tablets.add_busy(tablet, busy_ns);
        }
        for (from, to) in self.scopes.iter_mut().zip(&shared.scope_stats) {
            add(&to.opened, &mut from.opened);
            add(&to.cancelled, &mut from.cancelled);
            add(&to.ended, &mut from.ended);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use world::clock::monotonic_ns;

    #[test]
    fn a_call_whose_core_was_taken_away_is_no_long_call() {
        let mut tally = Tally::new(2, 1);
        tally.begin(monotonic_ns(), thread_cpu_ns());
        world::threads::sleep(std::time::Duration::from_millis(30));
        assert!(tally.called(0, NO_TABLET, monotonic_ns()));
        let from_ns = thread_cpu_ns();
        while thread_cpu_ns() - from_ns < 3_000_000 {}
        assert!(tally.called(1, NO_TABLET, monotonic_ns()));
        let longest = |vertex: usize| tally.vertices[vertex].longest_ns;
        assert!(longest(0) < 10_000_000, "{} ns of a call that slept", longest(0));
        // The clock of the thread and that of the machine need not agree to the nanosecond.
        assert!(longest(1) >= 2_900_000, "{} ns of a call that worked for 3 ms", longest(1));
    }

    /// Compared with sums: time is distributed to calls and tablets, and none of it is lost but the remainder of divisions.
    #[test]
    fn all_time_between_two_readings_is_dealt_out() {
        let seed = 3;
        let mut chance = world::chance::Chance::seeded(seed);
        for round in 0..300 {
            let mut tally = Tally::new(3, 1);
            let (mut now_ns, mut unread, mut tellers) = (1_000, Vec::new(), 0);
            let (mut by_vertex, mut longest, mut by_tablet) = ([0; 3], [0; 3], [0; 4]);
            let mut worked: [u64; 4] = [0; 4];
            tally.begin(now_ns, 0);
            for call in 0..60 {
                let at = format!("seed {seed} round {round} call {call}");
                let (vertex, tablet) = (chance.index(3), chance.below(5) as u32);
                let tablet = if tablet == 4 { NO_TABLET } else { tablet };
                let tells = tablet == NO_TABLET && chance.below(2) == 0;
                for _ in 0..if tells { 1 + chance.below(3) } else { 0 } {
                    let (on, amount) = (chance.index(4), chance.below(3));
                    tally.worked_on(on, amount);
                    worked[on] += amount.max(1);
                }
                tellers += u64::from(tells);
                unread.push((vertex, tablet));
                let passed_ns = chance.below(3) * chance.below(LONG_CALL_NS / 2);
                now_ns += passed_ns;
                assert_eq!(tally.called(vertex, tablet, now_ns), passed_ns > 0, "{at}");
                if passed_ns == 0 {
                    continue;
                }
                let part_ns = passed_ns / unread.len() as u64;
                for (vertex, tablet) in unread.drain(..) {
                    by_vertex[vertex] += part_ns;
                    longest[vertex] = part_ns.max(longest[vertex]);
                    if tablet != NO_TABLET {
                        by_tablet[tablet as usize] += part_ns;
                    }
                }
                let (told_ns, amounts) =
                    (part_ns * std::mem::take(&mut tellers), std::mem::take(&mut worked));
                let total = amounts.iter().sum::<u64>().max(1);
                amounts.iter().zip(&mut by_tablet).for_each(|(own, to)| *to += told_ns * own / total);
                let counted = [0, 1, 2].map(|vertex: usize| tally.vertices[vertex].cpu_ns);
                assert_eq!(counted, by_vertex, "{at}");
                assert_eq!([0, 1, 2].map(|vertex: usize| tally.vertices[vertex].longest_ns), longest, "{at}");
                let tablets =
                    [0, 1, 2, 3].map(|tablet: usize| tally.tablets.get(tablet).copied().unwrap_or(0));
                assert_eq!(tablets, by_tablet, "{at}");
                // A pause is nobody's time.
                now_ns += 500;
                tally.leave_out(Paused { wall_ns: 500, cpu_ns: 0 });
            }
        }
    }
}
