//! # formats: records and values in text
//!
//! CSV and JSON as every part of the product reads them: imports, `LOAD CSV`, parameters over HTTP and in the shell. This crate opens no file;
//! it works on bytes and on [`std::io::Read`].
//!
//! Reading order: [`records`] (CSV records and fields within bytes), [`blocks`] (a stream cut into blocks of whole records), [`json`] (JSON as
//! values), [`json_reader`] (values of JSON from a stream), [`typed`] (JSON that keeps the type of every value), [`tables`] (the traits of a reader
//! of columns, which lies elsewhere).

#![cfg_attr(not(test), deny(clippy::unwrap_used))]

pub mod blocks;
pub mod json;
pub mod json_reader;
pub mod records;
pub mod tables;
pub mod typed;
pub mod urls;
