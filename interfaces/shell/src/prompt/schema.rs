//! `:schema`: labels and relationship types with counts, indexes and constraints.

use super::conversation::Conversation;
use crate::Ink;
use crate::text::{cell_text, count_text, counted};
use database::Error;
use database::entity::Hydrated;
use std::io;

impl Conversation {
    pub(crate) fn schema(&mut self) -> io::Result<Result<(), Error>> {
        let counted = self.talk.names().and_then(|names| Ok((self.talk.counts(&names)?, names)));
        let (counts, names) = match counted {
            Ok(counted) => counted,
            Err(error) => return Ok(Err(error)),
        };
        let labels = names.labels.iter().map(|name| format!(":{name}")).zip(counts.labels);
        self.counts(["node", "nodes"], counts.nodes, labels.collect())?;
        let types = names.types.iter().map(|name| format!("[:{name}]")).zip(counts.types);
        self.counts(["relationship", "relationships"], counts.relationships, types.collect())?;
        let mut keys = names.keys;
        keys.sort_unstable();
        let joined = keys.join(", ");
        let lines = if keys.is_empty() { Vec::new() } else { vec![joined] };
        self.list(["property key", "property keys"], keys.len(), &lines)?;
        for (title, statement) in
            [(["index", "indexes"], "SHOW INDEXES"), (["constraint", "constraints"], "SHOW CONSTRAINTS")]
        {
            let rows = match self.described(statement) {
                Ok(rows) => rows,
                Err(error) => return Ok(Err(error)),
            };
            self.list(title, rows.len(), &rows)?;
        }
        Ok(Ok(()))
    }

    fn counts(&self, [one, many]: [&str; 2], total: u64, mut counts: Vec<(String, u64)>) -> io::Result<()> {
        self.say(&self.style.paint(Ink::Strong, &counted(total, one, many)))?;
        counts.retain(|(_, count)| *count > 0);
        counts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        for (name, count) in counts {
            let count = format!("{:>12}", count_text(count));
            self.say(&format!("{count}  {}", self.style.paint(Ink::Name, &name)))?;
        }
        Ok(())
    }

    fn list(&self, [one, many]: [&str; 2], count: usize, lines: &[String]) -> io::Result<()> {
        self.say(&self.style.paint(Ink::Strong, &counted(count as u64, one, many)))?;
        lines.iter().try_for_each(|line| self.say(&format!("    {line}")))
    }

    /// `name: NODE [Person] [id]` of each row that a SHOW lists.
    fn described(&mut self, statement: &str) -> Result<Vec<String>, Error> {
        let (titles, rows) = self.rows(statement)?;
        let at = |title: &str| titles.iter().position(|column| **column == *title);
        let columns = ["name", "type", "labelsOrTypes", "properties"].map(at);
        let shown = |row: &[Hydrated], column: Option<usize>| {
            column.and_then(|at| row.get(at)).map_or_else(String::new, cell_text)
        };
        Ok(rows
            .iter()
            .map(|row| {
                let [name, kind, target, keys] = columns.map(|column| shown(row, column).replace('"', ""));
                format!("{name}: {kind} {target} {keys}")
            })
            .collect())
    }
}
