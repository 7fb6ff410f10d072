//! The procedure table: names, arguments, fields and one line of documentation, shared by the languages (to check calls), `execute` (to
//! run them) and `SHOW` (to list them).
//!
//! `SHOW INDEXES` and its like are procedures too, under names with a blank that no text can write: so `YIELD`, `WHERE` and `RETURN`
//! behind them are clauses like any other.

/// A procedure. Those of [`WRITING`] write, the others read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Procedure {
    /// Full name.
    pub name: &'static str,
    /// Arguments: name and type.
    pub arguments: &'static [(&'static str, &'static str)],
    /// Fields it yields, in column order: name and type.
    pub fields: &'static [(&'static str, &'static str)],
    /// How many of the fields a listing shows by default.
    pub shown: usize,
    /// One line of documentation.
    pub help: &'static str,
}

/// The parameters that bring rows known to the interfaces only to the procedures `show queries` and `show tenants`: the procedure's name behind a
/// blank, which no text names by accident.
pub const LISTED_QUERIES: &str = " show queries";
/// Likewise.
pub const LISTED_TRANSACTIONS: &str = " show transactions";
/// Likewise.
pub const LISTED_USERS: &str = " show users";
/// Likewise.
pub const LISTED_CURRENT_USER: &str = " show current user";
/// Likewise.
pub const LISTED_ROLES: &str = " show roles";
/// Likewise.
pub const LISTED_PRIVILEGES: &str = " show privileges";
/// Likewise; each row ends with its role, to filter by.
pub const LISTED_ROLE_PRIVILEGES: &str = " show role privileges";
/// Likewise; each row ends with its user, to filter by, or with no name for the caller.
pub const LISTED_USER_PRIVILEGES: &str = " show user privileges";
/// Likewise, for `dbms.listConfig` too.
pub const LISTED_SETTINGS: &str = " show settings";
/// Likewise.
pub const LISTED_TENANTS: &str = " show tenants";
/// Likewise.
pub const LISTED_CLUSTER: &str = " show cluster";
/// The parameter with the rows of SHOW ORDER.
pub const LISTED_ORDER: &str = " show order";
/// Likewise.
pub const LISTED_PROGRAMS: &str = " show programs";
/// The parameter with the rows of SHOW CACHES.
pub const LISTED_CACHES: &str = " show caches";
/// The parameter with the rows of SHOW TABLETS.
pub const LISTED_TABLETS: &str = " show tablets";

/// Likewise.
pub const LISTED_STANDING: &str = " show standing queries";

/// The procedure that copies the database, which an interface does: the prefix of the parameter with the report. Behind it stands the folder, or `$`
/// and the parameter that names it.
pub const BACKUP: &str = "dbms.backup";
/// See [`BACKUP`].
pub const BACKED_UP: &str = " dbms.backup ";
/// Likewise the procedure that sets how much history is kept: its argument is a text, or `$` and a parameter.
pub const SET_HISTORY: &str = "dbms.setHistory";
/// See [`SET_HISTORY`].
pub const HISTORY_SET: &str = " dbms.setHistory ";

/// The procedure behind EXPORT DATABASE, which an interface does as it makes a backup; behind the beginning of the parameter stands the format, a blank, and
/// the folder as there.
pub const EXPORT: &str = "dbms.export";
/// See [`EXPORT`].
pub const EXPORTED: &str = " dbms.export ";

/// The procedure that lists settings by a part of their name; the rows come as an additional argument.
pub const LIST_CONFIG: &str = "dbms.listConfig";

/// The procedure behind LOAD CSV.
pub const LOAD_CSV: &str = "load csv";

/// The procedure behind LOAD JSON.
pub const LOAD_JSON: &str = "load json";

/// The procedure behind LOAD PARQUET.
pub const LOAD_PARQUET: &str = "load parquet";

/// The procedures behind LOAD, whatever the files hold.
pub const LOADS: [&str; 3] = [LOAD_CSV, LOAD_JSON, LOAD_PARQUET];

/// Procedures that write: a language replaces their calls by clauses.
pub const WRITING: [&str; 7] = [
    "apoc.create.addLabels",
    "apoc.create.node",
    "apoc.create.relationship",
    "apoc.merge.node",
    "apoc.merge.relationship",
    "db.create.setNodeVectorProperty",
    "db.create.setRelationshipVectorProperty",
];

const NAMES: &str = "LIST<STRING>";

/// How the names of node programs begin.
const PROGRAM: &str = "program.";
/// The procedure behind calls of programs that were deployed.
pub const CALL_PROGRAM: &str = "call program";

/// The name of the program that a procedure of this name runs, if it runs one.
pub fn program_name(procedure: &str) -> Option<&str> {
    let (begin, name) = procedure.split_at_checked(PROGRAM.len())?;
    begin.eq_ignore_ascii_case(PROGRAM).then_some(name)
}

macro_rules! procedures {
    ($($name:literal ($($argument:literal: $takes:literal),*) -> ($($field:ident $kind:expr),*) $(shows $shown:literal)? $help:literal;)*) => {
        /// Every procedure, by name; those with a blank in their name are the listings of `SHOW`.
        pub const PROCEDURES: &[Procedure] = &[$({
            const FIELDS: &[(&str, &str)] = &[$((stringify!($field), $kind)),*];
            const SHOWN: &[usize] = &[$($shown,)? FIELDS.len()]; // of a procedure without fields, none
            Procedure { name: $name, arguments: &[$(($argument, $takes)),*], fields: FIELDS, shown: SHOWN[0], help: $help }
        }),*];
    };
}

procedures! {
    "apoc.create.addLabels"("node": "NODE", "labels": "LIST<STRING>") -> (node "NODE") "Adds labels to a node: SET node:$(labels)";
    "apoc.create.node"("labels": "LIST<STRING>", "properties": "MAP") -> (node "NODE") "Makes a node: CREATE (node:$(labels) properties)";
    "apoc.create.relationship"("from": "NODE", "type": "STRING", "properties": "MAP", "to": "NODE") -> (rel "RELATIONSHIP") "Makes a relationship: CREATE (from)-[rel:$(type) properties]->(to)";
    "apoc.merge.node"("labels": "LIST<STRING>", "identifying": "MAP", "onCreate": "MAP = {}", "onMatch": "MAP = {}") -> (node "NODE") "Finds nodes or makes one: MERGE (node:$(labels) identifying)";
    "apoc.merge.relationship"("from": "NODE", "type": "STRING", "identifying": "MAP", "onCreate": "MAP", "to": "NODE", "onMatch": "MAP = {}") -> (rel "RELATIONSHIP") "Finds relationships or makes one: MERGE (from)-[rel:$(type) identifying]->(to)";
    "apoc.meta.data"("config": "MAP = {}") -> (label "STRING", property "STRING", count "INTEGER", unique "BOOLEAN", index "BOOLEAN", existence "BOOLEAN", type "STRING", array "BOOLEAN", sample "LIST<ANY>", left "INTEGER", right "INTEGER", other NAMES, otherLabels NAMES, elementType "STRING") "Properties of labels and types, and which types lead where, from a sample of each label: {sample}";
    "apoc.meta.graph"("config": "MAP = {}") -> (nodes "LIST<MAP>", relationships "LIST<MAP>") "Labels, and the relationship types between them, as maps with counts, from a sample of each label: {sample}";
    "apoc.meta.nodeTypeProperties"("config": "MAP = {}") -> (nodeType "STRING", nodeLabels NAMES, propertyName "STRING", propertyTypes NAMES, mandatory "BOOLEAN", propertyObservations "INTEGER", totalObservations "INTEGER") "Properties of nodes by label, from a sample of each label: {sample}";
    "apoc.meta.relTypeProperties"("config": "MAP = {}") -> (relType "STRING", propertyName "STRING", propertyTypes NAMES, mandatory "BOOLEAN", propertyObservations "INTEGER", totalObservations "INTEGER") "Properties of relationships by type, from a sample of each label: {sample}";
    "apoc.meta.schema"("config": "MAP = {}") -> (value "MAP") "Labels and types with their properties, from a sample of each label: {sample}";
    "apoc.meta.stats"() -> (labelCount "INTEGER", relTypeCount "INTEGER", propertyKeyCount "INTEGER", nodeCount "INTEGER", relCount "INTEGER", labels "MAP", relTypesCount "MAP", stats "MAP") "Sizes of the graph by label and by type";
    "apoc.schema.nodes"("config": "MAP = {}") -> (name "STRING", label "STRING", properties NAMES, status "STRING", type "STRING", failure "STRING", populationProgress "FLOAT", size "INTEGER", valuesSelectivity "FLOAT") "Indexes over nodes with their sizes";
    "apoc.schema.properties.distinct"("label": "STRING", "key": "STRING") -> (value "LIST<ANY>") "Different values of a property, of the first 100,000 nodes of a label";
    "call program"("start": "NODE | LIST<NODE> = null", "parameters": "MAP = {}") -> (node "NODE", value "ANY") "What CALL program.NAME() calls where NAME is a program that was deployed";
    "db.awaitIndex"("indexName": "STRING", "timeOutSeconds": "INTEGER = 300") -> () "Waits for an index to be built; one that exists is, so it returns at once";
    "db.awaitIndexes"("timeOutSeconds": "INTEGER = 300") -> () "Waits for all indexes to be built; those that exist are, so it returns at once";
    "db.clearQueryCaches"() -> (value "STRING") "Says that there is nothing to clear: plans are made anew where the graph's figures change";
    "db.constraints"() -> (name "STRING", type "STRING", entityType "STRING", labelsOrTypes NAMES, properties NAMES) "All constraints";
    "db.create.setNodeVectorProperty"("node": "NODE", "key": "STRING", "vector": "LIST<FLOAT>") -> () "Sets a property of a node: SET node[key] = vector";
    "db.create.setRelationshipVectorProperty"("relationship": "RELATIONSHIP", "key": "STRING", "vector": "LIST<FLOAT>") -> () "Sets a property of a relationship: SET relationship[key] = vector";
    "db.indexes"() -> (name "STRING", state "STRING", type "STRING", entityType "STRING", labelsOrTypes NAMES, properties NAMES, uniqueness "STRING") "All indexes";
    "db.info"() -> (id "STRING", name "STRING", creationDate "STRING") "The database: its identity is that of its newest commit";
    "db.labels"() -> (label "STRING") "Labels in use";
    "db.ping"() -> (success "BOOLEAN") "Answers, to show that the database does";
    "db.propertyKeys"() -> (propertyKey "STRING") "All property keys";
    "db.relationshipTypes"() -> (relationshipType "STRING") "Relationship types in use";
    "db.schema.nodeTypeProperties"() -> (nodeType "STRING", nodeLabels NAMES, propertyName "STRING", propertyTypes NAMES, mandatory "BOOLEAN") "Properties of nodes by their labels, from a sample of the graph";
    "db.schema.relTypeProperties"() -> (relType "STRING", propertyName "STRING", propertyTypes NAMES, mandatory "BOOLEAN") "Properties of relationships by their type, from a sample of the graph";
    "db.schema.visualization"() -> (nodes "LIST<NODE>", relationships "LIST<RELATIONSHIP>") "Labels, and the relationship types between them";
    "db.statistics"() -> (nodes "INTEGER", relationships "INTEGER", commit "INTEGER") "Sizes of the graph";
    "dbms.backup"("folder": "STRING") -> (folder "STRING", files "INTEGER", bytes "INTEGER", commit "INTEGER") "Copies the database as of its last commit into a folder below the one that is open for backups";
    "dbms.components"() -> (name "STRING", versions NAMES, edition "STRING") "The version of Neo4j that drivers are answered as, and the version of this engine";
    "dbms.export"("folder": "STRING", "format": "STRING = csv") -> (folder "STRING", format "STRING", nodes "INTEGER", relationships "INTEGER", files "INTEGER") "Writes the graph as of its last commit into a folder below the one that is open for backups; EXPORT DATABASE says the same";
    "dbms.functions"() -> (name "STRING", signature "STRING", description "STRING", aggregating "BOOLEAN") "All functions";
    "dbms.info"() -> (id "STRING", name "STRING", creationDate "STRING") "The server: as db.info()";
    "dbms.listConfig"("searchString": "STRING = ''") -> (name "STRING", description "STRING", value "STRING", dynamic "BOOLEAN") "Settings whose name holds a text";
    "dbms.procedures"() -> (name "STRING", signature "STRING", description "STRING", mode "STRING") "All procedures";
    "dbms.setHistory"("history": "STRING") -> (history "STRING", oldest "STRING", newest "STRING") "Changes how far back the past is kept: none, forever, or a time such as 7d";
    "graph.bfs"("settings": "MAP") -> (node "NODE", distance "INTEGER") "Distances from a source along relationships: {source, types, direction, label}";
    "graph.cdlp"("settings": "MAP") -> (node "NODE", community "INTEGER") "Communities by label propagation: {types, direction, label, iterations, seed}";
    "graph.cheapestPath"("settings": "MAP") -> (node "NODE", path "PATH", cost "FLOAT") "Cheapest paths by weight from a source, to a target or to every node, the cheapest first: {source, target, weight, types, direction, label}";
    "graph.lcc"("settings": "MAP") -> (node "NODE", coefficient "FLOAT") "Local clustering coefficients: {types, direction, label}";
    "graph.pagerank"("settings": "MAP") -> (node "NODE", score "FLOAT") "PageRank: {types, direction, label, iterations, damping}";
    "graph.sssp"("settings": "MAP") -> (node "NODE", distance "FLOAT") "Distances from a source by weight: {source, weight, types, direction, label}";
    "graph.wcc"("settings": "MAP") -> (node "NODE", component "INTEGER") "Weakly connected components, each named by the id of one of its nodes: {types, direction, label}";
    "load csv"("file": "STRING", "headers": "BOOLEAN", "separator": "STRING") -> (row "ANY", line "INTEGER", file "STRING") "What LOAD CSV reads";
    "load json"("file": "STRING") -> (row "ANY", line "INTEGER", file "STRING") "What LOAD JSON reads";
    "load parquet"("file": "STRING") -> (row "MAP", line "INTEGER", file "STRING") "What LOAD PARQUET reads";
    "program.blockRender"("start": "NODE | LIST<NODE>", "parameters": "MAP = {}") -> (node "NODE", value "MAP") "Nodes below a start with all that is known of them: {types, direction, label, node, edge, depth}";
    "program.clusteringCoefficient"("start": "NODE | LIST<NODE> = null", "parameters": "MAP = {}") -> (node "NODE", value "FLOAT") "Which part of the pairs of its neighbours are neighbours themselves: {types, label}";
    "program.countEdges"("start": "NODE | LIST<NODE> = null", "parameters": "MAP = {}") -> (node "NODE", value "INTEGER") "How many relationships of a node pass: {types, direction, label, edge}";
    "program.labelPropagation"("start": "ANY = null", "parameters": "MAP = {}") -> (node "NODE", value "INTEGER") "Communities by label propagation: {types, direction, label, iterations}";
    "program.reach"("start": "NODE | LIST<NODE>", "parameters": "MAP = {}") -> (node "NODE", value "INTEGER") "Nodes that are reached, and in how many steps: {types, direction, label, node, edge, depth, target}";
    "program.shortestDistance"("start": "NODE | LIST<NODE>", "parameters": "MAP = {}") -> (node "NODE", value "FLOAT") "Shortest distances by weight: {types, direction, label, node, edge, depth, target, weight}";
    "show caches"("caches": "LIST<LIST<ANY>>") -> (program "STRING", entries "INTEGER", bytes "INTEGER", hits "INTEGER", misses "INTEGER", invalidations "INTEGER", evictions "INTEGER", bypasses "INTEGER") "What SHOW CACHES lists: what became of CALL program.NAME() CACHED, by program, since the database was opened";
    "show cluster"("processes": "LIST<LIST<ANY>>") -> (role "STRING", number "INTEGER", address "STRING", state "STRING", epoch "INTEGER", commits "INTEGER", questions "INTEGER") "What SHOW CLUSTER lists: the processes of a cluster, as a gate sees them";
    "show constraints"("only": "STRING") -> (id "INTEGER", name "STRING", type "STRING", entityType "STRING", labelsOrTypes NAMES, properties NAMES, ownedIndex "STRING", propertyType "STRING", options "MAP", createStatement "STRING") shows 8 "What SHOW CONSTRAINTS lists";
    "show current user"("users": "LIST<LIST<ANY>>") -> (user "STRING", roles NAMES, passwordChangeRequired "BOOLEAN", suspended "BOOLEAN", home "STRING") "What SHOW CURRENT USER lists: who logged on, if anyone";
    "show databases"("only": "STRING") -> (name "STRING", type "STRING", aliases NAMES, access "STRING", address "STRING", role "STRING", writer "BOOLEAN", requestedStatus "STRING", currentStatus "STRING", statusMessage "STRING", default "BOOLEAN", home "BOOLEAN", constituents NAMES) "What SHOW DATABASES lists: the one that is open";
    "show functions"() -> (name "STRING", category "STRING", description "STRING", signature "STRING", isBuiltIn "BOOLEAN", aggregating "BOOLEAN", isDeprecated "BOOLEAN", argumentDescription "LIST<MAP>") shows 3 "What SHOW FUNCTIONS lists";
    "show indexes"("only": "STRING") -> (id "INTEGER", name "STRING", state "STRING", populationPercent "FLOAT", type "STRING", entityType "STRING", labelsOrTypes NAMES, properties NAMES, indexProvider "STRING", owningConstraint "STRING", lastRead "ZONED DATETIME", readCount "INTEGER", trackedSince "ZONED DATETIME", options "MAP", failureMessage "STRING", createStatement "STRING", uniqueness "STRING", entries "INTEGER", distinctValues "INTEGER") shows 12 "What SHOW INDEXES lists";
    "show order"("figures": "LIST<LIST<ANY>>") -> (name "STRING", value "INTEGER", description "STRING") "What SHOW ORDER lists: how commits and reads got their order";
    "show privileges"("privileges": "LIST<LIST<ANY>>") -> (access "STRING", action "STRING", resource "STRING", graph "STRING", segment "STRING", role "STRING", immutable "BOOLEAN", user "STRING", command "STRING") shows 7 "What SHOW PRIVILEGES lists";
    "show procedures"() -> (name "STRING", description "STRING", mode "STRING", worksOnSystem "BOOLEAN", signature "STRING", argumentDescription "LIST<MAP>") shows 4 "What SHOW PROCEDURES lists";
    "show programs"("programs": "LIST<LIST<ANY>>") -> (name "STRING", bytes "INTEGER") "What SHOW PROGRAMS lists: the node programs that were deployed";
    "show queries"("queries": "LIST<LIST<ANY>>") -> (queryId "STRING", query "STRING", tenant "STRING", user "STRING", state "STRING", elapsedMillis "INTEGER", cpuMillis "INTEGER", rows "INTEGER", bytes "INTEGER", progress "LIST<MAP>") shows 9 "What SHOW QUERIES lists";
    "show role privileges"("only": "STRING", "privileges": "LIST<LIST<ANY>>") -> (access "STRING", action "STRING", resource "STRING", graph "STRING", segment "STRING", role "STRING", immutable "BOOLEAN", user "STRING", command "STRING") shows 7 "What SHOW ROLE name PRIVILEGES lists";
    "show roles"("roles": "LIST<LIST<ANY>>") -> (role "STRING", immutable "BOOLEAN", users NAMES, failure "STRING") shows 2 "What SHOW ROLES lists";
    "show settings"("only": "STRING", "settings": "LIST<LIST<ANY>>") -> (name "STRING", value "STRING", isDynamic "BOOLEAN", defaultValue "STRING", description "STRING", startupValue "STRING", isExplicitlySet "BOOLEAN", validValues "STRING", isDeprecated "BOOLEAN") shows 5 "What SHOW SETTINGS lists";
    "show standing queries"("queries": "LIST<LIST<ANY>>") -> (name "STRING", query "STRING", state "STRING", rows "INTEGER", subscribers "INTEGER", tenant "STRING", used "DURATION", bytes "INTEGER", commit "INTEGER", retain "STRING", failure "STRING") "What SHOW STANDING QUERIES lists";
    "show tablets"("tablets": "LIST<LIST<ANY>>") -> (tablet "INTEGER", executor "INTEGER", busyMillis "INTEGER", moves "INTEGER") "What SHOW TABLETS lists";
    "show tenants"("tenants": "LIST<LIST<ANY>>") -> (name "STRING", user "STRING", share "INTEGER", memory "INTEGER", spill "INTEGER", concurrent "INTEGER", timeMillis "INTEGER", rules NAMES, running "INTEGER", failure "STRING") "What SHOW TENANTS lists";
    "show transactions"("transactions": "LIST<LIST<ANY>>") -> (database "STRING", transactionId "STRING", currentQueryId "STRING", connectionId "STRING", clientAddress "STRING", username "STRING", currentQuery "STRING", startTime "STRING", status "STRING", elapsedTime "DURATION", outerTransactionId "STRING", metaData "MAP", currentQueryStatus "STRING", currentQueryElapsedTime "DURATION", currentQueryCpuTime "DURATION", estimatedUsedHeapMemory "INTEGER") shows 10 "What SHOW TRANSACTIONS lists";
    "show user privileges"("only": "STRING", "privileges": "LIST<LIST<ANY>>") -> (access "STRING", action "STRING", resource "STRING", graph "STRING", segment "STRING", role "STRING", immutable "BOOLEAN", user "STRING", command "STRING") shows 8 "What SHOW USER name PRIVILEGES lists; of whoever logged on, where none is named";
    "show users"("users": "LIST<LIST<ANY>>") -> (user "STRING", roles NAMES, passwordChangeRequired "BOOLEAN", suspended "BOOLEAN", home "STRING", failure "STRING") shows 5 "What SHOW USERS lists";
}

impl Procedure {
    /// The procedure of this name, whatever its case.
    pub fn by_name(name: &str) -> Option<&'static Procedure> {
        PROCEDURES.iter().find(|procedure| procedure.name.eq_ignore_ascii_case(name))
    }
    /// The procedure that a call of this name means: the one of this name, or for a deployed program the one that calls such programs.
    pub fn called(name: &str) -> Option<&'static Procedure> {
        let is_program = program_name(name).is_some_and(|name| !name.is_empty());
        let named = Procedure::named().find(|procedure| procedure.name.eq_ignore_ascii_case(name));
        named.or_else(|| Procedure::by_name(CALL_PROGRAM).filter(|_| is_program))
    }
    /// The name by which a plan calls it, and privileges know it: its own, or that of the deployed program that a text calls.
    pub fn planned_name(&self, called: &str) -> String {
        match program_name(called) {
            Some(name) if self.name == CALL_PROGRAM => format!("{PROGRAM}{name}"),
            _ => self.name.to_string(),
        }
    }
    /// Those that `CALL` can name.
    pub fn named() -> impl Iterator<Item = &'static Procedure> {
        PROCEDURES.iter().filter(|procedure| !procedure.name.contains(' '))
    }
    /// Arguments that must be given: those with a default, written behind `=` in their type, may be left out from the back.
    pub fn arguments_min(&self) -> usize {
        self.arguments.iter().filter(|(_, kind)| !kind.contains(" = ")).count()
    }
    /// Its arguments in a plan: those of the text, and those that an interface adds.
    pub fn planned_arguments(&self) -> usize {
        self.arguments.len() + usize::from(self.name == LIST_CONFIG)
    }
    /// Does it write?
    pub fn writes(&self) -> bool {
        WRITING.contains(&self.name)
    }
    /// Its mode in listings.
    pub fn mode(&self) -> &'static str {
        if self.writes() { "WRITE" } else { "READ" }
    }
    /// Names of the fields.
    pub fn field_names(&self) -> Vec<&'static str> {
        self.fields.iter().map(|(name, _)| *name).collect()
    }
    /// Signature as documented.
    pub fn signature(&self) -> String {
        let list = |all: &[(&str, &str)]| {
            all.iter().map(|(name, kind)| format!("{name} :: {kind}")).collect::<Vec<_>>().join(", ")
        };
        format!("{}({}) :: ({})", self.name, list(self.arguments), list(self.fields))
    }
}

/// Does it list running queries or users? Such statements need no admission, so they run also when `CONCURRENT` is reached.
pub(crate) fn is_listing(name: &str) -> bool {
    let listings = [
        "show queries",
        "show standing queries",
        "show tenants",
        "show transactions",
        "show users",
        "show current user",
    ];
    listings.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_order_and_says_what_each_does() {
        assert!(PROCEDURES.is_sorted_by_key(|procedure| procedure.name));
        assert!(
            PROCEDURES.iter().all(|procedure| !procedure.help.is_empty()
                && (procedure.shown > 0 || procedure.fields.is_empty()))
        );
        let labels = Procedure::by_name("DB.Labels").expect("it is in the table");
        assert_eq!(labels.signature(), "db.labels() :: (label :: STRING)");
    }
}
