//! Files packed by zstd.

use super::Counted;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::io::{self, BufRead, Read};

/// Bytes that are decoded at once.
const DECODE_BYTES: usize = 256 * 1024;

/// Zstd frames one after the other, skippable ones skipped.
pub(super) struct Zstd {
    source: Counted,
    decoder: FrameDecoder,
    in_frame: bool,
}

impl Zstd {
    pub fn new(source: Counted) -> Zstd {
        Zstd { source, decoder: FrameDecoder::new(), in_frame: false }
    }
    fn begin_frame(&mut self) -> io::Result<()> {
        match self.decoder.reset(&mut self.source) {
            Ok(()) => self.in_frame = true,
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length, ..
            })) => {
                let mut skipped = Read::by_ref(&mut self.source).take(u64::from(length));
                io::copy(&mut skipped, &mut io::sink())?;
            }
            Err(error) => return Err(io::Error::new(io::ErrorKind::InvalidData, error.to_string())),
        }
        Ok(())
    }
}

impl Read for Zstd {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.in_frame && self.decoder.can_collect() > 0 {
                return self.decoder.read(buffer);
            }
            if self.in_frame && !self.decoder.is_finished() {
                self.decoder
                    .decode_blocks(&mut self.source, BlockDecodingStrategy::UptoBytes(DECODE_BYTES))
                    .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
                continue;
            }
            self.in_frame = false;
            if buffer.is_empty() || self.source.fill_buf()?.is_empty() {
                return Ok(0);
            }
            self.begin_frame()?;
        }
    }
}
