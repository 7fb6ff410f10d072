//! `math`: formulas over the current object (`_`), labels, and numbers.
//!
//! ```text
//! sum  = product { ("+" | "-") product }        power = unary [ "^" power ]
//! product = power { ("*" | "/" | "%") power }    unary = "-" unary | function "(" sum ")" | name | number | "(" sum ")"
//! ```

use crate::step::Name;
use gremlin::limits::FORMULA_OPERATORS_MAX;

/// Deepest nesting of a formula.
const DEPTH_MAX: usize = 64;

/// A formula.
#[derive(Clone, Debug, PartialEq)]
pub enum Formula {
    /// A number.
    Number(f64),
    /// `_` or a label.
    Name(Name),
    /// Minus.
    Negate(Box<Formula>),
    /// An operator.
    Binary(char, Box<Formula>, Box<Formula>),
    /// A function.
    Call(Function, Box<Formula>),
}

/// A function of one number.
type Function = (&'static str, fn(f64) -> f64);

const FUNCTIONS: &[Function] = &[
    ("abs", f64::abs),
    ("acos", f64::acos),
    ("asin", f64::asin),
    ("atan", f64::atan),
    ("cbrt", f64::cbrt),
    ("ceil", f64::ceil),
    ("cos", f64::cos),
    ("cosh", f64::cosh),
    ("exp", f64::exp),
    ("floor", f64::floor),
    ("log", f64::ln),
    ("log10", f64::log10),
    ("log2", f64::log2),
    ("signum", f64::signum),
    ("sin", f64::sin),
    ("sinh", f64::sinh),
    ("sqrt", f64::sqrt),
    ("tan", f64::tan),
    ("tanh", f64::tanh),
];

impl Formula {
    /// Parses a formula; the error describes the fault.
    pub fn parse(text: &str) -> Result<Formula, String> {
        let mut reader = Reader { text, at: 0, depth: 0, operators: 0 };
        let formula = reader.sum()?;
        reader.blanks();
        match reader.at == text.len() {
            true => Ok(formula),
            false => Err(format!("the formula {text:?} makes no sense from {:?} on", &text[reader.at..])),
        }
    }
    /// The names it speaks of, in order, each once.
    pub fn names(&self) -> Vec<Name> {
        let mut found = Vec::new();
        self.collect(&mut found);
        found
    }
    fn collect(&self, found: &mut Vec<Name>) {
        match self {
            Formula::Number(_) => {}
            Formula::Name(name) if !found.contains(name) => found.push(name.clone()),
            Formula::Name(_) => {}
            Formula::Negate(inner) | Formula::Call(_, inner) => inner.collect(found),
            Formula::Binary(_, left, right) => {
                left.collect(found);
                right.collect(found);
            }
        }
    }
    /// Its value, where names stand for numbers.
    pub fn value(&self, named: &dyn Fn(&str) -> f64) -> f64 {
        match self {
            Formula::Number(number) => *number,
            Formula::Name(name) => named(name),
            Formula::Negate(inner) => -inner.value(named),
            Formula::Call((_, function), inner) => function(inner.value(named)),
            Formula::Binary(operator, left, right) => {
                let (left, right) = (left.value(named), right.value(named));
                match operator {
                    '+' => left + right,
                    '-' => left - right,
                    '*' => left * right,
                    '/' => left / right,
                    '%' => left % right,
                    _ => left.powf(right),
                }
            }
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    operators: usize,
}

impl<'a> Reader<'a> {
    fn blanks(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }
    fn peek(&mut self) -> Option<char> {
        self.blanks();
        self.text[self.at..].chars().next()
    }
    fn takes(&mut self, wanted: &[char]) -> Option<char> {
        let next = self.peek().filter(|next| wanted.contains(next))?;
        self.at += next.len_utf8();
        Some(next)
    }
    fn word(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        let rest = &self.text[self.at..];
        let end = rest.find(|letter| !wanted(letter)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn sum(&mut self) -> Result<Formula, String> {
        self.chain(&['+', '-'], Self::product)
    }
    fn product(&mut self) -> Result<Formula, String> {
        self.chain(&['*', '/', '%'], Self::power)
    }
    fn chain(
        &mut self,
        operators: &[char],
        part: fn(&mut Self) -> Result<Formula, String>,
    ) -> Result<Formula, String> {
        self.depth += 1;
        if self.depth > DEPTH_MAX * 4 {
            return Err(format!("the formula is nested deeper than {DEPTH_MAX}"));
        }
        let mut left = part(self)?;
        while let Some(operator) = self.takes(operators) {
            self.operators += 1;
            if self.operators > FORMULA_OPERATORS_MAX {
                return Err(format!("the formula has more than {FORMULA_OPERATORS_MAX} operators"));
            }
            left = Formula::Binary(operator, Box::new(left), Box::new(part(self)?));
        }
        self.depth -= 1;
        Ok(left)
    }
    fn power(&mut self) -> Result<Formula, String> {
        let base = self.unary()?;
        self.depth += 1;
        if self.depth > DEPTH_MAX * 4 {
            return Err(format!("the formula is nested deeper than {DEPTH_MAX}"));
        }
        let whole = match self.takes(&['^']) {
            Some(operator) => Formula::Binary(operator, Box::new(base), Box::new(self.power()?)),
            None => base,
        };
        self.depth -= 1;
        Ok(whole)
    }
    fn unary(&mut self) -> Result<Formula, String> {
        match self.peek() {
            Some('-') => {
                self.at += 1;
                self.depth += 1;
                if self.depth > DEPTH_MAX * 4 {
                    return Err(format!("the formula is nested deeper than {DEPTH_MAX}"));
                }
                let inner = self.unary()?;
                self.depth -= 1;
                Ok(Formula::Negate(Box::new(inner)))
            }
            Some('(') => {
                self.at += 1;
                let inner = self.sum()?;
                self.takes(&[')'])
                    .map(|_| inner)
                    .ok_or_else(|| "a parenthesis of the formula is not closed".into())
            }
            Some(next) if next.is_ascii_digit() || next == '.' => {
                let digits = self.word(|letter| letter.is_ascii_digit() || letter == '.');
                digits.parse().map(Formula::Number).map_err(|_| format!("{digits} is no number"))
            }
            Some(next) if next.is_alphabetic() || next == '_' => {
                let name = self.word(|letter| letter.is_alphanumeric() || letter == '_');
                let known = FUNCTIONS.iter().find(|(known, _)| *known == name).copied();
                let function = match (known, self.peek()) {
                    // its argument may stand without parentheses
                    (Some(function), Some(next)) if next == '(' || next == '_' || next.is_alphanumeric() => {
                        function
                    }
                    (None, Some('(')) => return Err(format!("there is no function {name}")),
                    _ => return Ok(Formula::Name(name.into())),
                };
                Ok(Formula::Call(function, Box::new(self.unary()?)))
            }
            _ => Err(format!("the formula {:?} ends too early", self.text)),
        }
    }
}
