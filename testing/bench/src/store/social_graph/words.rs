//! Names and texts out of a word list and a seed.

use world::chance::Chance;

const SYLLABLES: [&str; 32] = [
    "al", "bar", "cor", "dan", "el", "fen", "gar", "hol", "in", "jor", "kel", "lun", "mar", "nor", "ol",
    "per", "qua", "ros", "sal", "tor", "ul", "ver", "win", "xen", "yor", "zan", "bri", "cha", "dre", "fla",
    "gre", "sto",
];
const WORDS: [&str; 48] = [
    "about",
    "after",
    "all",
    "also",
    "ancient",
    "army",
    "became",
    "began",
    "between",
    "century",
    "city",
    "during",
    "early",
    "empire",
    "father",
    "first",
    "following",
    "government",
    "great",
    "house",
    "in",
    "island",
    "king",
    "known",
    "language",
    "later",
    "life",
    "many",
    "music",
    "new",
    "of",
    "over",
    "people",
    "popular",
    "published",
    "river",
    "school",
    "second",
    "several",
    "south",
    "the",
    "their",
    "through",
    "time",
    "under",
    "war",
    "while",
    "world",
];
const FIRST_NAMES: usize = 600;
const LAST_NAMES: usize = 2_500;
const BROWSERS: [&str; 5] = ["Firefox", "Chrome", "Internet Explorer", "Safari", "Opera"];
const LANGUAGES: [&str; 12] = ["ar", "de", "en", "es", "fr", "hi", "id", "pl", "pt", "ru", "uz", "zh"];
const SHORT_ANSWERS: [&str; 16] = [
    "ok", "yes", "no", "maybe", "thanks", "good", "great", "cool", "fine", "right", "lol", "LOL", "roflol",
    "I see", "duh", "no way!",
];

/// The names that were made.
pub(super) struct Words {
    first_names: Vec<String>,
    last_names: Vec<String>,
}

impl Words {
    pub fn new() -> Words {
        let named =
            |from: usize, count: usize| (from..from + count).map(|number| name(number as u64)).collect();
        Words { first_names: named(100_000, FIRST_NAMES), last_names: named(200_000, LAST_NAMES) }
    }
    /// The name with this number: distinct for numbers below a million.
    pub fn name(&self, number: u64) -> String {
        name(number)
    }
    /// A first name, some more often than others.
    pub fn first_name(&self, chance: &mut Chance) -> &str {
        let share = chance.float().powi(2);
        &self.first_names[(share * FIRST_NAMES as f64) as usize]
    }
    /// A last name.
    pub fn last_name(&self, chance: &mut Chance) -> &str {
        &self.last_names[chance.index(LAST_NAMES)]
    }
    /// A text of `least` to `most` bytes, without a bar or a line end.
    pub fn text(&self, chance: &mut Chance, least: usize, most: usize) -> String {
        let length = least + chance.index(most - least);
        let mut text = String::with_capacity(length + 16);
        text.push_str("About");
        while text.len() < length {
            text.push(' ');
            text.push_str(WORDS[chance.index(WORDS.len())]);
        }
        text.truncate(length);
        text
    }
}

fn name(number: u64) -> String {
    let (mut name, mut left) = (String::new(), number + SYLLABLES.len() as u64);
    while left > 0 {
        name.push_str(SYLLABLES[(left % SYLLABLES.len() as u64) as usize]);
        left /= SYLLABLES.len() as u64;
    }
    name[..1].make_ascii_uppercase();
    name
}

/// An address of a network; some are met often.
pub(super) fn address(chance: &mut Chance) -> String {
    let network = chance.below(4_000);
    format!(
        "{}.{}.{}.{}",
        1 + network % 223,
        network / 223 + 20,
        network % 191,
        chance.below(4) * 64 + network % 64
    )
}

/// A browser.
pub(super) fn browser(chance: &mut Chance) -> &'static str {
    let share = chance.float().powi(2);
    BROWSERS[(share * BROWSERS.len() as f64) as usize]
}

/// A language's code.
pub(super) fn language(chance: &mut Chance) -> &'static str {
    LANGUAGES[chance.index(LANGUAGES.len())]
}

/// A short reply.
pub(super) fn short_answer(chance: &mut Chance) -> &'static str {
    SHORT_ANSWERS[chance.index(SHORT_ANSWERS.len())]
}
