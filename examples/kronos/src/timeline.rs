//! The timelines of a social network (Weaver, §2.5.1 and figure 2.6).
//!
//! Idea: each message is an event, and a reply must come after what it answers. Replicas hear of messages in whatever order the network
//! delivers them; a timeline is shown in the order of arrival, except where Kronos has another order.
//! Invariant: a reply never stands above the message that it answers, on any replica. Messages without an order stay as they arrived.
//! Cost: one call of Kronos a rendering for the pairs that are not known to be ordered yet.

use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use tanglewood_kronos::blocking::Kronos;
use tanglewood_kronos::{Constraint, Event, KronosError, Order};

/// Messages of a timeline that are shown: the latest to arrive.
pub const SHOWN_MAX: usize = 200;

/// A message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Post {
    /// When it was written, for Kronos.
    pub event: Event,
    /// Who wrote it.
    pub author: String,
    /// The text of the message.
    pub text: String,
}

/// Writes messages: the part of the network that users post to.
pub struct Author {
    kronos: Kronos,
    name: String,
}

impl Author {
    /// A user.
    pub fn new(kronos: Kronos, name: &str) -> Author {
        Author { kronos, name: name.to_string() }
    }
    /// A message that answers nothing.
    ///
    /// # Errors
    /// Kronos is full, or away.
    pub fn post(&self, text: &str) -> Result<Post, KronosError> {
        let event = self.kronos.create_event()?;
        Ok(Post { event, author: self.name.clone(), text: text.to_string() })
    }
    /// A message that answers another.
    ///
    /// # Errors
    /// Kronos is full, or away, or knows nothing of the other message.
    pub fn reply(&self, text: &str, to: &Post) -> Result<Post, KronosError> {
        let post = self.post(text)?;
        self.kronos.assign_order(&[Constraint::must(to.event, Order::Before, post.event)])?;
        Ok(post)
    }
}

/// One replica of the network's timelines.
pub struct Replica {
    kronos: Kronos,
    friends: BTreeMap<String, BTreeSet<String>>,
    timelines: Mutex<BTreeMap<String, Vec<Post>>>,
}

impl Replica {
    /// A replica that knows all friendships, in both directions.
    pub fn new(kronos: Kronos, friendships: &[(&str, &str)]) -> Replica {
        let mut friends: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (one, other) in friendships {
            friends.entry(one.to_string()).or_default().insert(other.to_string());
            friends.entry(other.to_string()).or_default().insert(one.to_string());
        }
        Replica { kronos, friends, timelines: Mutex::default() }
    }

    /// A message arrives: it goes into the timelines of its author and of the author's friends.
    pub fn deliver(&self, post: &Post) {
        let mut timelines = self.timelines.lock();
        let readers = self.friends.get(&post.author).into_iter().flatten().chain([&post.author]);
        readers.for_each(|reader| timelines.entry(reader.clone()).or_default().push(post.clone()));
    }

    /// The timeline of a user.
    ///
    /// # Errors
    /// Kronos cannot be reached.
    pub fn render(&self, user: &str) -> Result<Vec<Post>, KronosError> {
        let arrived = self.timelines.lock().get(user).cloned().unwrap_or_default();
        let arrived = &arrived[arrived.len().saturating_sub(SHOWN_MAX)..];
        let pairs: Vec<(usize, usize)> =
            (0..arrived.len()).flat_map(|b| (0..b).map(move |a| (a, b))).collect();
        let events: Vec<(Event, Event)> =
            pairs.iter().map(|(a, b)| (arrived[*a].event, arrived[*b].event)).collect();
        let orders = self.kronos.query_order(&events)?;
        Ok(in_order(arrived, pairs.into_iter().zip(orders)))
    }
}

/// Messages in the order of their arrival, but none before one that it comes after: a topological sort that takes the earliest arrival
/// it can.
fn in_order(arrived: &[Post], orders: impl Iterator<Item = ((usize, usize), Order)>) -> Vec<Post> {
    let mut precedence = crate::serial::Precedence::new(arrived.len());
    for ((a, b), order) in orders {
        match order {
            Order::Before => precedence.add(a, b),
            Order::After => precedence.add(b, a),
            Order::Concurrent => {}
        }
    }
    let order = precedence.order().expect("Kronos never answers with a cycle");
    order.into_iter().map(|at| arrived[at].clone()).collect()
}
