//! Bytes on a tenant's account that no query holds: those of caches that live between queries.

use crate::accounting::accounts::Accounts;
use crate::terms::ids::Level;

/// Bytes charged to an account. Dropping it gives them back.
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
    /// Sets the bytes that it holds.
    ///
    /// # Errors
    /// The level that is over its limit, and the limit. The bytes are counted all the same, until fewer are set or it is dropped.
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
