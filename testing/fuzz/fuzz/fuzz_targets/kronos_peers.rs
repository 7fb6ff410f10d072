//! See `targets::kronos`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| targets::targets::kronos_peers(bytes));
