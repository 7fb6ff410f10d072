//! The 22 queries: ours, the official texts with the values of the validation run, and what the paper measured.

use database::{Params, params};
use std::collections::BTreeMap;

/// The tables that are fed while a query stands; all others are filled before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feed {
    /// The stock of parts at suppliers; nothing was sold yet.
    Stock,
    /// Orders with their line items.
    Sales,
}

/// A query and its properties.
pub struct Query {
    /// Its number, from 1 on.
    pub number: i32,
    /// In Cypher.
    pub text: &'static str,
    /// The tables that its answer depends on.
    pub feed: Feed,
    /// Values of the official text.
    values: &'static [&'static str],
    /// Rows that are wanted of the official text; none for all.
    limit: Option<u32>,
    /// Tuples a second at scale factor 10, in batches of 100,000: DBToaster with one thread, K-Pg with one worker (table 5 of Shared Arrangements).
    pub paper: [u64; 2],
}

impl Query {
    /// `q1` to `q22`.
    pub fn name(&self) -> String {
        format!("q{}", self.number)
    }
    /// The part of all stock that is important (Q11's parameter).
    pub fn fraction(factor: f64) -> f64 {
        0.0001 / factor
    }
    /// The values that our text wants.
    pub fn arguments(&self, factor: f64) -> Params {
        match self.number {
            11 => params! { "fraction" => Query::fraction(factor) },
            _ => Params::new(),
        }
    }
    /// The official text, with its values.
    pub fn official(&self, factor: f64) -> String {
        let text = tpchgen::q_and_a::queries::query(self.number).expect("there are 22");
        let mut text = text.replace(" day (3)", " day").replace("revenue:s", "revenue0");
        if self.number == 11 {
            text = text.replace(":2", &format!("{:.10}", Query::fraction(factor)));
        }
        // The greatest number first: `:1` is the beginning of `:10`.
        for (number, value) in self.values.iter().enumerate().rev() {
            text = text.replace(&format!(":{}", number + 1), value);
        }
        match self.limit {
            Some(limit) => text.trim_end_matches(';').to_string() + &format!("\nlimit {limit};"),
            None => text,
        }
    }
}

/// All official texts by name.
pub fn official(factor: f64) -> BTreeMap<String, String> {
    QUERIES.iter().map(|query| (query.name(), query.official(factor))).collect()
}

macro_rules! queries {
    ($($number:literal $feed:ident $values:expr, $limit:expr, $paper:expr;)*) => {
        [$(Query {
            number: $number,
            text: include_str!(concat!("../../queries/tpch/q", $number, ".cypher")),
            feed: Feed::$feed,
            values: &$values,
            limit: $limit,
            paper: $paper,
        }),*]
    };
}

/// In the order of their numbers.
pub const QUERIES: [Query; 22] = queries! {
    1 Sales ["90"], None, [4_372_480, 9_341_713];
    2 Stock ["15", "BRASS", "EUROPE"], Some(100), [691_260, 4_388_761];
    3 Sales ["BUILDING", "1995-03-15"], Some(10), [4_580_003, 11_049_606];
    4 Sales ["1993-07-01"], None, [9_752_380, 9_046_854];
    5 Sales ["ASIA", "1994-01-01"], None, [509_490, 5_802_513];
    6 Sales ["1994-01-01", "0.06", "24"], None, [101_327_791, 33_090_863];
    7 Sales ["FRANCE", "GERMANY"], None, [646_018, 7_551_628];
    8 Sales ["BRAZIL", "AMERICA", "ECONOMY ANODIZED STEEL"], None, [221_020, 4_949_412];
    9 Sales ["green"], None, [76_296, 2_932_421];
    10 Sales ["1993-10-01"], Some(20), [5_964_290, 9_708_371];
    11 Stock ["GERMANY"], None, [591_716, 1_720_655];
    12 Sales ["MAIL", "SHIP", "1994-01-01"], None, [7_469_474, 11_258_702];
    13 Sales ["special", "requests"], None, [474_765, 1_446_223];
    14 Sales ["1995-09-01"], None, [53_436_252, 21_908_762];
    15 Sales ["1996-01-01"], None, [964, 5_057_397];
    16 Stock ["Brand#45", "MEDIUM POLISHED", "49", "14", "23", "45", "19", "3", "36", "9"], None, [58_721, 4_435_818];
    17 Sales ["Brand#23", "MED BOX"], None, [131_964, 5_218_907];
    18 Sales ["300"], Some(100), [971_313, 5_854_293];
    19 Sales ["Brand#12", "Brand#23", "Brand#34", "1", "10", "20"], None, [8_776_165, 22_696_357];
    20 Sales ["forest", "1994-01-01", "CANADA"], None, [1_871_407, 16_089_949];
    21 Sales ["SAUDI ARABIA"], Some(100), [407_540, 1_968_771];
    22 Sales ["13", "31", "23", "29", "30", "18", "17"], None, [815_903, 1_843_397];
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn official_texts_have_all_of_their_values() {
        for (place, query) in QUERIES.iter().enumerate() {
            assert_eq!(query.number as usize, place + 1);
            let text = query.official(0.01);
            assert!(!text.contains(':'), "{text}");
        }
        assert!(QUERIES[10].official(0.01).contains("* 0.0100000000"));
        assert!(QUERIES[15].official(1.0).contains("(49, 14, 23, 45, 19, 3, 36, 9)"));
        assert!(QUERIES[1].official(1.0).ends_with("limit 100;"));
    }
}
