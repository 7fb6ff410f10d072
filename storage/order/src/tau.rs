//! How often gatekeepers tell each other their clocks: tau, adapted to the load (Weaver, §3.4 and Figure 5.11).
//!
//! Idea: announcements cost in proportion to 1/tau, and questions to the oracle grow with tau, because more stamps are concurrent. The
//! sum of c/tau and d*tau is least where both are equal, so tau moves until they are: down while questions prevail, up
//! while announcements do. Nobody announces while nothing happens. Invariant: tau stays within its limits.

/// Shortest tau: more often would cost more than the oracle's answer.
pub const TAU_MIN_US: u64 = 16;
/// Longest tau: a gatekeeper's clock is never further behind while there is work.
pub const TAU_MAX_US: u64 = 1 << 17;
/// Where it begins.
const TAU_START_US: u64 = 1_024;
/// Messages of both kinds between two adaptations.
const WINDOW_MESSAGES: u64 = 64;
/// How much one kind must outweigh the other before tau moves: keeps it from swinging around the best value.
const OUTWEIGHS: u64 = 2;

/// The period between announcements.
#[derive(Clone, Debug)]
pub struct Tau {
    us: u64,
    announcements: u64,
    /// As many announcements as the questions cost.
    questions: u64,
    question_cost: u64,
    is_fixed: bool,
}

impl Default for Tau {
    fn default() -> Tau {
        Tau::weighing(1)
    }
}

impl Tau {
    /// Where a question costs as much as so many announcements.
    pub fn weighing(question_cost: u64) -> Tau {
        Tau { us: TAU_START_US, announcements: 0, questions: 0, question_cost, is_fixed: false }
    }
    /// That stays as it is, whatever things cost.
    pub fn fixed(us: u64) -> Tau {
        Tau { us, is_fixed: true, ..Tau::weighing(1) }
    }
    /// Microseconds between two announcements of one gatekeeper.
    pub fn us(&self) -> u64 {
        self.us
    }
    /// So many messages announced clocks because tau was over; those that are sent anyway say nothing about it.
    pub fn announced(&mut self, messages: u64) {
        self.announcements += messages;
        self.adapt();
    }
    /// So many questions went to the oracle.
    pub fn asked(&mut self, questions: u64) {
        self.questions += questions * self.question_cost;
        self.adapt();
    }
    fn adapt(&mut self) {
        if self.is_fixed || self.announcements + self.questions < WINDOW_MESSAGES {
            return;
        }
        if self.questions > OUTWEIGHS * self.announcements {
            self.us = (self.us / 2).max(TAU_MIN_US);
        } else if self.announcements > OUTWEIGHS * self.questions {
            self.us = (self.us * 2).min(TAU_MAX_US);
        }
        (self.announcements, self.questions) = (0, 0);
    }
}
