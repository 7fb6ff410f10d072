//! See `targets::graphbinary`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| targets::targets::graphbinary(bytes));
