//! Reads and writes of transactions, and whether one order of all of them explains them.

use crate::serial::Precedence;

/// How a transaction used an account.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// Which.
    pub account: usize,
    /// How many transactions used the account before.
    pub turn: u64,
    /// The balance that it found.
    pub read: i64,
    /// The balance that it left.
    pub left: i64,
}

/// Transactions that took effect, each with the accounts it used.
#[derive(Clone, Debug, Default)]
pub struct History(pub Vec<Vec<Access>>);

impl History {
    /// Checks that there is a serial order of all transactions in which each reads the state that the one before left, and that an audit finds all
    /// the money.
    ///
    /// # Errors
    /// The first contradiction.
    pub fn check(&self, opening: &[i64], closing: &[i64]) -> Result<(), String> {
        let total: i64 = opening.iter().sum();
        let mut turns: Vec<Vec<(u64, usize, Access)>> = vec![Vec::new(); opening.len()];
        for (at, transaction) in self.0.iter().enumerate() {
            for access in transaction {
                turns[access.account].push((access.turn, at, *access));
            }
            let read: i64 = transaction.iter().map(|access| access.read).sum();
            let left: i64 = transaction.iter().map(|access| access.left).sum();
            if read != left {
                return Err(format!("a transaction found {read} and left {left}"));
            }
            if transaction.len() == opening.len() && opening.len() > 2 && read != total {
                return Err(format!("an audit found {read} instead of {total}"));
            }
        }
        let mut precedence = Precedence::new(self.0.len());
        for (account, mut uses) in turns.into_iter().enumerate() {
            uses.sort_by_key(|(turn, ..)| *turn);
            let mut balance = opening[account];
            for (expected, (turn, at, access)) in uses.iter().enumerate() {
                if *turn != expected as u64 {
                    return Err(format!("account {account}: use {expected} was counted as {turn}"));
                }
                if access.read != balance {
                    return Err(format!(
                        "account {account}: {} was found where {balance} was left",
                        access.read
                    ));
                }
                if access.left < 0 {
                    return Err(format!("account {account} holds {}", access.left));
                }
                balance = access.left;
                if expected > 0 {
                    precedence.add(uses[expected - 1].1, *at);
                }
            }
            if closing[account] != balance {
                return Err(format!("account {account} ends with {}, not {balance}", closing[account]));
            }
        }
        precedence.order().map(drop)
    }
}

#[test]
fn wrong_histories_are_found() {
    let use_of = |account, turn, read, left| Access { account, turn, read, left };
    use super::OPENING_BALANCE;
    let (one, all) = (OPENING_BALANCE, [OPENING_BALANCE; 3]);
    let transfer = |a, turn_a, read_a, b, turn_b, read_b| {
        vec![use_of(a, turn_a, read_a, read_a - 1), use_of(b, turn_b, read_b, read_b + 1)]
    };
    let right = History(vec![transfer(0, 0, one, 1, 0, one), transfer(1, 1, one + 1, 0, 1, one - 1)]);
    assert_eq!(right.check(&all, &all), Ok(()));
    let lost = History(vec![transfer(0, 0, one, 1, 0, one), transfer(0, 1, one, 1, 1, one + 1)]);
    assert!(lost.check(&all, &[one - 1, one + 2, one]).expect_err("it is wrong").contains("was found"));
    let circle = History(vec![transfer(0, 0, one, 1, 1, one), transfer(1, 0, one + 1, 0, 1, one - 2)]);
    assert!(circle.check(&all, &all).is_err());
    let torn = History(vec![(0..3).map(|account| use_of(account, 0, one - 1, one - 1)).collect()]);
    assert!(torn.check(&all, &all).expect_err("it is wrong").contains("audit"));
}
