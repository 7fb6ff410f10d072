//! Random queries that may be kept: every clause, every form of pattern, every kind of projection.

use world::chance::Chance;

/// A query, and which of its columns are lists in no order.
#[derive(Clone, Debug)]
pub struct Query {
    pub text: String,
    pub bags: Vec<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Node,
    Edge,
    /// A number, NaN or null.
    Number,
    /// A number of which it is not said whether it is 1 or 1.0.
    Loose,
    Text,
    Any,
    /// Entities of it may be compared, but not unwound.
    List,
    /// A list in no order.
    Bag,
}

#[derive(Clone, Debug)]
struct Variable {
    name: String,
    kind: Kind,
}

type Scope = Vec<Variable>;

/// Most nested sub-queries.
const DEPTH_MAX: usize = 2;

struct Writer<'c> {
    chance: &'c mut Chance,
    fresh: usize,
    depth: usize,
    /// Are there expressions that fail on some values?
    dares: bool,
}

/// A random query.
pub fn query(chance: &mut Chance) -> Query {
    let dares = chance.index(3) == 0;
    let mut writer = Writer { chance, fresh: 0, depth: 0, dares };
    if writer.one_in(10) {
        let kinds: Vec<Kind> = (0..1 + writer.below(2)).map(|_| writer.column_kind()).collect();
        let all = if writer.one_in(2) { " ALL" } else { "" };
        let sides: Vec<String> = (0..2 + writer.below(2)).map(|_| writer.side(&kinds)).collect();
        let bags = kinds.iter().map(|kind| *kind == Kind::Bag).collect();
        return Query { text: sides.join(&format!(" UNION{all} ")), bags };
    }
    let mut scope = Scope::new();
    let clauses = writer.clauses(&mut scope);
    let (last, columns) = writer.projection(&scope, "RETURN");
    let bags = columns.iter().map(|column| column.kind == Kind::Bag).collect();
    Query { text: format!("{clauses}{last}"), bags }
}

impl Writer<'_> {
    fn below(&mut self, bound: usize) -> usize {
        self.chance.index(bound)
    }
    fn one_in(&mut self, bound: usize) -> bool {
        self.below(bound) == 0
    }
    fn pick<'t>(&mut self, all: &[&'t str]) -> &'t str {
        all[self.below(all.len())]
    }
    fn name(&mut self, stem: &str) -> String {
        self.fresh += 1;
        format!("{stem}{}", self.fresh)
    }
    fn of_kind(&mut self, scope: &Scope, kinds: &[Kind]) -> Option<Variable> {
        let fitting: Vec<&Variable> = scope.iter().filter(|var| kinds.contains(&var.kind)).collect();
        (!fitting.is_empty()).then(|| fitting[self.below(fitting.len())].clone())
    }
    fn column_kind(&mut self) -> Kind {
        [Kind::Number, Kind::Text, Kind::Any, Kind::Bag][self.below(4)]
    }

    /// One side of a UNION: columns `c0`, `c1` … of these kinds.
    fn side(&mut self, kinds: &[Kind]) -> String {
        let mut scope = Scope::new();
        let clauses = self.clauses(&mut scope);
        let items: Vec<String> = kinds
            .iter()
            .enumerate()
            .map(|(at, kind)| format!("{} AS c{at}", self.expression(&scope, *kind)))
            .collect();
        format!("{clauses}RETURN {}", items.join(", "))
    }

    fn clauses(&mut self, scope: &mut Scope) -> String {
        let mut text = String::new();
        for number in 0..1 + self.below(3) {
            let is_first = number == 0;
            let clause = match self.below(12) {
                0..=4 => self.match_clause(scope, ""),
                _ if is_first && !self.one_in(8) => self.match_clause(scope, ""),
                5 | 6 => self.match_clause(scope, "OPTIONAL "),
                7 => self.unwind(scope),
                8 if self.depth < DEPTH_MAX => self.call(scope),
                _ if scope.is_empty() => self.match_clause(scope, ""),
                _ => self.with(scope),
            };
            text.push_str(&clause);
        }
        text
    }

    fn with(&mut self, scope: &mut Scope) -> String {
        let (mut text, columns) = self.projection(scope, "WITH");
        *scope = columns;
        if self.one_in(3) {
            text.push_str(&format!("WHERE {} ", self.predicate(scope)));
        }
        text
    }

    fn unwind(&mut self, scope: &mut Scope) -> String {
        let name = self.name("e");
        let number = self.number(scope);
        let (list, kind) = match self.of_kind(scope, &[Kind::Bag]) {
            Some(bag) if self.one_in(2) => (bag.name, Kind::Any),
            _ => match self.below(4) {
                0 => (String::from("[1, 2, null]"), Kind::Number),
                1 => (String::from("[1, 1.0, 'a', null]"), Kind::Any),
                2 => (format!("[{number}, 2]"), Kind::Number),
                _ => match self.of_kind(scope, &[Kind::Node]) {
                    Some(node) => (format!("{}.l", node.name), Kind::Number),
                    None => (String::from("range(0, 2)"), Kind::Number),
                },
            },
        };
        scope.push(Variable { name: name.clone(), kind });
        format!("UNWIND {list} AS {name} ")
    }

    fn call(&mut self, scope: &mut Scope) -> String {
        self.depth += 1;
        let plain = scope.iter().filter(|var| !var.name.contains('('));
        let imports: Scope = plain.filter(|_| self.chance.happens(0.6)).cloned().collect();
        let mut inner = imports.clone();
        let clauses = self.clauses(&mut inner);
        let (last, columns) = self.projection(&inner, "RETURN");
        let mut text = format!("{clauses}{last}");
        if self.one_in(6) {
            // A second side, with the same columns.
            let mut inner = imports.clone();
            let clauses = self.clauses(&mut inner);
            let items: Vec<String> = columns
                .iter()
                .map(|column| format!("{} AS {}", self.expression(&inner, column.kind), column.name))
                .collect();
            text.push_str(&format!("UNION ALL {clauses}RETURN {} ", items.join(", ")));
        }
        self.depth -= 1;
        let names: Vec<&str> = imports.iter().map(|var| &*var.name).collect();
        scope.extend(columns);
        format!("CALL ({}) {{ {text}}} ", names.join(", "))
    }

    fn match_clause(&mut self, scope: &mut Scope, optional: &str) -> String {
        let mut paths = Vec::new();
        if self.one_in(4) {
            paths.push(self.walk(scope, true));
        } else {
            for _ in 0..1 + usize::from(self.one_in(4)) {
                paths.push(self.path(scope, true));
            }
        }
        let text = format!("{optional}MATCH {} ", paths.join(", "));
        if self.one_in(2) { format!("{text}WHERE {} ", self.predicate(scope)) } else { text }
    }

    fn labels(&mut self) -> &'static str {
        self.pick(&["", "", ":P", ":Q", ":P", ":P|Q", ":P&!Q", ":!P"])
    }
    fn types(&mut self) -> &'static str {
        self.pick(&[":R", ":R", ":S", ":R|S", "", ":NEVER"])
    }

    /// A vertex of a pattern; a variable that is known closes a cycle.
    fn vertex(&mut self, scope: &mut Scope, names: bool) -> String {
        if let Some(known) = self.of_kind(scope, &[Kind::Node])
            && self.one_in(3)
        {
            return format!("({})", known.name);
        }
        let labels = self.labels();
        let properties = match self.below(8) {
            0 => format!(" {{x: {}}}", self.below(3)),
            1 => String::from(" {y: 1}"),
            _ => String::new(),
        };
        if !names || self.one_in(6) {
            return format!("({labels}{properties})");
        }
        let name = self.name("n");
        scope.push(Variable { name: name.clone(), kind: Kind::Node });
        format!("({name}{labels}{properties})")
    }

    fn arrow(&mut self, body: &str) -> String {
        match self.below(5) {
            0 | 1 => format!("-[{body}]->"),
            2 => format!("<-[{body}]-"),
            3 => format!("-[{body}]-"),
            _ => format!("-[{body}]->"),
        }
    }

    /// A path of variable length, alone.
    fn walk(&mut self, scope: &mut Scope, names: bool) -> String {
        let types = self.types();
        let a = self.vertex(scope, names);
        let arrow = match self.below(3) {
            0 => {
                let length = self.pick(&["+", "*", "{1,2}", "{2}", "{0,3}"]);
                format!("{}{length}", self.arrow(types))
            }
            _ => {
                let length = self
                    .pick(&["*", "*0..", "*1..", "*1..2", "*0..1", "*2", "*..3", "*2..3", "*0..2", "*1..6"]);
                self.arrow(&format!("{types}{length}"))
            }
        };
        // Often back to where it began.
        let b = match self.one_in(4) && !a.starts_with("(:") && a != "()" {
            true => format!("({})", a[1..].split([':', ' ', ')']).next().unwrap_or_default()),
            false => self.vertex(scope, names),
        };
        format!("{a}{arrow}{b}")
    }

    fn step(&mut self, scope: &mut Scope, names: bool) -> String {
        let types = self.types();
        match self.below(24) {
            0 | 1 => {
                let length = self
                    .pick(&["*", "*0..", "*1..", "*1..2", "*0..1", "*2", "*..3", "*2..3", "*0..2", "*1..6"]);
                self.arrow(&format!("{types}{length}"))
            }
            2 => {
                let length = self.pick(&["+", "*", "{1,2}", "{2}", "{0,3}"]);
                format!("{}{length}", self.arrow(types))
            }
            3 if names => {
                let name = self.name("r");
                scope.push(Variable { name: name.clone(), kind: Kind::Edge });
                self.arrow(&format!("{name}{types}"))
            }
            _ => self.arrow(types),
        }
    }

    fn path(&mut self, scope: &mut Scope, names: bool) -> String {
        if names && self.one_in(12) {
            return self.shortest(scope);
        }
        if self.one_in(14) {
            return self.quantified(scope, names);
        }
        let mut text = self.vertex(scope, names);
        let steps = [0, 1, 1, 1, 2, 2, 3][self.below(7)];
        for _ in 0..steps {
            text.push_str(&self.step(scope, names));
            text.push_str(&self.vertex(scope, names));
        }
        text
    }

    /// The shortest path between two vertices, by its length.
    fn shortest(&mut self, scope: &mut Scope) -> String {
        let (a, b) = (self.vertex(scope, true), self.vertex(scope, true));
        let body = format!("{}{}", self.types(), self.pick(&["*", "*..3", "*0..", "*1..4"]));
        let arrow = self.arrow(&body);
        let path = self.name("p");
        // Its length alone can be read; it is put into a variable by whoever reads it.
        scope.push(Variable { name: format!("length({path})"), kind: Kind::Number });
        format!("{path} = shortestPath({a}{arrow}{b})")
    }

    fn quantified(&mut self, scope: &mut Scope, names: bool) -> String {
        let (a, b) = (self.vertex(scope, names), self.vertex(scope, names));
        let arrow = {
            let types = self.types();
            self.arrow(types)
        };
        let (u, v) = (self.name("u"), self.name("v"));
        let condition =
            self.pick(&["", " WHERE V.x > 1", " WHERE EXISTS { (V)-[:S]->() }", " WHERE U.y <> V.y"]);
        let condition = condition.replace('U', &u).replace('V', &v);
        let times = self.pick(&["{1,2}", "{0,3}", "+", "{1,5}"]);
        format!("{a} (({u}){arrow}({v}){condition}){times} {b}")
    }

    fn predicate(&mut self, scope: &Scope) -> String {
        let number = self.number(scope);
        match self.below(16) {
            0 | 1 => format!("{number} {} {}", self.pick(&[">", "<", ">=", "<>", "="]), self.below(4)),
            2 => format!("{number} IS NULL"),
            3 => format!("{number} IS NOT NULL"),
            4 => format!("{number} IN [1, 2.0, null]"),
            5 => format!("{number} = {}", self.number(scope)),
            6 => format!("({} AND {})", self.predicate(scope), self.predicate(scope)),
            7 => format!("({} OR {})", self.predicate(scope), self.predicate(scope)),
            8 => format!("NOT {}", self.predicate(scope)),
            9 | 10 if self.depth < DEPTH_MAX => {
                let not = if self.one_in(2) { "NOT " } else { "" };
                format!("{not}{}", self.exists(scope))
            }
            11 if self.depth < DEPTH_MAX => format!("{} > {}", self.count(scope), self.below(3)),
            12 => match (self.of_kind(scope, &[Kind::Node]), self.of_kind(scope, &[Kind::Node])) {
                (Some(a), Some(b)) => format!("{} {} {}", a.name, self.pick(&["=", "<>"]), b.name),
                _ => format!("{number} > 0"),
            },
            13 | 14 if self.dares => format!("60 / ({number} - {}) > {}", self.below(5), self.below(9)),
            13 => match self.of_kind(scope, &[Kind::Node]) {
                Some(a) => format!("{}{}", a.name, self.pick(&[":P", ":Q", ":P&Q", ":!Q"])),
                None => format!("{number} < 3"),
            },
            14 => format!("({number} <> 0 AND 6 / {number} > 1)"),
            _ => match self.of_kind(scope, &[Kind::Node]) {
                Some(a) => format!("{}.s STARTS WITH 'a'", a.name),
                None => format!("{number} <= 2"),
            },
        }
    }

    fn exists(&mut self, scope: &Scope) -> String {
        format!("EXISTS {{ {} }}", self.inner_match(scope))
    }
    fn count(&mut self, scope: &Scope) -> String {
        format!("COUNT {{ {} }}", self.inner_match(scope))
    }
    /// A pattern of a sub-query, most often from what is known outside.
    fn inner_match(&mut self, scope: &Scope) -> String {
        self.depth += 1;
        let mut inner = scope.clone();
        let text = match self.below(4) {
            0 => {
                let clauses = self.clauses(&mut inner);
                let item = self.number(&inner);
                format!("{clauses}RETURN {item} AS {}", self.name("z"))
            }
            1 => {
                let path = self.path(&mut inner, true);
                format!("MATCH {path} WHERE {}", self.predicate(&inner))
            }
            _ => self.path(&mut inner, true),
        };
        self.depth -= 1;
        text
    }

    fn literal(&mut self) -> &'static str {
        self.pick(&["0", "1", "2", "3", "1.0", "2.0", "2.5", "null", "(0.0 / 0.0)"])
    }

    fn number(&mut self, scope: &Scope) -> String {
        let known = self.of_kind(scope, &[Kind::Number, Kind::Node, Kind::Edge, Kind::Node]);
        let plain = match &known {
            None => self.literal().to_string(),
            Some(var) => match var.kind {
                Kind::Node => format!("{}.{}", var.name, self.pick(&["x", "x", "y", "u"])),
                Kind::Edge => format!("{}.w", var.name),
                _ => var.name.clone(),
            },
        };
        match self.below(14) {
            0 => format!("({plain} + 1)"),
            1 => format!("({plain} / 2)"),
            2 => format!("coalesce({plain}, {})", self.below(3)),
            3 => format!("CASE WHEN {plain} > 1 THEN {plain} ELSE 0 END"),
            4 => format!("({plain} * {})", self.literal()),
            5 if self.depth < DEPTH_MAX => self.count(scope),
            6 => format!("(-{plain})"),
            7 | 8 if self.dares => format!("(60 / ({plain} - {}))", self.below(5)),
            _ => plain,
        }
    }

    fn expression(&mut self, scope: &Scope, kind: Kind) -> String {
        let node = self.of_kind(scope, &[Kind::Node]);
        match (kind, node) {
            (Kind::Text, Some(node)) if self.one_in(2) => format!("{}.s", node.name),
            (Kind::Text, _) => format!("toString({})", self.number(scope)),
            (Kind::Any, node) => self.any(scope, node),
            (Kind::Bag, node) => self.bag(scope, node),
            (Kind::Loose, _) | (Kind::Number, _) => self.number(scope),
            (Kind::List, _) => format!("[{}, {}]", self.number(scope), self.number(scope)),
            (Kind::Node, Some(node)) => node.name,
            (Kind::Edge, _) | (Kind::Node, None) => String::from("null"),
        }
    }

    fn any(&mut self, scope: &Scope, node: Option<Variable>) -> String {
        let number = self.number(scope);
        match (self.below(10), node) {
            (0, Some(node)) => format!("{}.m", node.name),
            (1, Some(node)) => format!("{}.l", node.name),
            (2, Some(node)) => format!("properties({})", node.name),
            (3, Some(node)) => format!("{} {{.x, .s, k: {number}}}", node.name),
            (4, Some(node)) => format!("{}:Q", node.name),
            (5, _) => format!("{{k: {number}}}"),
            (6, _) => format!("[{number}, 'b']"),
            (7, _) if self.depth < DEPTH_MAX => self.exists(scope),
            (8, _) => self.predicate(scope),
            _ => number,
        }
    }

    fn bag(&mut self, scope: &Scope, node: Option<Variable>) -> String {
        if self.depth >= DEPTH_MAX {
            return node.map_or(String::from("[]"), |node| format!("labels({})", node.name));
        }
        match (self.below(6), node) {
            (0, Some(node)) => format!("labels({})", node.name),
            (1, Some(node)) => format!("keys({})", node.name),
            (2 | 3, Some(node)) => {
                let mut inner = scope.clone();
                let name = self.name("n");
                let types = self.types();
                let (arrow, labels) = (self.arrow(types), self.labels());
                inner.push(Variable { name: name.clone(), kind: Kind::Node });
                self.depth += 1;
                let condition = match self.one_in(3) {
                    true => format!(" WHERE {}", self.predicate(&inner)),
                    false => String::new(),
                };
                let item = match self.one_in(3) {
                    true => format!("{name}.{}", self.pick(&["m", "s", "x"])),
                    false => self.number(&inner),
                };
                self.depth -= 1;
                format!("[({}){arrow}({name}{labels}){condition} | {item}]", node.name)
            }
            _ => {
                self.depth += 1;
                let mut inner = scope.clone();
                let clauses = self.clauses(&mut inner);
                let kind = [Kind::Number, Kind::Any, Kind::Text][self.below(3)];
                let item = self.expression(&inner, kind);
                self.depth -= 1;
                format!("COLLECT {{ {clauses}RETURN {item} AS {} }}", self.name("z"))
            }
        }
    }

    /// `RETURN` or `WITH` with its columns.
    fn projection(&mut self, scope: &Scope, word: &str) -> (String, Scope) {
        match self.below(10) {
            0..=2 => self.aggregate(scope, word),
            3 | 4 => {
                let (items, mut columns) = self.items(scope, word);
                for column in &mut columns {
                    if column.kind == Kind::Number {
                        column.kind = Kind::Loose;
                    }
                }
                (format!("{word} DISTINCT {items} "), columns)
            }
            5 | 6 => self.top(scope, word),
            7 if scope.iter().any(|var| var.kind == Kind::Node) && word == "RETURN" => self.in_order(scope),
            _ => {
                let (items, columns) = self.items(scope, word);
                (format!("{word} {items} "), columns)
            }
        }
    }

    /// Some of what is known, and some that is computed.
    fn items(&mut self, scope: &Scope, word: &str) -> (String, Scope) {
        let (mut items, mut columns) = (Vec::new(), Scope::new());
        for var in scope {
            // Entities of an answer are told by their numbers.
            let is_plain = !var.name.contains('(');
            if word == "WITH" && is_plain && self.chance.happens(0.7) {
                items.push(var.name.clone());
                columns.push(var.clone());
            } else if word == "RETURN" && self.chance.happens(0.4) {
                let name = self.name("c");
                let (expr, kind) = match var.kind {
                    Kind::Node | Kind::Edge => (format!("{}.u", var.name), Kind::Number),
                    kind => (var.name.clone(), kind),
                };
                items.push(format!("{expr} AS {name}"));
                columns.push(Variable { name, kind });
            }
        }
        while items.is_empty() || self.one_in(3) {
            let kind = self.column_kind();
            let name = self.name("c");
            items.push(format!("{} AS {name}", self.expression(scope, kind)));
            columns.push(Variable { name, kind });
        }
        (items.join(", "), columns)
    }

    fn aggregate(&mut self, scope: &Scope, word: &str) -> (String, Scope) {
        let (mut items, mut columns) = (Vec::new(), Scope::new());
        for _ in 0..self.below(3) {
            let name = self.name("k");
            let (expr, kind) = match self.of_kind(scope, &[Kind::Node]) {
                Some(node) if word == "WITH" && self.one_in(2) => (node.name, Kind::Node),
                _ => (self.number(scope), Kind::Loose),
            };
            items.push(format!("{expr} AS {name}"));
            columns.push(Variable { name, kind });
        }
        for _ in 0..1 + self.below(2) {
            let name = self.name("g");
            let number = self.number(scope);
            let kind = [Kind::Any, Kind::Text, Kind::Number][self.below(3)];
            let any = self.expression(scope, kind);
            let (expr, kind) = match self.below(13) {
                0 => (String::from("count(*)"), Kind::Number),
                1 => (format!("count({any})"), Kind::Number),
                2 => (format!("count(DISTINCT {any})"), Kind::Number),
                3 => (format!("sum({number})"), Kind::Loose),
                4 => (format!("avg({number})"), Kind::Loose),
                5 => (format!("min({any})"), Kind::Any),
                6 => (format!("max({any})"), Kind::Any),
                7 | 8 => (format!("collect({any})"), Kind::Bag),
                9 => (format!("collect(DISTINCT {any})"), Kind::Bag),
                10 => (format!("percentileDisc({number}, 0.5)"), Kind::Loose),
                11 => (format!("percentileCont({number}, 0.25)"), Kind::Loose),
                _ => (format!("stDev({number})"), Kind::Loose),
            };
            // Of what is 1 to one and 1.0 to another nothing more is asked.
            items.push(format!("{expr} AS {name}"));
            columns.push(Variable { name, kind: if kind == Kind::Any { Kind::Loose } else { kind } });
        }
        (format!("{word} {} ", items.join(", ")), columns)
    }

    /// What is known, in an order that leaves nothing open.
    fn top(&mut self, scope: &Scope, word: &str) -> (String, Scope) {
        let (mut items, mut keys, mut columns) = (Vec::new(), Vec::new(), Scope::new());
        for var in scope.iter().filter(|var| var.kind != Kind::Bag && !var.name.contains('(')) {
            let number = format!("{}.u", var.name);
            let is_entity = matches!(var.kind, Kind::Node | Kind::Edge);
            if is_entity && word == "RETURN" {
                let name = self.name("c");
                items.push(format!("{number} AS {name}"));
                keys.push(name.clone());
                columns.push(Variable { name, kind: Kind::Number });
            } else if word == "RETURN" {
                let name = self.name("c");
                items.push(format!("{} AS {name}", var.name));
                keys.push(name.clone());
                columns.push(Variable { name, kind: var.kind });
            } else {
                items.push(var.name.clone());
                keys.push(if is_entity { number } else { var.name.clone() });
                columns.push(var.clone());
            }
        }
        if items.is_empty() {
            let (items, columns) = self.items(scope, word);
            return (format!("{word} {items} "), columns);
        }
        for key in &mut keys {
            if self.one_in(3) {
                key.push_str(" DESC");
            }
        }
        let shift = self.below(keys.len());
        keys.rotate_left(shift);
        // What is equal to the order may be 1 to one and 1.0 to another.
        for column in &mut columns {
            if column.kind == Kind::Number && word == "WITH" {
                column.kind = Kind::Loose;
            }
        }
        let skip = if self.one_in(4) { "SKIP 1 " } else { "" };
        let limit = if self.one_in(5) { String::new() } else { format!("LIMIT {} ", 1 + self.below(4)) };
        (format!("{word} {} ORDER BY {} {skip}{limit}", items.join(", "), keys.join(", ")), columns)
    }

    /// A list in the order of what is collected.
    fn in_order(&mut self, scope: &Scope) -> (String, Scope) {
        let Some(node) = self.of_kind(scope, &[Kind::Node]) else { return self.items(scope, "RETURN") };
        let (name, node) = (self.name("c"), node.name);
        let (down, key) = (self.pick(&["", " DESC"]), self.pick(&["x", "y", "s"]));
        let limit = if self.one_in(3) { " LIMIT 3" } else { "" };
        let item = self.pick(&["x", "u", "s"]);
        let text = match self.below(3) {
            0 => format!(
                "RETURN COLLECT {{ MATCH (q:P) RETURN q.{item} ORDER BY q.{key}{down}, q.u{limit} }} AS {name} "
            ),
            1 => format!(
                "WITH DISTINCT {node} AS q ORDER BY q.{key}{down}, q.u{limit} RETURN head(collect(q.{item})) AS {name} "
            ),
            _ => format!(
                "WITH DISTINCT {node} AS q ORDER BY q.{key}{down}, q.u{limit} RETURN collect(q.{item}) AS {name} "
            ),
        };
        (text, vec![Variable { name, kind: Kind::List }])
    }
}
