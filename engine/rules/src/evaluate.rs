//! The first answer: bottom-up, semi-naive, a fact at a time.
//!
//! A derived fact *waits* until its turn; at its turn it becomes visible, and every derivation in which it is the last visible fact is found. So each
//! derivation is found once, whatever the shape of the rule. Turns are first come first served, therefore a fact's *rank* - one more than the highest
//! rank among the facts of its component that it was derived from - is the round in which it is first derived; its *support* is the number of its
//! derivations from facts of lower rank. [`crate::maintain`] relies on both.
//!
//! Consequences of a block of facts are written together: finding them reads the relations, writing them changes them.

use crate::Evaluation;
use crate::component::RulesPart;
use crate::error::RulesError;
use crate::limits::{BLOCK_FACTS, BLOCK_WORDS, LOOK_EVERY, WARM_FACTS};
use crate::plan::{Masks, Plan};
use crate::relation::{Row, hash, state};
use crate::run::{From, Ground};
use crate::source::Over;
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
    pub(crate) fn first_answer(&mut self, part: &RulesPart, over: Over<'_>) -> Result<(), RulesError> {
        let mut queue: VecDeque<(RelationNo, Row)> = VecDeque::new();
        for plan in &part.exits {
            match &plan.start {
                None => self.block(plan, [From::Nothing], &mut queue, over)?,
                Some((relation, _)) if self.is_read[*relation] => {
                    self.first_read(plan, *relation, &mut queue, over)?
                }
                Some((relation, _)) => {
                    let mut from = 0;
                    while from < self.relations[*relation].bound() {
                        let bound = self.relations[*relation].bound();
                        let until = bound.min(from + BLOCK_FACTS as Row);
                        let found = &self.relations[*relation];
                        let rows = (from..until).filter(|row| found.state(*row) == state::STABLE);
                        let block: Vec<From<'_>> = rows.map(From::Row).collect();
                        self.block(plan, block, &mut queue, over)?;
                        from = until;
                    }
                }
            }
        }
        let mut block = Vec::new();
        while !queue.is_empty() {
            block.clear();
            block.extend(queue.drain(..queue.len().min(BLOCK_FACTS)));
            self.turns(part, &block, &mut queue, over)?;
        }
        Ok(())
    }
    /// A plan that starts from all facts of a relation that is read.
    fn first_read(
        &mut self,
        plan: &Plan,
        relation: RelationNo,
        queue: &mut VecDeque<(RelationNo, Row)>,
        over: Over<'_>,
    ) -> Result<(), RulesError> {
        let arity = self.relations[relation].arity;
        self.each_block_read(relation, over, |evaluation, facts| {
            evaluation.block(plan, facts.chunks_exact(arity).map(From::Fact), queue, over)
        })
    }
    /// Finds the consequences of each start, and writes them.
    fn block<'f>(
        &mut self,
        plan: &Plan,
        starts: impl IntoIterator<Item = From<'f>>,
        queue: &mut VecDeque<(RelationNo, Row)>,
        over: Over<'_>,
    ) -> Result<(), RulesError> {
        let mut out = std::mem::take(&mut self.out);
        for from in starts {
            self.find(plan, from, 0, FIRST, over, &mut out)?;
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
        over: Over<'_>,
    ) -> Result<(), RulesError> {
        let mut outs = std::mem::take(&mut self.outs);
        let mut heads = Vec::new();
        for (relation, row) in block {
            self.relations[*relation].set_state(*row, state::STABLE);
            self.relations[*relation].index(*row);
            let rank = self.relations[*relation].rank(*row);
            for plan in part.own.of(*relation) {
                let out = &mut outs[plan.head];
                heads.extend(out.is_empty().then_some(plan.head));
                self.find(plan, From::Row(*row), rank, FIRST, over, out)?;
                if out.len() > BLOCK_WORDS {
                    let head = plan.head;
                    self.write_first(head, &mut outs[head], queue)?;
                }
            }
        }
        heads.sort_unstable();
        heads.dedup();
        for head in heads {
            self.write_first(head, &mut outs[head], queue)?;
        }
        self.outs = outs;
        Ok(())
    }
    /// Runs a plan.
    pub(crate) fn find(
        &mut self,
        plan: &Plan,
        from: From<'_>,
        rank: u32,
        masks: Masks,
        over: Over<'_>,
        out: &mut Vec<u32>,
    ) -> Result<(), RulesError> {
        let mut ground = Ground {
            relations: &self.relations,
            words: &mut self.words,
            masks,
            is_read: &self.is_read,
            over,
            buffers: &mut self.buffers,
            look: &*self.look,
            turns: self.turns_taken,
            slots: &mut self.slots,
        };
        let outcome = ground.run(plan, from, rank, out);
        self.turns_taken = ground.turns;
        outcome
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
        let (before, arity) = (relation.len(), relation.arity);
        let mut hashes = [0; WARM_FACTS];
        for some in out.chunks((arity + 1) * WARM_FACTS) {
            let derivations = || some.chunks_exact(arity + 1);
            for (place, derivation) in hashes.iter_mut().zip(derivations()) {
                *place = hash(derivation[..arity].iter().copied());
            }
            relation.warm(&hashes);
            for (derivation, hash) in derivations().zip(hashes) {
                let (words, rank) = (&derivation[..arity], derivation[arity]);
                match relation.find_hashed(hash, words) {
                    Some(row) if relation.rank(row) >= rank => relation.add_support(row)?,
                    Some(_) => {}
                    None => {
                        let row = relation.insert(hash, words, rank, 1)?;
                        queue.push_back((head, row));
                    }
                }
            }
        }
        self.derived += relation.len() - before;
        Ok(())
    }
}
