//! A database in this process, for the shell.

use super::{Interrupt, NameCounts, Names, StatementAnswer, Talk};
use database::entity::{Hydrated, hydrate};
use database::gremlin::GremlinOptions;
use database::{
    Database, Error, GremlinRows, Mode, Params, QueryResult, RunningQuery, Session, Summary, is_hidden_key,
};
use model::{EdgeTypeId, LabelId};
use std::sync::Arc;

/// A database in this process.
pub struct Local {
    database: Database,
    session: Session,
}

impl Local {
    /// A conversation of its own session.
    pub fn new(session: Session) -> Local {
        Local { database: session.database().clone(), session }
    }
}

impl StatementAnswer for QueryResult {
    fn columns(&self) -> Vec<Arc<str>> {
        QueryResult::columns(self).to_vec()
    }
    fn is_endless(&self) -> bool {
        QueryResult::is_endless(self)
    }
    fn next_rows(&mut self) -> Result<Option<Vec<Vec<Hydrated>>>, Error> {
        let Some(batch) = self.next_batch()? else { return Ok(None) };
        let snapshot = self.snapshot().clone();
        let row = |row| batch.row(row).iter().map(|value| hydrate(value, &snapshot)).collect();
        (0..batch.len()).map(row).collect::<Result<_, Error>>().map(Some)
    }
    fn summary(&self) -> Summary {
        QueryResult::summary(self).clone()
    }
}

impl Talk for Local {
    fn query(&mut self, text: &str, params: &Params) -> Result<Box<dyn StatementAnswer + '_>, Error> {
        Ok(Box::new(self.session.query(text, params.clone())?))
    }
    fn gremlin(&mut self, text: &str, params: &Params) -> Result<GremlinRows, Error> {
        self.session.gremlin_text(text, params, &GremlinOptions::default())
    }
    fn begin(&mut self) -> Result<(), Error> {
        self.session.begin(Mode::Write)
    }
    fn commit(&mut self) -> Result<(), Error> {
        self.session.commit().map(drop)
    }
    fn rollback(&mut self) -> Result<(), Error> {
        self.session.rollback()
    }
    fn in_transaction(&self) -> bool {
        self.session.in_transaction()
    }
    fn break_transaction(&mut self) {
        self.session.break_transaction();
    }
    fn interrupter(&self) -> Interrupt {
        let interrupter = self.session.interrupter();
        Arc::new(move || interrupter.interrupt("Ctrl-C"))
    }
    fn settle_interrupt(&mut self) {
        self.session.settle_interrupt();
    }
    fn names_version(&mut self) -> u64 {
        self.database.snapshot().commit_version()
    }
    fn names(&mut self) -> Result<Names, Error> {
        let snapshot = self.database.snapshot();
        let names = snapshot.catalog().names();
        let keys = names.keys().iter().filter(|key| !is_hidden_key(key));
        Ok(Names {
            labels: names.labels().iter().map(|name| name.to_string()).collect(),
            types: names.edge_types().iter().map(|name| name.to_string()).collect(),
            keys: keys.map(|key| key.to_string()).collect(),
        })
    }
    fn counts(&mut self, names: &Names) -> Result<NameCounts, Error> {
        let snapshot = self.database.snapshot();
        let statistics = snapshot.statistics();
        // A name's place is its number, for good.
        let (labels, types) = (0..names.labels.len(), 0..names.types.len());
        Ok(NameCounts {
            nodes: statistics.vertices(),
            labels: labels.map(|at| statistics.vertices_with_label(LabelId(at as u16))).collect(),
            relationships: statistics.edges(),
            types: types.map(|at| statistics.edges_of_type(EdgeTypeId(at as u16))).collect(),
        })
    }
    fn running(&mut self) -> Result<Vec<RunningQuery>, Error> {
        Ok(self.database.running())
    }
    fn kill(&mut self, id: &str) -> Result<bool, Error> {
        self.database.kill(id, "killed from the shell")
    }
}
