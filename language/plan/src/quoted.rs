//! Names quoted between backticks, with backticks inside doubled.

use std::fmt::{self, Write};

/// A name as Cypher reads it back, whatever characters it has.
#[derive(Clone, Copy, Debug)]
pub struct Quoted<'a>(pub &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('`')?;
        for (at, part) in self.0.split('`').enumerate() {
            if at > 0 {
                f.write_str("``")?;
            }
            f.write_str(part)?;
        }
        f.write_char('`')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backticks_inside_are_doubled() {
        for (name, text) in [("a", "`a`"), ("", "``"), ("a b", "`a b`"), ("`a``b", "```a````b`")] {
            assert_eq!(Quoted(name).to_string(), text);
        }
    }
}
