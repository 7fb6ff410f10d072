//! The content of a user's entry. Drawn in docs/formats/catalogue.md.

/// Its first line: kind and version.
const HEAD: &str = "user 1";
const HASH: &str = "password ";
const SUSPENDED: &str = "suspended";

/// The content of a user's entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct User {
    /// The salted hash of its password, in the PHC string format.
    pub hash: String,
    /// It may not log on for now.
    pub suspended: bool,
}

impl User {
    /// Lines of text.
    pub fn encode(&self) -> Vec<u8> {
        let suspended = if self.suspended { format!("{SUSPENDED}\n") } else { String::new() };
        format!("{HEAD}\n{HASH}{}\n{suspended}", self.hash).into_bytes()
    }
    /// Inverse of [`User::encode`].
    ///
    /// # Errors
    /// The damage, as a clause. It never repeats the content.
    pub fn decode(entry: &[u8]) -> Result<User, String> {
        let text = std::str::from_utf8(entry).map_err(|_| "it is no text".to_string())?;
        if !text.ends_with('\n') {
            return Err("it is cut off".into());
        }
        let mut lines = text.lines();
        if lines.next() != Some(HEAD) {
            return Err("it does not begin as a user of version 1 does".into());
        }
        let hash = lines.next().and_then(|line| line.strip_prefix(HASH)).ok_or("it has no password")?;
        super::password::check(hash)?;
        let suspended = match lines.next() {
            None => false,
            Some(SUSPENDED) => true,
            Some(_) => return Err("it has a line that says nothing known".into()),
        };
        match lines.next() {
            None => Ok(User { hash: hash.into(), suspended }),
            Some(_) => Err("it has more lines than it may have".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: &str =
        "$argon2id$v=19$m=19456,t=2,p=1$bm9ib2R5bm9ib2R5$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

    #[test]
    fn entries_are_read_as_they_were_written_and_damage_is_refused() {
        for suspended in [false, true] {
            let user = User { hash: HASH.into(), suspended };
            let bytes = user.encode();
            assert_eq!(User::decode(&bytes).unwrap(), user);
            for length in 0..bytes.len() {
                let cut = User::decode(&bytes[..length]);
                // The line that suspends may be gone as a whole.
                assert!(cut.as_ref().is_err() || cut == Ok(User { suspended: false, ..user.clone() }));
            }
        }
        for text in ["", "user 2\n", "user 1\npassword x\n", "user 1\n", "{\"users\":[]}"] {
            assert!(User::decode(text.as_bytes()).is_err(), "{text}");
        }
        assert!(User::decode(&[0xff]).is_err());
    }
}
