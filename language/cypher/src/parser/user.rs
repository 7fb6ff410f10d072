//! `CREATE USER`, `ALTER USER`, `DROP USER`, `ALTER CURRENT USER`.
//!
//! ```text
//! CREATE USER name [IF NOT EXISTS] password [status]
//! ALTER USER name [IF EXISTS] [password] [status]
//! DROP USER name [IF EXISTS]
//! ALTER CURRENT USER SET PASSWORD FROM secret TO secret
//! password: SET [PLAINTEXT] PASSWORD secret [CHANGE NOT REQUIRED]
//! secret:   'text' | $parameter
//! status:   SET STATUS ACTIVE | SUSPENDED
//! ```

use super::{Parsed, Parser};
use crate::lexer::TokenKind;
use plan::users::{Password, UserCommand};
use std::sync::Arc;

impl Parser<'_> {
    /// Whether a command about users begins here.
    pub(super) fn at_user_command(&self) -> bool {
        self.is_word_of(0, &["CREATE", "ALTER", "DROP"]) && self.is_word(1, "USER") || self.at_current_user()
    }

    fn at_current_user(&self) -> bool {
        self.is_word(0, "ALTER") && self.is_word(1, "CURRENT") && self.is_word(2, "USER")
    }

    pub(super) fn user_command(&mut self) -> Parsed<UserCommand> {
        if self.eat_words(&["ALTER", "CURRENT", "USER"]) {
            return self.own_password();
        }
        let (creates, drops) = (self.is_word(0, "CREATE"), self.is_word(0, "DROP"));
        self.bump();
        self.bump();
        let name = Arc::from(self.name("the name of the user")?.text);
        if creates {
            let if_not_exists = self.eat_words(&["IF", "NOT", "EXISTS"]);
            let (password, suspended) = (self.password()?, self.user_status()?);
            return Ok(UserCommand::Create { name, if_not_exists, password, suspended });
        }
        let if_exists = self.eat_words(&["IF", "EXISTS"]);
        if drops {
            return Ok(UserCommand::Drop { name, if_exists });
        }
        let sets_status = self.is_word(0, "SET") && self.is_word(1, "STATUS");
        let password = if sets_status { None } else { Some(self.password()?) };
        Ok(UserCommand::Alter { name, if_exists, password, suspended: self.user_status()? })
    }

    fn user_status(&mut self) -> Parsed<Option<bool>> {
        if !self.eat_words(&["SET", "STATUS"]) {
            return Ok(None);
        }
        match self.eat_word("SUSPENDED") {
            true => Ok(Some(true)),
            false => self.expect_word("ACTIVE").map(|_| Some(false)),
        }
    }

    fn password(&mut self) -> Parsed<Password> {
        self.expect_word("SET")?;
        self.eat_word("PLAINTEXT");
        self.expect_word("PASSWORD")?;
        let password = self.secret()?;
        if self.is_word(0, "CHANGE") && self.is_word(1, "REQUIRED") {
            let hint = "write CHANGE NOT REQUIRED, or leave it out: a password that was set holds until another is set";
            return Err(self.unexpected_with_hint("CHANGE NOT REQUIRED", hint));
        }
        self.eat_words(&["CHANGE", "NOT", "REQUIRED"]);
        Ok(password)
    }

    /// `SET PASSWORD FROM secret TO secret`.
    fn own_password(&mut self) -> Parsed<UserCommand> {
        for word in ["SET", "PASSWORD", "FROM"] {
            self.expect_word(word)?;
        }
        let from = self.secret()?;
        self.expect_word("TO")?;
        Ok(UserCommand::AlterCurrent { from, to: self.secret()? })
    }

    fn secret(&mut self) -> Parsed<Password> {
        let secret = match self.kind(0) {
            TokenKind::Text(text) => Password::Text(Arc::from(text.as_str())),
            TokenKind::Parameter(name) => Password::Parameter(Arc::from(name.as_str())),
            _ => return Err(self.unexpected("a text or a parameter")),
        };
        self.bump();
        Ok(secret)
    }
}
