//! Random plans with the columns that they have.

use super::build::*;
use model::Direction;
use plan::algebra::{ApplyKind, Intersect, IntersectArm};
use plan::expr::BinaryOperator;
use plan::pattern::{PathMode, Selector};
use plan::scope::{InstanceOrder, OperatorOrder, Scope, ScopeReason};
use plan::{AggregateFunction, Expr, Plan, Var};
use world::chance::Chance;

/// A plan under construction, with the columns it has.
#[derive(Clone)]
pub struct Draft {
    pub plan: Plan,
    pub vertices: Vec<u32>,
    pub edges: Vec<u32>,
    pub values: Vec<u32>,
    /// Columns whose lists have no order.
    pub bags: Vec<u32>,
}

pub struct Maker<'a> {
    pub chance: &'a mut Chance,
    pub next: u32,
    /// Some rows are cut off by a LIMIT, where the answer is the same whichever they are.
    pub limits: bool,
}

impl<'a> Maker<'a> {
    pub fn new(chance: &'a mut Chance) -> Maker<'a> {
        Maker { chance, next: 0, limits: false }
    }
    pub fn fresh(&mut self) -> u32 {
        self.next += 1;
        self.next - 1
    }
    fn pick<T: Clone>(&mut self, items: &[T]) -> Option<T> {
        self.chance.choose(items).cloned()
    }
    fn labels(&mut self) -> &'static str {
        self.pick(&["", "", "A", "B", "None"]).unwrap()
    }
    fn types(&mut self) -> Vec<&'static str> {
        self.pick(&[vec![], vec!["R"], vec!["S"], vec!["R", "S"], vec!["Q"]]).unwrap()
    }
    fn direction(&mut self) -> Direction {
        self.pick(&[Direction::Out, Direction::In, Direction::Both]).unwrap()
    }
    pub fn columns(draft: &Draft) -> Vec<u32> {
        [draft.vertices.clone(), draft.edges.clone(), draft.values.clone(), draft.bags.clone()].concat()
    }

    /// Columns with which a plan continues after it was narrowed to some of them.
    fn keep(draft: &Draft, columns: &[u32], plan: Plan) -> Draft {
        let of = |list: &[u32]| list.iter().copied().filter(|column| columns.contains(column)).collect();
        Draft {
            plan,
            vertices: of(&draft.vertices),
            edges: of(&draft.edges),
            values: of(&draft.values),
            bags: of(&draft.bags),
        }
    }

    pub fn leaf(&mut self) -> Draft {
        let vertex = self.fresh();
        let labels = self.labels();
        let plan = scan(Plan::Unit, vertex, labels);
        Draft { plan, vertices: vec![vertex], edges: Vec::new(), values: Vec::new(), bags: Vec::new() }
    }

    pub fn grow(&mut self, draft: Draft, depth: u32) -> Draft {
        if self.limits && self.chance.happens(0.25) {
            return self.limited(draft);
        }
        match self.chance.below(if depth > 0 { 16 } else { 12 }) {
            0 | 1 => self.expand(draft),
            2 => self.intersect(draft),
            3 => self.path(draft),
            4 | 5 => self.filter(draft),
            6 => self.values(draft),
            7 => self.distinct(draft),
            8 => self.aggregate(draft),
            9 => self.top(draft),
            10 => self.unwind(draft),
            11 => self.rescan(draft),
            12 => self.join(draft),
            13 => self.union(draft),
            _ => self.apply(draft, depth - 1),
        }
    }

    fn expand(&mut self, mut draft: Draft) -> Draft {
        let Some(from) = self.pick(&draft.vertices) else { return draft };
        let edge = self.chance.happens(0.5).then(|| self.fresh());
        let into = self.chance.happens(0.3);
        let to = if into { self.pick(&draft.vertices).unwrap() } else { self.fresh() };
        let (types, direction) = (self.types(), self.direction());
        let mut node = expand(draft.plan, from, edge, to, &types, direction);
        node.into = into;
        node.loops_twice = !into && direction == Direction::Both && self.chance.happens(0.3);
        node.labels = label(self.labels());
        draft.plan = Plan::Expand(Box::new(node));
        draft.edges.extend(edge);
        if !into {
            draft.vertices.push(to);
        }
        draft
    }

    /// Two arms or three, often from one vertex or from vertices that come again from row to row.
    fn intersect(&mut self, mut draft: Draft) -> Draft {
        let arms = 2 + usize::from(self.chance.happens(0.3));
        let from: Vec<u32> = (0..arms).filter_map(|_| self.pick(&draft.vertices)).collect();
        if from.len() < arms {
            return draft;
        }
        let arms = from.into_iter().map(|from| IntersectArm {
            from: Var(from),
            types: self.types().into_iter().map(Into::into).collect(),
            direction: self.direction(),
            once: self.chance.happens(0.2),
        });
        let arms = arms.collect();
        let (to, labels) = (self.fresh(), label(self.labels()));
        draft.plan = Plan::Intersect(Box::new(Intersect { input: draft.plan, arms, to: Var(to), labels }));
        draft.vertices.push(to);
        draft
    }

    fn path(&mut self, mut draft: Draft) -> Draft {
        let Some(from) = self.pick(&draft.vertices) else { return draft };
        let into = self.chance.happens(0.3);
        let to = if into { self.pick(&draft.vertices).unwrap() } else { self.fresh() };
        let (direction, min) = (self.direction(), self.chance.below(3) as u32);
        let mut node = path(draft.plan, from, to, direction, min, Some(min + self.chance.below(3) as u32));
        node.into = into;
        node.labels = label(self.labels());
        node.types = self.types().into_iter().map(Into::into).collect();
        node.mode =
            self.pick(&[PathMode::Trail, PathMode::Trail, PathMode::Acyclic, PathMode::Simple]).unwrap();
        node.edge_predicate = self.chance.happens(0.3).then(|| {
            let edge = self.fresh();
            (Var(edge), compare(BinaryOperator::Less, property(edge, "w"), int(3)))
        });
        if self.chance.happens(0.4) && min < 2 {
            node.selector = self.pick(&[Selector::AnyShortest, Selector::AllShortest]).unwrap();
            node.mode = PathMode::Trail;
        } else if self.chance.happens(0.4) && min < 2 {
            node.distinct_ends = true;
            node.mode = PathMode::Trail;
        }
        if self.chance.happens(0.3) {
            let length = self.fresh();
            // Of several runs to one end, which is kept is free unless it is a shortest one.
            if !node.distinct_ends {
                node.length = Some(Var(length));
                draft.values.push(length);
            }
        }
        if self.chance.happens(0.3) && !node.distinct_ends && node.selector != Selector::AnyShortest {
            let edges = self.fresh();
            node.edges = Some(Var(edges));
            node.edges_reversed = self.chance.happens(0.5);
            draft.values.push(edges);
        }
        draft.plan = Plan::ExpandPath(Box::new(node));
        if !into {
            draft.vertices.push(to);
        }
        draft
    }

    fn operand(&mut self, draft: &Draft) -> Expr {
        match (self.pick(&draft.vertices), self.pick(&draft.edges)) {
            (_, Some(edge)) if self.chance.happens(0.5) => property(edge, "w"),
            (Some(vertex), _) => property(vertex, "x"),
            _ => int(1),
        }
    }

    fn filter(&mut self, mut draft: Draft) -> Draft {
        let entities = draft.vertices.clone();
        let predicate = match (self.chance.below(2), self.pick(&entities), self.pick(&entities)) {
            (0, Some(a), Some(b)) if a != b => {
                compare(BinaryOperator::Equal, property(a, "x"), property(b, "x"))
            }
            (_, Some(a), _) => {
                compare(BinaryOperator::Less, property(a, "x"), int(self.chance.below(6) as i64))
            }
            _ => compare(BinaryOperator::Less, int(1), int(self.chance.below(3) as i64)),
        };
        draft.plan = filter(draft.plan, predicate);
        draft
    }

    fn values(&mut self, mut draft: Draft) -> Draft {
        let value = self.fresh();
        let vertex = self.pick(&draft.vertices);
        let expression = match vertex {
            Some(vertex) => compare(BinaryOperator::Add, property(vertex, "x"), int(10)),
            None => int(7),
        };
        if self.chance.happens(0.5) {
            draft.plan = extend(draft.plan, vec![(value, expression)]);
            draft.values.push(value);
            return draft;
        }
        let columns: Vec<u32> =
            Self::columns(&draft).into_iter().filter(|_| self.chance.happens(0.7)).collect();
        let mut items: Vec<(u32, Expr)> = columns.iter().map(|column| (*column, var(*column))).collect();
        items.push((value, expression));
        let mut draft = Self::keep(&draft, &columns, project(draft.plan.clone(), items));
        draft.values.push(value);
        draft
    }

    fn distinct(&mut self, draft: Draft) -> Draft {
        let columns: Vec<u32> =
            Self::columns(&draft).into_iter().filter(|_| self.chance.happens(0.5)).collect();
        // Lists without an order would compare by chance.
        let columns: Vec<u32> = columns.into_iter().filter(|column| !draft.bags.contains(column)).collect();
        if columns.is_empty() {
            return draft;
        }
        Self::keep(&draft, &columns, distinct(draft.plan.clone(), &columns))
    }

    fn aggregate(&mut self, draft: Draft) -> Draft {
        let candidates = [draft.vertices.clone(), draft.edges.clone()].concat();
        let keys: Vec<u32> = candidates.into_iter().filter(|_| self.chance.happens(0.3)).collect();
        let calls = [
            call(AggregateFunction::CountRows, None, false),
            match self.pick(&draft.vertices) {
                Some(vertex) => call(AggregateFunction::Count, Some(var(vertex)), true),
                None => call(AggregateFunction::Count, Some(int(1)), true),
            },
            call(AggregateFunction::Sum, Some(self.operand(&draft)), false),
            call(AggregateFunction::Max, Some(self.operand(&draft)), false),
            call(AggregateFunction::Count, Some(self.operand(&draft)), true),
        ];
        let few = if self.chance.happens(0.4) { 1 } else { calls.len() };
        let calls: Vec<(u32, _)> = calls.into_iter().take(few).map(|call| (self.fresh(), call)).collect();
        let items = keys.iter().map(|key| (*key, var(*key))).collect();
        let new: Vec<u32> = calls.iter().map(|(variable, _)| *variable).collect();
        let mut draft = Self::keep(&draft, &keys, aggregate(draft.plan.clone(), items, calls));
        draft.values.extend(new);
        draft
    }

    /// Sorted by everything, so that a limit has one answer.
    fn top(&mut self, draft: Draft) -> Draft {
        if !draft.bags.is_empty() {
            return draft;
        }
        let columns = Self::columns(&draft);
        let items = columns.iter().map(|column| (*column, var(*column))).collect();
        let keys = columns.iter().map(|column| (var(*column), self.chance.happens(0.3))).collect();
        let (drop, take) = (self.chance.below(4) as i64, self.chance.below(12) as i64);
        let bound = self.chance.happens(0.5).then_some(drop + take);
        let plan = sort(project(draft.plan.clone(), items), keys, bound);
        Self::keep(&draft, &columns, limit(skip(plan, drop), take))
    }

    /// How many rows a LIMIT leaves: the same, whichever they are.
    fn limited(&mut self, draft: Draft) -> Draft {
        let (most, number) = (self.chance.below(5) as i64, self.fresh());
        let plan = match self.chance.below(3) {
            0 => limit(skip(draft.plan, self.chance.below(3) as i64), most),
            1 => limit(limit(draft.plan, self.chance.below(5) as i64), most),
            _ => limit(draft.plan, most),
        };
        let plan = count(plan, number);
        Draft { plan, vertices: Vec::new(), edges: Vec::new(), values: vec![number], bags: Vec::new() }
    }

    fn unwind(&mut self, mut draft: Draft) -> Draft {
        let value = self.fresh();
        draft.plan = unwind(draft.plan, range(0, self.chance.below(3) as i64), value);
        draft.values.push(value);
        draft
    }

    fn rescan(&mut self, mut draft: Draft) -> Draft {
        let vertex = self.fresh();
        let labels = self.labels();
        draft.plan = limit_rows(scan(draft.plan, vertex, labels), vertex);
        draft.vertices.push(vertex);
        draft
    }

    fn join(&mut self, draft: Draft) -> Draft {
        let Some(shared) = self.pick(&draft.vertices) else { return draft };
        // The other side has the shared vertex under the same name and others of its own.
        let other = Draft {
            plan: scan(Plan::Unit, shared, self.labels()),
            vertices: vec![shared],
            edges: Vec::new(),
            values: Vec::new(),
            bags: Vec::new(),
        };
        let other = self.expand(other);
        let mut joined = draft.clone();
        joined.plan = if self.chance.happens(0.5) {
            join(draft.plan, other.plan, &[shared])
        } else {
            join(other.plan, draft.plan, &[shared])
        };
        joined.vertices.extend(other.vertices.into_iter().filter(|vertex| *vertex != shared));
        joined.edges.extend(other.edges);
        joined
    }

    fn union(&mut self, draft: Draft) -> Draft {
        let Some(left) = self.pick(&draft.vertices) else { return draft };
        let other = self.leaf();
        let (right, to) = (other.vertices[0], self.fresh());
        let plan = union(draft.plan, other.plan, &[(to, left, right)], self.chance.happens(0.5));
        Draft { plan, vertices: vec![to], edges: Vec::new(), values: Vec::new(), bags: Vec::new() }
    }

    fn apply(&mut self, mut draft: Draft, depth: u32) -> Draft {
        let Some(import) = self.pick(&draft.vertices) else { return draft };
        let mut inner = Draft {
            plan: argument(&[import]),
            vertices: vec![import],
            edges: Vec::new(),
            values: Vec::new(),
            bags: Vec::new(),
        };
        for _ in 0..1 + self.chance.below(3) {
            inner = match self.chance.below(8) {
                // Inside, both sides of a join and of a union read the argument.
                0 => self.inner_join(inner, import),
                1 => self.inner_union(inner, import),
                _ => {
                    let grown = self.grow(inner.clone(), if depth > 0 { 1 } else { 0 });
                    if has_foreign_leaf(&grown.plan) { inner } else { grown }
                }
            };
        }
        let new: Vec<u32> = Self::columns(&inner)
            .into_iter()
            .filter(|column| !Self::columns(&draft).contains(column))
            .collect();
        let scalar: Vec<u32> = new.iter().copied().filter(|column| !inner.bags.contains(column)).collect();
        let vars = new.iter().map(|column| Var(*column)).collect();
        let fresh = self.fresh();
        let kind = match (self.chance.below(7), self.pick(&scalar)) {
            (0, _) => ApplyKind::Semi,
            (1, _) => ApplyKind::Anti,
            (2, _) => ApplyKind::Exists(Var(fresh)),
            (3, _) => ApplyKind::Count(Var(fresh)),
            (4, Some(column)) => ApplyKind::Collect { list: Var(fresh), column: Var(column) },
            (5, _) => ApplyKind::Optional(vars),
            _ => ApplyKind::Inner(vars),
        };
        match &kind {
            ApplyKind::Exists(_) | ApplyKind::Count(_) => draft.values.push(fresh),
            ApplyKind::Collect { .. } => draft.bags.push(fresh),
            ApplyKind::Inner(_) | ApplyKind::Optional(_) => {
                let added = Self::keep(&inner, &new, Plan::Unit);
                draft.vertices.extend(added.vertices);
                draft.edges.extend(added.edges);
                draft.values.extend(added.values);
                draft.bags.extend(added.bags);
            }
            _ => {}
        }
        let is_counted =
            matches!(kind, ApplyKind::Semi | ApplyKind::Anti | ApplyKind::Exists(_) | ApplyKind::Count(_));
        if self.limits && is_counted && self.chance.happens(0.5) {
            inner.plan = limit(inner.plan, self.chance.below(4) as i64);
        }
        draft.plan = apply(draft.plan, inner.plan, &[import], kind);
        if let Plan::Apply(node) = &mut draft.plan {
            node.scope = self.scope();
            let id = || Expr::Call(plan::Function::Id, vec![Expr::Variable(Var(import))]);
            node.rank = matches!(node.scope.order, InstanceOrder::By(_)).then(id);
        }
        draft
    }

    /// However a sub-query runs, its answer is the same.
    fn scope(&mut self) -> Scope {
        if self.chance.happens(0.5) {
            // What is a line then runs within one operator.
            return Scope::default();
        }
        let some =
            |chance: &mut Chance, most: usize| chance.happens(0.5).then(|| 1 + chance.index(most) as u32);
        let order = match self.chance.below(4) {
            0 => InstanceOrder::Fifo,
            1 => InstanceOrder::Bfs,
            2 => InstanceOrder::Dfs,
            _ => InstanceOrder::By(self.chance.happens(0.5)),
        };
        let orders = [OperatorOrder::Fifo, OperatorOrder::Bfs, OperatorOrder::Dfs];
        Scope {
            early: self.chance.happens(0.7),
            rows: some(self.chance, 4),
            order,
            within: orders[self.chance.index(3)],
            instances_max: some(self.chance, 6),
            // Loops alone look at it.
            wide: false,
            end: None,
            // What a hint speaks of is a scope; the other takes so many rows together within one operator, if it is a line.
            reason: if self.chance.happens(0.5) { ScopeReason::Hint } else { ScopeReason::EarlyExit },
        }
    }

    fn inner_join(&mut self, inner: Draft, import: u32) -> Draft {
        if !inner.vertices.contains(&import) {
            return inner;
        }
        let other = Draft {
            plan: argument(&[import]),
            vertices: vec![import],
            edges: Vec::new(),
            values: Vec::new(),
            bags: Vec::new(),
        };
        let other = self.expand(other);
        let mut joined = inner.clone();
        joined.plan = join(inner.plan, other.plan, &[import]);
        joined.vertices.extend(other.vertices.into_iter().filter(|vertex| *vertex != import));
        joined.edges.extend(other.edges);
        joined
    }

    fn inner_union(&mut self, inner: Draft, import: u32) -> Draft {
        let Some(left) = self.pick(&inner.vertices) else { return inner };
        let to = self.fresh();
        let plan = union(inner.plan, argument(&[import]), &[(to, left, import)], self.chance.happens(0.5));
        Draft { plan, vertices: vec![to], edges: Vec::new(), values: Vec::new(), bags: Vec::new() }
    }
}

/// Keeps a product small: only the vertices with x below 2.
fn limit_rows(plan: Plan, vertex: u32) -> Plan {
    filter(plan, compare(BinaryOperator::Less, property(vertex, "x"), int(2)))
}

/// Inside a sub-query a leaf is its argument: a scan from `Unit` runs for each row, and the twin says the same, but products grow.
fn has_foreign_leaf(plan: &Plan) -> bool {
    plan.any(&mut |plan| *plan == Plan::Unit)
}
