//! Reads expressions in the notation of Cypher, so that tests can be written as text. Only what tests need; the language's own
//! parser lives in a crate above this one. `@n` is column n of the row.

use plan::expr::{BinaryOperator as B, LabelExpr, MapProjectionItem, Quantifier, UnaryOperator as U};
use plan::{Expr, Function, Var};
use std::sync::Arc;

/// Variables of comprehensions start here; columns lie below.
const LOCAL_FIRST: u32 = 1_000;

/// The expression that `text` stands for.
pub(crate) fn read(text: &str) -> Result<Expr, String> {
    let mut reader = Reader { rest: text, names: Vec::new() };
    let expr = reader.binary(0)?;
    reader.blanks();
    if reader.rest.is_empty() { Ok(expr) } else { Err(format!("unread: {}", reader.rest)) }
}

struct Reader<'a> {
    rest: &'a str,
    /// Names of the variables of comprehensions; entry i is `Var(LOCAL_FIRST + i)`.
    names: Vec<String>,
}

/// Operators by binding strength, weakest first; longer spellings before shorter.
const LEVELS: [&[(&str, B)]; 8] = [
    &[("OR ", B::Or)],
    &[("XOR ", B::Xor)],
    &[("AND ", B::And)],
    &[
        ("<>", B::NotEqual),
        ("<=", B::LessEqual),
        (">=", B::GreaterEqual),
        ("=~", B::Matches),
        ("=", B::Equal),
        ("<", B::Less),
        (">", B::Greater),
    ],
    &[
        ("IN ", B::In),
        ("STARTS WITH ", B::StartsWith),
        ("ENDS WITH ", B::EndsWith),
        ("CONTAINS ", B::Contains),
    ],
    &[("+", B::Add), ("-", B::Subtract)],
    &[("*", B::Multiply), ("/", B::Divide), ("%", B::Modulo)],
    &[("^", B::Power)],
];

impl<'a> Reader<'a> {
    fn blanks(&mut self) {
        self.rest = self.rest.trim_start();
    }
    fn eat(&mut self, token: &str) -> bool {
        self.blanks();
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }
    fn expect(&mut self, token: &str) -> Result<(), String> {
        if self.eat(token) { Ok(()) } else { Err(format!("expected {token} before: {}", self.rest)) }
    }
    fn word(&mut self) -> Option<&'a str> {
        self.blanks();
        let end = self.rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        if word.is_empty() || word.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        self.rest = rest;
        Some(word)
    }

    fn binary(&mut self, level: usize) -> Result<Expr, String> {
        if level == 3 && self.eat("NOT ") {
            return Ok(Expr::Unary(U::Not, Box::new(self.binary(3)?)));
        }
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1)?;
        loop {
            self.blanks();
            if level == 4 && self.eat("IS NULL") {
                left = Expr::Unary(U::IsNull, Box::new(left));
                continue;
            }
            if level == 4 && self.eat("IS NOT NULL") {
                left = Expr::Unary(U::IsNotNull, Box::new(left));
                continue;
            }
            let Some((_, operator)) = operators.iter().find(|(token, _)| self.eat(token)) else {
                return Ok(left);
            };
            left = Expr::binary(*operator, left, self.binary(level + 1)?);
        }
    }

    fn unary(&mut self) -> Result<Expr, String> {
        self.blanks();
        if self.rest.starts_with('-') && !self.rest[1..].starts_with(|c: char| c.is_ascii_digit() || c == '.')
        {
            self.eat("-");
            return Ok(Expr::Unary(U::Negate, Box::new(self.unary()?)));
        }
        if self.eat("+") {
            return Ok(Expr::Unary(U::Plus, Box::new(self.unary()?)));
        }
        let mut expr = self.atom()?;
        loop {
            if self.rest.starts_with('.') && !self.rest.starts_with("..") {
                self.eat(".");
                let key = self.word().ok_or("a key after the dot")?;
                expr = Expr::Property(Box::new(expr), key.into());
            } else if self.rest.starts_with(':') {
                self.eat(":");
                let label = self.word().ok_or("a label after the colon")?;
                expr = Expr::HasLabels(Box::new(expr), LabelExpr::Has(label.into()));
            } else if self.eat("[") {
                expr = self.index(expr)?;
            } else if self.rest.trim_start().starts_with('{') {
                expr = self.projection(expr)?;
            } else {
                return Ok(expr);
            }
        }
    }

    fn index(&mut self, subject: Expr) -> Result<Expr, String> {
        let from = if self.rest.trim_start().starts_with("..") { None } else { Some(self.binary(0)?) };
        if self.eat("..") {
            let to = if self.rest.trim_start().starts_with(']') { None } else { Some(self.binary(0)?) };
            self.expect("]")?;
            return Ok(Expr::Slice(Box::new(subject), from.map(Box::new), to.map(Box::new)));
        }
        self.expect("]")?;
        Ok(Expr::Index(Box::new(subject), Box::new(from.ok_or("an index")?)))
    }

    fn projection(&mut self, subject: Expr) -> Result<Expr, String> {
        self.expect("{")?;
        let mut items = Vec::new();
        while !self.eat("}") {
            items.push(if self.eat(".*") {
                MapProjectionItem::AllProperties
            } else if self.eat(".") {
                MapProjectionItem::Property(self.word().ok_or("a key")?.into())
            } else {
                let name = self.word().ok_or("a name")?;
                self.expect(":")?;
                MapProjectionItem::Entry(name.into(), self.binary(0)?)
            });
            self.eat(",");
        }
        Ok(Expr::MapProjection(Box::new(subject), items))
    }

    fn atom(&mut self) -> Result<Expr, String> {
        self.blanks();
        match self.rest.chars().next().ok_or("an expression")? {
            '(' => {
                self.eat("(");
                let expr = self.binary(0)?;
                self.expect(")")?;
                Ok(expr)
            }
            '\'' => self.text(),
            '$' => {
                self.eat("$");
                Ok(Expr::Parameter(self.word().ok_or("a parameter")?.into()))
            }
            '@' => {
                self.eat("@");
                let end = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
                let column = self.rest[..end].parse().map_err(|_| "a column")?;
                self.rest = &self.rest[end..];
                Ok(Expr::Variable(Var(column)))
            }
            '[' => self.list(),
            '{' => self.map(),
            c if c.is_ascii_digit() || c == '-' || c == '.' => self.number(),
            _ => self.named(),
        }
    }

    fn text(&mut self) -> Result<Expr, String> {
        let end = self.rest[1..].find('\'').ok_or("an open text")? + 1;
        let text = &self.rest[1..end];
        self.rest = &self.rest[end + 1..];
        Ok(Expr::literal(text))
    }

    fn number(&mut self) -> Result<Expr, String> {
        let bytes = self.rest.as_bytes();
        let mut end = usize::from(bytes[0] == b'-');
        let mut float = false;
        while end < bytes.len() {
            let dot = bytes[end] == b'.' && bytes.get(end + 1).is_some_and(u8::is_ascii_digit);
            let exponent = end > 0 && bytes[end] == b'e';
            let sign = bytes[end] == b'-' && bytes[end - 1] == b'e';
            float |= dot || exponent;
            if !(bytes[end].is_ascii_digit() || dot || exponent || sign) {
                break;
            }
            end += 1;
        }
        let (digits, rest) = self.rest.split_at(end);
        self.rest = rest;
        let wrong = |_| format!("no number: {digits}");
        if float {
            return Ok(Expr::literal(digits.parse::<f64>().map_err(|_| digits.to_string())?));
        }
        Ok(Expr::literal(digits.parse::<i64>().map_err(wrong)?))
    }

    fn list(&mut self) -> Result<Expr, String> {
        self.expect("[")?;
        let start = self.rest;
        if let Some(name) = self.word()
            && self.eat("IN ")
        {
            return self.comprehension(name);
        }
        self.rest = start;
        let mut elements = Vec::new();
        while !self.eat("]") {
            elements.push(self.binary(0)?);
            self.eat(",");
        }
        Ok(Expr::List(elements))
    }

    fn bind(&mut self, name: &str) -> Var {
        self.names.push(name.to_string());
        Var(LOCAL_FIRST + self.names.len() as u32 - 1)
    }

    fn comprehension(&mut self, name: &str) -> Result<Expr, String> {
        let list = Box::new(self.binary(0)?);
        let variable = self.bind(name);
        let predicate = if self.eat("WHERE ") { Some(Box::new(self.binary(0)?)) } else { None };
        let map = if self.eat("|") { Some(Box::new(self.binary(0)?)) } else { None };
        self.expect("]")?;
        Ok(Expr::Comprehension { variable, list, predicate, map })
    }

    fn map(&mut self) -> Result<Expr, String> {
        self.expect("{")?;
        let mut entries = Vec::new();
        while !self.eat("}") {
            let name: Arc<str> = self.word().ok_or("a key")?.into();
            self.expect(":")?;
            entries.push((name, self.binary(0)?));
            self.eat(",");
        }
        Ok(Expr::Map(entries))
    }

    fn named(&mut self) -> Result<Expr, String> {
        let word = self.word().ok_or_else(|| format!("cannot read: {}", self.rest))?;
        match word {
            "null" => return Ok(Expr::literal(model::Value::Null)),
            "true" | "false" => return Ok(Expr::literal(word == "true")),
            "NaN" => return Ok(Expr::literal(f64::NAN)),
            "Infinity" => return Ok(Expr::literal(f64::INFINITY)),
            "CASE" => return self.case(),
            "path" | "distinct_edges" if self.eat("(") => {
                let mut parts = Vec::new();
                while !self.eat(")") {
                    match self.atom()? {
                        Expr::Variable(variable) => parts.push(variable),
                        other => return Err(format!("{other:?} is no column")),
                    }
                    self.eat(",");
                }
                return Ok(if word == "path" { Expr::PathOf(parts) } else { Expr::EdgesDistinct(parts) });
            }
            "reduce" => return self.reduce(),
            _ => {}
        }
        let quantifier = match word {
            "all" => Some(Quantifier::All),
            "any" => Some(Quantifier::Any),
            "none" => Some(Quantifier::None),
            "single" => Some(Quantifier::Single),
            _ => None,
        };
        if let Some(quantifier) = quantifier {
            return self.quantified(quantifier);
        }
        if let Some(at) = self.names.iter().rposition(|name| name == word) {
            return Ok(Expr::Variable(Var(LOCAL_FIRST + at as u32)));
        }
        let mut name = word.to_string();
        while self.rest.starts_with('.') {
            self.eat(".");
            name = format!("{name}.{}", self.word().ok_or("a name after the dot")?);
        }
        let function = Function::by_name(&name).ok_or_else(|| format!("unknown name: {name}"))?;
        self.expect("(")?;
        let mut arguments = Vec::new();
        while !self.eat(")") {
            arguments.push(self.binary(0)?);
            self.eat(",");
        }
        Ok(Expr::Call(function, arguments))
    }

    fn quantified(&mut self, quantifier: Quantifier) -> Result<Expr, String> {
        self.expect("(")?;
        let name = self.word().ok_or("a variable")?;
        self.expect("IN ")?;
        let list = Box::new(self.binary(0)?);
        let variable = self.bind(name);
        self.expect("WHERE ")?;
        let predicate = Box::new(self.binary(0)?);
        self.expect(")")?;
        Ok(Expr::Quantified { quantifier, variable, list, predicate })
    }

    fn reduce(&mut self) -> Result<Expr, String> {
        self.expect("(")?;
        let accumulator = self.word().ok_or("an accumulator")?;
        self.expect("=")?;
        let initial = Box::new(self.binary(0)?);
        self.expect(",")?;
        let name = self.word().ok_or("a variable")?;
        self.expect("IN ")?;
        let list = Box::new(self.binary(0)?);
        let (accumulator, variable) = (self.bind(accumulator), self.bind(name));
        self.expect("|")?;
        let body = Box::new(self.binary(0)?);
        self.expect(")")?;
        Ok(Expr::Reduce { accumulator, initial, variable, list, body })
    }

    fn case(&mut self) -> Result<Expr, String> {
        let operand = if self.eat("WHEN ") { None } else { Some(Box::new(self.binary(0)?)) };
        if operand.is_some() {
            self.expect("WHEN ")?;
        }
        let mut arms = Vec::new();
        loop {
            let when = self.binary(0)?;
            self.expect("THEN ")?;
            arms.push((when, self.binary(0)?));
            if !self.eat("WHEN ") {
                break;
            }
        }
        let otherwise = if self.eat("ELSE ") { Some(Box::new(self.binary(0)?)) } else { None };
        self.expect("END")?;
        Ok(Expr::Case { operand, arms, otherwise })
    }
}
