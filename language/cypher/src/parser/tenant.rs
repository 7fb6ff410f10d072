//! `CREATE TENANT`, `ALTER TENANT`, `DROP TENANT`: limits and shares of tenants.
//!
//! ```text
//! CREATE TENANT name [IF NOT EXISTS] [SET setting, …]
//! ALTER TENANT name [IF EXISTS] SET setting, …
//! ALTER TENANT name ADD USER user [SET setting, …]
//! ALTER TENANT name REMOVE USER user
//! DROP TENANT name [IF EXISTS]
//!
//! setting  SHARE n | MEMORY '1GB' | SPILL '10GB' | CONCURRENT n | TIME '10s' | RULE WHEN measure > amount THEN remedy | NO RULES
//!          MEMORY, SPILL, CONCURRENT and TIME take NONE as well
//! measure  TIME | CPU | ROWS | MEMORY
//! remedy   KILL | SLOW [TO n] | MOVE TO tenant
//! ```

use super::{Parsed, Parser};
use crate::lexer::TokenKind;
use plan::accounts::{AccountCommand, Measure, Remedy, RunawayRule, SETTINGS_MAX, Setting};
use plan::expr::Name;
use std::sync::Arc;

/// Default weight of a slowed query: a tenth of a fresh one.
const SLOW_WEIGHT: u32 = 10;
/// Units of time, in milliseconds.
const TIMES: [(&str, u64); 4] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000)];
/// Units of memory, in bytes.
const SIZES: [(&str, u64); 8] = [
    ("b", 1),
    ("kb", 1_000),
    ("mb", 1_000_000),
    ("gb", 1_000_000_000),
    ("kib", 1 << 10),
    ("mib", 1 << 20),
    ("gib", 1 << 30),
    ("tib", 1 << 40),
];

impl Parser<'_> {
    /// Whether a command about tenants begins here.
    pub(super) fn at_tenant_command(&self) -> bool {
        self.is_word_of(0, &["CREATE", "ALTER", "DROP"]) && self.is_word(1, "TENANT")
    }

    pub(super) fn tenant_command(&mut self) -> Parsed<AccountCommand> {
        let (creates, drops) = (self.is_word(0, "CREATE"), self.is_word(0, "DROP"));
        self.bump();
        self.expect_word("TENANT")?;
        let name = self.account_name("the name of the tenant")?;
        if creates {
            let if_not_exists = self.eat_words(&["IF", "NOT", "EXISTS"]);
            return Ok(AccountCommand::CreateTenant { name, if_not_exists, settings: self.settings(false)? });
        }
        let if_exists = self.eat_words(&["IF", "EXISTS"]);
        if drops {
            return Ok(AccountCommand::DropTenant { name, if_exists });
        }
        if !if_exists && self.eat_words(&["ADD", "USER"]) {
            let user = self.account_name("the name of the user")?;
            return Ok(AccountCommand::AddUser { tenant: name, user, settings: self.settings(false)? });
        }
        if !if_exists && self.eat_words(&["REMOVE", "USER"]) {
            let user = self.account_name("the name of the user")?;
            return Ok(AccountCommand::RemoveUser { tenant: name, user });
        }
        Ok(AccountCommand::AlterTenant { name, if_exists, settings: self.settings(true)? })
    }

    fn account_name(&mut self, what: &str) -> Parsed<Name> {
        Ok(Arc::from(self.name(what)?.text))
    }

    fn settings(&mut self, needed: bool) -> Parsed<Vec<Setting>> {
        if !self.eat_word("SET") {
            let hint = "write ALTER TENANT name SET SHARE 50, or ADD USER, or REMOVE USER";
            return if needed { Err(self.unexpected_with_hint("SET", hint)) } else { Ok(Vec::new()) };
        }
        let mut settings = vec![self.setting()?];
        while self.eat_symbol(",") {
            if settings.len() >= SETTINGS_MAX {
                return Err(self.unexpected("the end of the settings"));
            }
            settings.push(self.setting()?);
        }
        Ok(settings)
    }

    fn setting(&mut self) -> Parsed<Setting> {
        let start = self.at;
        let word = self.word(0).unwrap_or_default().to_ascii_uppercase();
        self.bump();
        match word.as_str() {
            "SHARE" => Ok(Setting::Share(self.weight()?)),
            "MEMORY" => self
                .unless_none(|parser| parser.quantity(&SIZES, "a size such as '512MB'"))
                .map(Setting::Memory),
            "SPILL" => self
                .unless_none(|parser| parser.quantity(&SIZES, "a size such as '10GB'"))
                .map(Setting::Spill),
            "CONCURRENT" => self.unless_none(|parser| parser.count(1)).map(Setting::Concurrent),
            "TIME" => {
                self.unless_none(|parser| parser.quantity(&TIMES, "a time such as '10s'")).map(Setting::Time)
            }
            "RULE" => self.rule().map(Setting::Rule),
            "NO" => self.expect_word("RULES").map(|()| Setting::NoRules),
            _ => {
                self.at = start;
                Err(self.unexpected("SHARE, MEMORY, SPILL, CONCURRENT, TIME, RULE or NO RULES"))
            }
        }
    }

    fn unless_none<T>(&mut self, amount: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<Option<T>> {
        if self.eat_word("NONE") { Ok(None) } else { amount(self).map(Some) }
    }

    fn rule(&mut self) -> Parsed<RunawayRule> {
        self.expect_word("WHEN")?;
        let measures = [
            ("TIME", Measure::Time),
            ("CPU", Measure::Cpu),
            ("ROWS", Measure::Rows),
            ("MEMORY", Measure::Memory),
        ];
        let Some((_, measure)) = measures.into_iter().find(|(word, _)| self.is_word(0, word)) else {
            return Err(self.unexpected("TIME, CPU, ROWS or MEMORY"));
        };
        self.bump();
        self.expect_symbol(">")?;
        let beyond = match measure {
            Measure::Time | Measure::Cpu => self.quantity(&TIMES, "a time such as '2s'")?,
            Measure::Memory => self.quantity(&SIZES, "a size such as '512MB'")?,
            Measure::Rows => self.count(0)?,
        };
        self.expect_word("THEN")?;
        Ok(RunawayRule { measure, beyond, then: self.remedy()? })
    }

    fn remedy(&mut self) -> Parsed<Remedy> {
        if self.eat_word("KILL") {
            return Ok(Remedy::Kill);
        }
        if self.eat_words(&["MOVE", "TO"]) {
            return Ok(Remedy::Move(self.account_name("the name of the tenant whose share it runs on")?));
        }
        if !self.eat_word("SLOW") {
            return Err(self.unexpected("KILL, SLOW or MOVE TO"));
        }
        Ok(Remedy::Slow(if self.eat_word("TO") { self.weight()? } else { SLOW_WEIGHT }))
    }

    fn weight(&mut self) -> Parsed<u32> {
        let start = self.at;
        let count = self.count(1)?;
        u32::try_from(count).map_err(|_| {
            self.at = start;
            self.unexpected("a smaller number")
        })
    }

    /// A whole number of at least `min`.
    fn count(&mut self, min: u64) -> Parsed<u64> {
        match *self.kind(0) {
            TokenKind::Integer(count) if count >= min => {
                self.bump();
                Ok(count)
            }
            _ => Err(self.unexpected(&format!("a whole number from {min} on"))),
        }
    }

    /// A time in milliseconds, as a string or as a number and a word.
    pub(super) fn time(&mut self) -> Parsed<u64> {
        const EXPECTED: &str = "a time such as 50 ms";
        let TokenKind::Integer(number) = *self.kind(0) else { return self.quantity(&TIMES, EXPECTED) };
        let unit = TIMES.iter().find(|(unit, _)| self.is_word(1, unit));
        let time = unit.and_then(|(_, each)| number.checked_mul(*each));
        let time = time.ok_or_else(|| self.unexpected(EXPECTED))?;
        self.bump();
        self.bump();
        Ok(time)
    }

    /// A number with its unit, as a string.
    fn quantity(&mut self, units: &[(&str, u64)], expected: &str) -> Parsed<u64> {
        let TokenKind::Text(text) = self.kind(0) else { return Err(self.unexpected(expected)) };
        let text = text.trim();
        let digits = text.len() - text.trim_start_matches(|letter: char| letter.is_ascii_digit()).len();
        let (number, unit) = (text[..digits].parse::<u64>(), text[digits..].trim().to_ascii_lowercase());
        let unit = units.iter().find(|(name, _)| *name == unit);
        match (number, unit) {
            (Ok(number), Some((_, each))) if number.checked_mul(*each).is_some() => {
                self.bump();
                Ok(number * each)
            }
            _ => Err(self.unexpected(expected)),
        }
    }
}
