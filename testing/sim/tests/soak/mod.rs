//! How long the long forms are.

use std::ops::Range;

/// The first seeds of these: `TANGLEWOOD_SOAK_PERCENT` of a hundred, all of them where it is not set.
pub fn part(seeds: Range<u64>) -> Range<u64> {
    let given = std::env::var("TANGLEWOOD_SOAK_PERCENT").ok().and_then(|text| text.parse::<u64>().ok());
    let count = (seeds.end - seeds.start) * given.unwrap_or(100).min(100) / 100;
    seeds.start..seeds.start + count.max(1)
}
