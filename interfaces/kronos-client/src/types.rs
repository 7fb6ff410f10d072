//! Types of calls and answers: events, orders, constraints.

use crate::wire;
use std::fmt;

pub use crate::wire::StatsResponse as Stats;

/// Events, pairs or constraints of one call; the server's limit.
pub const BATCH_MAX: usize = 1 << 16;

/// An event of the service, shown as the server's messages show it. Its number means nothing but itself; it may be sent to other programs, which may use it too.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Event(pub u64);

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// How one event stands to another.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Order {
    /// Nobody has ordered the two yet. The only answer that may change.
    Concurrent,
    /// The first happens before the second.
    Before,
    /// The first happens after the second.
    After,
}

impl Order {
    /// The same said of the second and the first.
    pub fn reversed(self) -> Order {
        match self {
            Order::Concurrent => Order::Concurrent,
            Order::Before => Order::After,
            Order::After => Order::Before,
        }
    }
    pub(crate) fn of(number: i32) -> Order {
        match wire::Order::try_from(number) {
            Ok(wire::Order::Before) => Order::Before,
            Ok(wire::Order::After) => Order::After,
            // A server of a later version has no fourth order: two events stand to each other in three ways.
            Ok(wire::Order::Concurrent) | Err(_) => Order::Concurrent,
        }
    }
    fn number(self) -> i32 {
        match self {
            Order::Concurrent => wire::Order::Concurrent.into(),
            Order::Before => wire::Order::Before.into(),
            Order::After => wire::Order::After.into(),
        }
    }
}

/// How much a constraint insists.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Strength {
    /// The call is refused if the order cannot be had.
    Must,
    /// The opposite order is accepted if it already holds.
    Prefer,
}

/// One pair of a batch of [`crate::Kronos::assign_order`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Constraint {
    /// The first event.
    pub first: Event,
    /// The requested order: [`Order::Before`] or [`Order::After`].
    pub order: Order,
    /// The second event.
    pub second: Event,
    /// Whether the order is a condition.
    pub strength: Strength,
}

impl Constraint {
    /// The order is a condition of the whole batch.
    pub fn must(first: Event, order: Order, second: Event) -> Constraint {
        Constraint { first, order, second, strength: Strength::Must }
    }
    /// The order is taken unless the opposite holds already.
    pub fn prefer(first: Event, order: Order, second: Event) -> Constraint {
        Constraint { first, order, second, strength: Strength::Prefer }
    }
    pub(crate) fn wire(self) -> wire::Constraint {
        let strength = match self.strength {
            Strength::Must => wire::Strength::Must,
            Strength::Prefer => wire::Strength::Prefer,
        };
        wire::Constraint {
            first: self.first.0,
            order: self.order.number(),
            second: self.second.0,
            strength: strength.into(),
        }
    }
}

/// The order of a pair after its batch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Assigned {
    /// The order that holds, for ever: [`Order::Before`] or [`Order::After`].
    pub order: Order,
    /// Did this call decide it?
    pub decided: bool,
}
