//! The demo's screen: names and times to the left, queries and answers to the right, for 80 columns and 24 lines.

use super::Exit;
use super::network::Network;
use database::Database;
use shell::highlight::highlight;
use shell::text::{count_text, time_text};
use shell::{Ink, Style};
use std::io::Write;
use std::path::Path;
use std::time::Duration;

/// Columns of the left side.
const LEFT: usize = 15;
/// Columns before the commands at the foot: longer than queries, they need the room.
const LEFT_OF_FOOT: usize = 6;
/// From this many lines on, there is room for blank ones.
const LINES_ROOMY: usize = 30;

pub struct Screen {
    style: Style,
    is_roomy: bool,
}

impl Screen {
    pub fn new() -> Screen {
        let style = Style::of_stdout();
        Screen { style, is_roomy: style.height.is_none_or(|height| height >= LINES_ROOMY) }
    }

    pub fn head(
        &self,
        network: &Network,
        database: &Database,
        seed: u64,
        (making, storing): (u64, u64),
    ) -> Result<(), Exit> {
        let snapshot = database.snapshot();
        let (vertices, edges) = (snapshot.statistics().vertices(), snapshot.statistics().edges());
        let title = self.style.paint(Ink::Strong, &format!("Tanglewood {}", env!("CARGO_PKG_VERSION")));
        let people = count_text(network.persons.len() as u64);
        self.line(&format!(" {title}  a small social network: {people} people who know, write and like"))?;
        let [making, storing] = [making, storing].map(|time| time_text(Duration::from_nanos(time)));
        let facts = format!(
            " {} vertices, {} edges, from seed {seed} in {making}, stored in {storing}",
            count_text(vertices),
            count_text(edges)
        );
        self.line(&self.style.paint(Ink::Quiet, &facts))?;
        self.line("")
    }

    /// One thing asked: what it is, its text, how long it took, and the answer in a line.
    pub fn step(&self, name: &str, text: &str, time: Duration, answer: &str) -> Result<(), Exit> {
        let time = time_text(time);
        for (at, line) in text.lines().enumerate() {
            let left = match at {
                0 => self.style.paint(Ink::Strong, &format!("{name:<LEFT$}")),
                1 => self.style.paint(Ink::Quiet, &format!("{time:<LEFT$}")),
                _ => " ".repeat(LEFT),
            };
            self.line(&format!(" {left}{}", highlight(line, &self.style)))?;
        }
        let left = " ".repeat(LEFT);
        let answer = self.fitting(answer);
        self.line(&format!(
            " {left}{} {}",
            self.style.paint(Ink::Good, "→"),
            self.style.paint(Ink::Strong, &answer)
        ))?;
        if self.is_roomy { self.line("") } else { Ok(()) }
    }

    pub fn foot(&self, folder: Option<&Path>) -> Result<(), Exit> {
        if !self.is_roomy {
            self.line("")?;
        }
        let program = program();
        let Some(folder) = folder else {
            return self.line(&format!(" next  {program} demo   keeps the network in a folder"));
        };
        let folder = folder.display();
        let next = [
            format!("{program} shell {folder}"),
            format!("{program} query {folder} \"SHOW INDEXES\""),
            format!("{program} serve {folder}"),
        ];
        let remarks = ["ask it yourself", "", "for Neo4j drivers"];
        for (at, (command, remark)) in next.iter().zip(remarks).enumerate() {
            let left = if at == 0 { "next" } else { "" };
            let left = self.style.paint(Ink::Strong, &format!("{left:<LEFT_OF_FOOT$}"));
            let remark = if remark.is_empty() { String::new() } else { format!("   {remark}") };
            self.line(&format!(" {left}{command}{}", self.style.paint(Ink::Quiet, &remark)))?;
        }
        Ok(())
    }

    /// Cut at the terminal's width.
    fn fitting(&self, answer: &str) -> String {
        let room = self.style.width.unwrap_or(usize::MAX).saturating_sub(LEFT + 4).max(20);
        if answer.chars().count() <= room {
            return answer.to_string();
        }
        let shown: String = answer.chars().take(room - 1).collect();
        format!("{}…", shown.trim_end())
    }

    fn line(&self, text: &str) -> Result<(), Exit> {
        Ok(writeln!(world::files::stdout(), "{}", text.trim_end())?)
    }
}

/// How this program was called, so that what is shown can be typed.
fn program() -> String {
    let called = std::env::args().next().unwrap_or_default();
    if called.contains('/') && called.len() <= 40 { called } else { "tanglewood".into() }
}
