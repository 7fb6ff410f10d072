//! Recorded operations, replayed one after the other by a serial twin.

use super::{Operation, Social, recommend, with_change};
use crate::serial::Precedence;
use std::collections::HashMap;
use tanglewood_kronos::Event;

/// One operation that took effect.
#[derive(Clone, Debug)]
pub struct Step {
    /// The operation.
    pub operation: Operation,
    /// The answer of a question.
    pub answer: Option<u32>,
    /// Its name.
    pub event: Event,
    /// Operations that were under way when it began have numbers below this, its own.
    pub began: u64,
    /// Whatever begins with this number or a later one comes after it.
    pub ended: u64,
    /// Orders that Kronos answered.
    pub orders: Vec<(Event, Event)>,
}

/// All operations of a run.
#[derive(Clone, Debug, Default)]
pub struct History(pub Vec<Step>);

impl History {
    /// Checks that there is one order of all operations, in agreement with Kronos and with real time, in which a serial store gives the same answers.
    ///
    /// # Errors
    /// The first contradiction.
    pub fn check(&self, social: &Social) -> Result<(), String> {
        let mut friends: HashMap<u32, Vec<u32>> = HashMap::new();
        for at in self.serial()? {
            let step = &self.0[at];
            match step.operation {
                Operation::Update { one, other, add } => {
                    for (person, friend) in [(one, other), (other, one)] {
                        let of_one = friends.entry(person).or_insert_with(|| social.friends(person).to_vec());
                        with_change(of_one, friend, add);
                    }
                }
                Operation::Recommend { person } => {
                    let of = |person: u32| {
                        friends.get(&person).map_or_else(|| social.friends(person), Vec::as_slice)
                    };
                    let own = of(person);
                    let expected = recommend(person, own, own.iter().map(|friend| of(*friend)));
                    if step.answer != expected {
                        return Err(format!(
                            "{person} was recommended {:?}, a serial store says {expected:?}",
                            step.answer
                        ));
                    }
                }
            }
        }
        Ok(())
    }

    fn serial(&self) -> Result<Vec<usize>, String> {
        let count = self.0.len();
        let by_event: HashMap<Event, usize> =
            self.0.iter().enumerate().map(|(at, step)| (step.event, at)).collect();
        // Behind the operations a chain of the moments at which some began: what ended before one comes before it.
        let mut moments: Vec<u64> = self.0.iter().map(|step| step.began).collect();
        moments.sort_unstable();
        moments.dedup();
        let mut precedence = Precedence::new(count + moments.len());
        (1..moments.len()).for_each(|at| precedence.add(count + at - 1, count + at));
        for (at, step) in self.0.iter().enumerate() {
            let began = moments.binary_search(&step.began).expect("each beginning is a moment");
            precedence.add(count + began, at);
            let ended = moments.partition_point(|moment| *moment < step.ended);
            if ended < moments.len() {
                precedence.add(at, count + ended);
            }
            for (first, second) in &step.orders {
                match (by_event.get(first), by_event.get(second)) {
                    (Some(first), Some(second)) => precedence.add(*first, *second),
                    _ => return Err("an operation was ordered and never ended".to_string()),
                }
            }
        }
        let order = precedence.order()?;
        Ok(order.into_iter().filter(|at| *at < count).collect())
    }
}

#[test]
fn answers_of_no_moment_are_found() {
    // A path 0 - 1, and then 1 - 2 added while 0 - 1 is removed: 2 was never recommended to 0 unless both held.
    let social = Social::new(3, [(0, 1)]);
    let step = |operation, answer, event, began, ended, orders| Step {
        operation,
        answer,
        event: Event(event),
        began,
        ended,
        orders,
    };
    let update = |one, other, add| Operation::Update { one, other, add };
    let ask = Operation::Recommend { person: 0 };
    let steps = |answer, orders| {
        History(vec![
            step(update(0, 1, false), None, 1, 0, 1, Vec::new()),
            step(update(1, 2, true), None, 2, 1, 3, Vec::new()),
            step(ask, answer, 3, 2, 3, orders),
        ])
    };
    assert_eq!(steps(None, Vec::new()).check(&social), Ok(()));
    assert!(steps(Some(2), Vec::new()).check(&social).expect_err("it is wrong").contains("serial store"));
    let circle = vec![(Event(2), Event(3)), (Event(3), Event(1))];
    assert!(steps(None, circle).check(&social).expect_err("it is wrong").contains("circle"));
}
