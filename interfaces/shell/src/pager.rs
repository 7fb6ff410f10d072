//! A pager for answers that are longer than the terminal: the program that `PAGER` names, such as `less`.
//!
//! Output that fits on one screen is written directly. The pager gets its text on its standard input, and the terminal until it ends.

use std::io::{self, Write};
use std::process::{Child, Command, Stdio};

/// The program that the environment names, if it names one.
pub fn from_environment() -> Option<String> {
    std::env::var("PAGER").ok().filter(|name| !name.trim().is_empty() && name.trim() != "cat")
}

/// Buffers one screen; longer output goes to the pager.
pub struct Paged {
    program: String,
    lines_max: usize,
    held: Vec<u8>,
    lines: usize,
    pager: Option<Child>,
}

impl Paged {
    /// `height` lines are a screen, of which the prompt takes one.
    pub fn new(program: String, height: usize) -> Paged {
        Paged { program, lines_max: height.saturating_sub(1), held: Vec::new(), lines: 0, pager: None }
    }

    fn begin(&mut self) -> io::Result<()> {
        let mut command = Command::new("sh");
        command.args(["-c", &self.program]).stdin(Stdio::piped());
        if std::env::var_os("LESS").is_none() {
            // Colours as they are; no waiting where it fits after all.
            command.env("LESS", "FRX");
        }
        let mut pager = command.spawn()?;
        if let Some(input) = &mut pager.stdin {
            input.write_all(&self.held)?;
        }
        self.held.clear();
        self.pager = Some(pager);
        Ok(())
    }

    /// Writes the buffer, or waits until the reader has left the pager.
    ///
    /// # Errors
    /// Standard output takes no more.
    pub fn finish(mut self) -> io::Result<()> {
        match self.pager.take() {
            Some(mut pager) => {
                drop(pager.stdin.take());
                pager.wait().map(drop)
            }
            None => {
                let mut out = world::files::stdout();
                out.write_all(&self.held)?;
                out.flush()
            }
        }
    }
}

impl Write for Paged {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(input) = self.pager.as_mut().and_then(|pager| pager.stdin.as_mut()) {
            return input.write(bytes);
        }
        self.held.extend_from_slice(bytes);
        self.lines += bytes.iter().filter(|byte| **byte == b'\n').count();
        if self.lines > self.lines_max {
            self.begin()?;
        }
        Ok(bytes.len())
    }
    /// The buffer is kept until it is known to fit.
    fn flush(&mut self) -> io::Result<()> {
        match self.pager.as_mut().and_then(|pager| pager.stdin.as_mut()) {
            Some(input) => input.flush(),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use world::files::{TemporaryFolder, read_text};

    #[test]
    fn what_is_longer_than_a_screen_goes_to_the_program() {
        let folder = TemporaryFolder::new("pager").unwrap();
        let kept = folder.path().join("kept");
        for (lines, is_paged) in [(9, false), (10, true), (500, true)] {
            let _ = world::files::remove_file(&kept);
            let mut paged = Paged::new(format!("cat > '{}'", kept.display()), 10);
            let text = "x\n".repeat(lines);
            if is_paged {
                text.split_inclusive('\n').for_each(|line| paged.write_all(line.as_bytes()).unwrap());
                paged.finish().unwrap();
                assert_eq!(read_text(&kept).unwrap(), text);
            } else {
                paged.write_all(text.as_bytes()).unwrap();
                assert!(paged.pager.is_none());
            }
        }
    }
}
