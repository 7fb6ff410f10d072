//! Limits of tenants and users that hold over all gates of a cluster: each gate announces its usage, and uses only what the others leave.
//!
//! ```text
//!   gate 0: 3 run, 1 waits, 40 MB ──┐
//!   gate 1: 1 runs, 10 MB          ─┴─> told to all, 20 times a second ──> at each: the limit, less what others take
//! ```
//!
//! Idea: no query waits for other gates before it begins. The usage of others is one round old, so queries that begin within one round at two gates
//! may pass a limit together. Where queries wait at several gates, each gets an even part of the limit, and the remainder goes around from second to
//! second.

use crate::Database;
use execute::{AccountRoom, AccountUsage};
use std::collections::BTreeMap;

/// Names of a tenant, and of its user.
type AccountName = (String, Option<String>);

/// Usage of the limited accounts at a gate, by name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct GateUsage(BTreeMap<AccountName, AccountUsage>);

impl GateUsage {
    /// Does any account have limits?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// As bytes, for other gates: each account that anything is taken from.
    pub fn encode(&self) -> Vec<u8> {
        let taken = |usage: &AccountUsage| usage.running + usage.waiting + usage.bytes > 0;
        let mut bytes = Vec::new();
        for ((tenant, user), usage) in self.0.iter().filter(|(_, usage)| taken(usage)) {
            let text = |text: &str, bytes: &mut Vec<u8>| {
                bytes.extend((text.len() as u32).to_le_bytes());
                bytes.extend(text.as_bytes());
            };
            text(tenant, &mut bytes);
            bytes.push(u8::from(user.is_some()));
            user.iter().for_each(|user| text(user, &mut bytes));
            [usage.running, usage.waiting, usage.bytes]
                .iter()
                .for_each(|word| bytes.extend(word.to_le_bytes()));
        }
        bytes
    }
    /// None where the bytes are not those of [`GateUsage::encode`].
    pub fn decode(mut bytes: &[u8]) -> Option<GateUsage> {
        let mut all = BTreeMap::new();
        while !bytes.is_empty() {
            let tenant = text(&mut bytes)?;
            let user = match take::<1>(&mut bytes)? {
                [0] => None,
                [1] => Some(text(&mut bytes)?),
                _ => return None,
            };
            let mut word = || Some(u64::from_le_bytes(take(&mut bytes)?));
            let (running, waiting, held) = (word()?, word()?, word()?);
            all.insert((tenant, user), AccountUsage { queries_max: None, running, waiting, bytes: held });
        }
        Some(GateUsage(all))
    }
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = bytes.split_first_chunk::<N>()?;
    *bytes = rest;
    Some(*first)
}
fn text(bytes: &mut &[u8]) -> Option<String> {
    let length = u32::from_le_bytes(take(bytes)?);
    let (text, rest) = bytes.split_at_checked(usize::try_from(length).ok()?)?;
    *bytes = rest;
    String::from_utf8(text.to_vec()).ok()
}

/// The room that other gates leave of an account: `own` is the usage here, `turn` rises from round to round, `before` is how many of the others come
/// before this gate.
fn room(own: AccountUsage, others: &[AccountUsage], (before, turn): (u64, u64)) -> AccountRoom {
    let bytes_elsewhere = others.iter().map(|other| other.bytes).sum();
    let Some(limit) = own.queries_max else { return AccountRoom { queries: u64::MAX, bytes_elsewhere } };
    let left = limit.saturating_sub(others.iter().map(|other| other.running).sum());
    // Where somebody waits elsewhere, nobody takes more than its part, even if it is free just now.
    let queries = match others.iter().any(|other| other.waiting > 0) {
        true => {
            let gates = others.len() as u64 + 1;
            let part = limit / gates + u64::from((before + turn) % gates < limit % gates);
            left.min(part)
        }
        false => left,
    };
    AccountRoom { queries, bytes_elsewhere }
}

impl Database {
    /// The usage of accounts with limits at this gate.
    pub fn usage(&self) -> GateUsage {
        let named = |(tenant, user, usage): (u32, Option<u32>, AccountUsage)| {
            let (tenant, name) = self.accounts().names(tenant, user.unwrap_or(0));
            ((tenant, user.and(name)), usage)
        };
        GateUsage(self.runtime().usage().into_iter().map(named).collect())
    }
    /// Takes the usage of the other gates, each with whether it comes before this one: limits hold over all of them. `turn` rises from second to
    /// second.
    pub fn hear_usage(&self, others: &[(bool, GateUsage)], turn: u64) {
        let rooms = |(tenant, user, own): (u32, Option<u32>, AccountUsage)| {
            let (name, of) = self.accounts().names(tenant, user.unwrap_or(0));
            let name = (name, user.and(of));
            let takes = |(is_before, other): &(bool, GateUsage)| Some((*is_before, *other.0.get(&name)?));
            let (before, others): (Vec<bool>, Vec<AccountUsage>) = others.iter().filter_map(takes).unzip();
            let before = before.into_iter().filter(|is_before| *is_before).count() as u64;
            (tenant, user, room(own, &others, (before, turn)))
        };
        let rooms: Vec<_> = self.runtime().usage().into_iter().map(rooms).collect();
        self.runtime().leave_room(&rooms);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use world::chance::Chance;

    fn usage(queries_max: Option<u64>, running: u64, waiting: u64, bytes: u64) -> AccountUsage {
        AccountUsage { queries_max, running, waiting, bytes }
    }

    #[test]
    fn usage_comes_back_and_other_bytes_are_refused() {
        let mut chance = Chance::seeded(5);
        for _ in 0..200 {
            let mut all = BTreeMap::new();
            for at in 0..chance.below(4) {
                let user = chance.happens(0.5).then(|| format!("ü{at}"));
                all.insert(
                    (format!("t{at}"), user),
                    usage(None, 1 + chance.below(9), chance.below(9), chance.below(1 << 40)),
                );
            }
            let own = GateUsage(all);
            let bytes = own.encode();
            assert_eq!(GateUsage::decode(&bytes).as_ref(), Some(&own));
            for cut in 1..bytes.len().min(40) {
                assert_ne!(GateUsage::decode(&bytes[..bytes.len() - cut]).as_ref(), Some(&own));
            }
        }
    }

    /// Gates that announce their usage after every step never pass a limit, use all of it, and let every query run in the end.
    #[test]
    fn a_limit_holds_over_all_gates_and_everyone_gets_on() {
        for (limit, gates) in [(1, 2), (3, 2), (2, 3), (7, 3), (1, 1)] {
            let mut chance = Chance::seeded(limit * 10 + gates);
            let mut all = vec![usage(Some(limit), 0, 40, 0); gates as usize];
            for turn in 0..2_000 {
                let at = chance.index(all.len());
                let others: Vec<AccountUsage> =
                    (0..all.len()).filter(|other| *other != at).map(|other| all[other]).collect();
                let room = room(all[at], &others, (at as u64, turn));
                while all[at].waiting > 0 && all[at].running < room.queries {
                    all[at] = usage(Some(limit), all[at].running + 1, all[at].waiting - 1, 0);
                }
                let total: u64 = all.iter().map(|one| one.running).sum();
                assert!(total <= limit, "{total} of {limit}");
                if all[at].running > 0 && chance.happens(0.7) {
                    all[at].running -= 1;
                }
            }
            assert!(all.iter().all(|one| one.waiting == 0), "{limit} over {gates}: {all:?}");
        }
        // One that is alone has all of it; one beside whom nobody waits, what is left.
        assert_eq!(room(usage(Some(8), 2, 0, 0), &[], (0, 0)).queries, 8);
        let beside = room(usage(Some(8), 2, 0, 5), &[usage(None, 3, 0, 70)], (0, 0));
        assert_eq!(beside, AccountRoom { queries: 5, bytes_elsewhere: 70 });
    }
}
