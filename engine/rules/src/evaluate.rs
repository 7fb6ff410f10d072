//! The first answer: bottom-up, semi-naive, a fact at a time.
//!
//! A derived fact *waits* until its turn; at its turn it becomes visible, and every derivation in which it is the last visible fact is
//! found. So each derivation is found once, whatever the shape of the rule. Turns are first come first served, therefore a fact's *rank* -
//! one more than the highest rank among the facts of its component that it was derived from - is the round in which it is first
//! derived; its *support* is the number of its derivations from facts of lower rank. [`crate::maintain`] lives on both.
//!
//! Consequences of a block of facts are written down together: finding them reads the relations, writing them changes them.

use crate::Evaluation;
use crate::component::RulesPart;
use crate::error::RulesError;
use crate::limits::{BLOCK_FACTS, BLOCK_WORDS, LOOK_EVERY};
use crate::plan::{Masks, Plan};
use crate::relation::{Row, hash, state};
use crate::run::{Fetched, Ground};
use datalog::RelationNo;
use std::collections::VecDeque;

/// All there is, is there for good.
pub(crate) const FIRST: Masks = Masks {
    lower_before: state::STABLE,
    lower_after: state::STABLE,
    own: state::STABLE,
    absent_before: state::STABLE,
    absent_after: state::STABLE,
};

impl Evaluation<'_> {
    /// Evaluates one component, all before it being done.
    pub(crate) fn first_answer(&mut self, part: &RulesPart) -> Result<(), RulesError> {
        let mut queue: VecDeque<(RelationNo, Row)> = VecDeque::new();
        for plan in &part.exits {
            match &plan.start {
                None => self.block(&[(plan, None)], &mut queue)?,
                Some((relation, _)) => {
                    let mut from = 0;
                    while from < self.relations[*relation].bound() {
                        let bound = self.relations[*relation].bound();
                        let until = bound.min(from + BLOCK_FACTS as Row);
                        let found = &self.relations[*relation];
                        let rows = (from..until).filter(|row| found.state(*row) == state::STABLE);
                        let block: Vec<(&Plan, Option<Row>)> = rows.map(|row| (plan, Some(row))).collect();
                        self.block(&block, &mut queue)?;
                        from = until;
                    }
                }
            }
        }
        let mut block = Vec::new();
        while !queue.is_empty() {
            block.clear();
            block.extend(queue.drain(..queue.len().min(BLOCK_FACTS)));
            self.turns(part, &block, &mut queue)?;
        }
        Ok(())
    }
    /// Finds what follows from each start, and writes it down.
    fn block(
        &mut self,
        starts: &[(&Plan, Option<Row>)],
        queue: &mut VecDeque<(RelationNo, Row)>,
    ) -> Result<(), RulesError> {
        let Some((plan, _)) = starts.first() else { return Ok(()) };
        let mut out = std::mem::take(&mut self.out);
        for (plan, row) in starts {
            self.find(plan, *row, 0, FIRST, &mut out)?;
            if out.len() > BLOCK_WORDS {
                self.write_first(plan.head, &mut out, queue)?;
            }
        }
        self.write_first(plan.head, &mut out, queue)?;
        self.out = out;
        Ok(())
    }
    /// The turns of a block of facts.
    fn turns(
        &mut self,
        part: &RulesPart,
        block: &[(RelationNo, Row)],
        queue: &mut VecDeque<(RelationNo, Row)>,
    ) -> Result<(), RulesError> {
        let mut outs = std::mem::take(&mut self.outs);
        for (relation, row) in block {
            self.relations[*relation].set_state(*row, state::STABLE);
            self.relations[*relation].index(*row);
            let rank = self.relations[*relation].rank(*row);
            for plan in &part.own[*relation] {
                let out = &mut outs[plan.head];
                self.find(plan, Some(*row), rank, FIRST, out)?;
                if out.len() > BLOCK_WORDS {
                    let head = plan.head;
                    self.write_first(head, &mut outs[head], queue)?;
                }
            }
        }
        for head in &part.relations {
            self.write_first(*head, &mut outs[*head], queue)?;
        }
        self.outs = outs;
        Ok(())
    }
    /// Runs a plan; fetches what is missing, and tries again.
    pub(crate) fn find(
        &mut self,
        plan: &Plan,
        row: Option<Row>,
        rank: u32,
        masks: Masks,
        out: &mut Vec<u32>,
    ) -> Result<(), RulesError> {
        loop {
            let mut ground = Ground {
                relations: &self.relations,
                words: &mut self.words,
                masks,
                fetched: self.fetched.as_ref(),
                missing: Fetched::default(),
                is_demanded: &self.is_demanded,
                look: &*self.look,
                turns: self.turns_taken,
                slots: &mut self.slots,
            };
            let outcome = ground.run(plan, row, rank, out);
            let (turns, missing) = (ground.turns, ground.missing);
            self.turns_taken = turns;
            outcome?;
            if missing.is_empty() {
                return Ok(());
            }
            for (relation, index, word) in missing {
                self.fetch_by(relation, index, word)?;
            }
        }
    }
    /// Writes down derivations: each is a new fact, or supports one of its own rank, or is passed over.
    fn write_first(
        &mut self,
        head: RelationNo,
        out: &mut Vec<u32>,
        queue: &mut VecDeque<(RelationNo, Row)>,
    ) -> Result<(), RulesError> {
        let width = self.relations[head].arity + 1;
        for some in out.chunks(width * LOOK_EVERY) {
            self.write_some(head, some, queue)?;
            self.check_room()?;
        }
        out.clear();
        Ok(())
    }
    fn write_some(
        &mut self,
        head: RelationNo,
        out: &[u32],
        queue: &mut VecDeque<(RelationNo, Row)>,
    ) -> Result<(), RulesError> {
        let relation = &mut self.relations[head];
        let before = relation.len();
        for derivation in out.chunks_exact(relation.arity + 1) {
            let (words, rank) = (&derivation[..relation.arity], derivation[relation.arity]);
            let hash = hash(words.iter().copied());
            match relation.find_hashed(hash, words) {
                Some(row) if relation.rank(row) >= rank => relation.add_support(row)?,
                Some(_) => {}
                None => {
                    let row = relation.insert(hash, words, rank, 1)?;
                    queue.push_back((head, row));
                }
            }
        }
        self.derived += relation.len() - before;
        Ok(())
    }
}
