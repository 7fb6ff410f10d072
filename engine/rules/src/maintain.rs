//! Maintains the answer: facts come and go, and their consequences.
//!
//! Idea: every derived fact has a *rank* such that it has at least one derivation from facts of lower rank, and its *support* is the number
//! of these. Ranks make circles harmless: nothing can hold itself up. When facts go,
//!
//! 1. derivations that used them are taken back; a fact whose support reaches 0 goes too, and so on: the *affected* facts, those that
//!    have no derivation of lower rank left that does not lean on affected facts;
//! 2. each affected fact is looked for once more, from its head, among the facts that are left: where it has a derivation after all, it comes
//!    back with the rank that this gives it;
//! 3. facts that come, and those that came back, take their turns in order of rank, as in the first evaluation. A derivation for a fact
//!    that is there already counts if it is of lower rank; the fact's own rank stays, so that nothing ripples.
//!
//! Work is proportional to the affected facts and the derivations they take part in. For reachability this is Ramalingam and Reps (1996),
//! generalised to any rules: compare the counts of Hu, Motik and Horrocks (2018, "Optimised maintenance of Datalog
//! materialisations") and the rounds of Zhao, Subotić, Raghothaman and Scholz (2021, "Towards elastic incrementalization for Datalog").
//!
//! Each derivation that is lost or won is found once: the changed facts of relations before come first, place by place (places before see
//! what is in both answers, places after see the older answer when facts go and the newer when they come); then the component's own facts,
//! one at a time.

use crate::Evaluation;
use crate::component::RulesPart;
use crate::error::RulesError;
use crate::limits::LOOK_EVERY;
use crate::plan::Masks;
use crate::relation::{Row, hash, state};
use crate::run::From;
use crate::source::Over;
use datalog::RelationNo;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const BOTH: u32 = state::STABLE;
const OLD: u32 = state::STABLE | state::REMOVED;
const NEW: u32 = state::STABLE | state::ADDED;

/// Facts of relations before go: places before the start see both answers, places after it the old one.
const LOWER_GOES: Masks =
    Masks { lower_before: BOTH, lower_after: OLD, own: BOTH, absent_before: state::ALL, absent_after: OLD };
/// Own facts go.
const OWN_GOES: Masks = Masks {
    lower_before: BOTH,
    lower_after: BOTH,
    own: BOTH,
    absent_before: state::ALL,
    absent_after: state::ALL,
};
/// Derivations that are left.
const LEFT: Masks = OWN_GOES;
/// Facts of relations before come.
const LOWER_COMES: Masks =
    Masks { lower_before: BOTH, lower_after: NEW, own: BOTH, absent_before: state::ALL, absent_after: NEW };
/// Own facts come.
const OWN_COMES: Masks =
    Masks { lower_before: NEW, lower_after: NEW, own: NEW, absent_before: NEW, absent_after: NEW };

/// Facts to be processed, lowest rank first.
type Due = BinaryHeap<Reverse<(u32, RelationNo, Row)>>;

impl Evaluation<'_> {
    /// Carries the marked changes of relations before through a component. False where ranks have grown so high that everything must be
    /// evaluated anew.
    pub(crate) fn upkeep(&mut self, part: &RulesPart, over: Over<'_>) -> Result<bool, RulesError> {
        let Some(upkeep) = &part.upkeep else { return Ok(true) };
        let mut affected: Vec<(RelationNo, Row)> = Vec::new();
        let mut out = std::mem::take(&mut self.out);
        for lower in &upkeep.lower {
            let goes = if lower.is_negated { state::ADDED } else { state::REMOVED };
            for row in self.relations[lower.relation].marked_as(goes) {
                self.find(&lower.plan, From::Row(row), 0, LOWER_GOES, over, &mut out)?;
                self.take_back(lower.plan.head, &mut out, &mut affected);
            }
        }
        let mut next = 0;
        while let Some((relation, row)) = affected.get(next).copied() {
            next += 1;
            let rank = self.relations[relation].rank(row);
            for plan in part.own.of(relation) {
                self.find(plan, From::Row(row), rank, OWN_GOES, over, &mut out)?;
                self.take_back(plan.head, &mut out, &mut affected);
            }
            self.relations[relation].mark(row, state::REMOVED);
        }
        let mut due = Due::new();
        for (relation, row) in &affected {
            for plan in upkeep.search.of(*relation) {
                self.find(plan, From::Row(*row), 0, LEFT, over, &mut out)?;
            }
            self.bring(*relation, &mut out, &mut due)?;
        }
        for lower in &upkeep.lower {
            let comes = if lower.is_negated { state::REMOVED } else { state::ADDED };
            for row in self.relations[lower.relation].marked_as(comes) {
                self.find(&lower.plan, From::Row(row), 0, LOWER_COMES, over, &mut out)?;
                self.bring(lower.plan.head, &mut out, &mut due)?;
            }
        }
        let mut highest = 0;
        while let Some(Reverse((rank, relation, row))) = due.pop() {
            let found = &mut self.relations[relation];
            // Its rank was lowered before its turn, and it had its turn by that.
            if found.rank(row) != rank || found.state(row) & NEW != 0 {
                continue;
            }
            highest = highest.max(rank);
            match found.state(row) {
                state::REMOVED => found.set_state(row, state::STABLE),
                _ => {
                    found.index(row);
                    found.mark(row, state::ADDED);
                }
            }
            for plan in part.own.of(relation) {
                self.find(plan, From::Row(row), rank, OWN_COMES, over, &mut out)?;
                self.bring(plan.head, &mut out, &mut due)?;
            }
        }
        self.out = out;
        Ok(highest < self.rank_max)
    }
    /// Takes back derivations; facts without support are affected.
    fn take_back(&mut self, head: RelationNo, out: &mut Vec<u32>, affected: &mut Vec<(RelationNo, Row)>) {
        let relation = &mut self.relations[head];
        for derivation in out.chunks_exact(relation.arity + 1) {
            let (words, rank) = (&derivation[..relation.arity], derivation[relation.arity]);
            let Some(row) = relation.find(words) else { continue };
            let counts = rank <= relation.rank(row);
            if counts && relation.take_support(row) == 0 {
                affected.push((head, row));
            }
        }
        out.clear();
    }
    /// Writes new derivations: for a fact that is not visible yet, the lowest rank decides.
    fn bring(&mut self, head: RelationNo, out: &mut Vec<u32>, due: &mut Due) -> Result<(), RulesError> {
        let width = self.relations[head].arity + 1;
        for some in out.chunks(width * LOOK_EVERY) {
            self.bring_some(head, some, due)?;
            self.check_room()?;
        }
        out.clear();
        Ok(())
    }
    fn bring_some(&mut self, head: RelationNo, out: &[u32], due: &mut Due) -> Result<(), RulesError> {
        let relation = &mut self.relations[head];
        let before = relation.len();
        for derivation in out.chunks_exact(relation.arity + 1) {
            let (words, rank) = (&derivation[..relation.arity], derivation[relation.arity]);
            let hash = hash(words.iter().copied());
            let Some(row) = relation.find_hashed(hash, words) else {
                let row = relation.insert(hash, words, rank, 1)?;
                due.push(Reverse((rank, head, row)));
                continue;
            };
            let is_seen = relation.state(row) & NEW != 0;
            let has_none = !is_seen && relation.support(row) == 0;
            if has_none || (!is_seen && rank < relation.rank(row)) {
                relation.set_rank(row, rank, 1);
                due.push(Reverse((rank, head, row)));
            } else if rank <= relation.rank(row) {
                relation.add_support(row)?;
            }
        }
        self.derived += relation.len().saturating_sub(before);
        Ok(())
    }
}
