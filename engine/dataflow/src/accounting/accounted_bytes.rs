//! Bytes on a tenant's account that no query holds: what is kept between queries.

use crate::accounting::accounts::Accounts;
use crate::terms::ids::Level;

/// Bytes held for somebody. Dropping it gives them back.
pub struct AccountedBytes {
    accounts: Accounts,
    bytes: u64,
}

impl AccountedBytes {
    pub(crate) fn new(accounts: Accounts) -> AccountedBytes {
        AccountedBytes { accounts, bytes: 0 }
    }
    /// The least of its limits.
    pub fn bytes_max(&self) -> u64 {
        self.accounts.bytes_max().1
    }
    /// From now on it holds so many bytes.
    ///
    /// # Errors
    /// The level that has no room for more, and its limit. They are counted all the same, until it holds less or is dropped.
    pub fn set(&mut self, bytes: u64) -> Result<(), (Level, u64)> {
        let before = std::mem::replace(&mut self.bytes, bytes);
        match bytes.checked_sub(before) {
            Some(0) => Ok(()),
            Some(more) => self.accounts.charge(more),
            None => {
                self.accounts.release(before - bytes);
                Ok(())
            }
        }
    }
}

impl Drop for AccountedBytes {
    fn drop(&mut self) {
        self.accounts.release(self.bytes);
    }
}
