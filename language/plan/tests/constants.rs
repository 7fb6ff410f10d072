//! Constants are folded to what they are worth, types are tested as they are said, and commands are written as they are read.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use crate::support;

use model::{Value, ValueType, compare};
use support::build::*;
use support::chance::Chance;
use support::evaluate::{Row, evaluate};
use support::graph::Graph;
use tanglewood_plan::accounts::*;
use tanglewood_plan::expr::*;
use tanglewood_plan::procedures::{LIST_CONFIG, PROCEDURES, Procedure};
use tanglewood_plan::scope::*;
use tanglewood_plan::standing::{Resume, Retain, StandingCommand};
use tanglewood_plan::statistics::NothingKnown;
use tanglewood_plan::types::*;
use tanglewood_plan::users::{Password, UserCommand};
use tanglewood_plan::{Plan, Planning, StatementKind, optimize};

fn constant(chance: &mut Chance) -> Value {
    let ints = [0, 1, 2, -3, i64::MAX, i64::MIN, i64::MIN + 1];
    match chance.below(9) {
        0 => Value::Null,
        1 | 2 => chance.percent(50).into(),
        3..6 => chance.pick(&ints).into(),
        6 => chance.pick(&[0.5, -2.0, f64::NAN, 1e300, 2.0]).into(),
        7 => chance.pick(&["", "a", "b", "ab"]).into(),
        _ => Value::list(vec![1.into(), chance.pick(&[Value::Null, 2.into()])]),
    }
}

fn expression(chance: &mut Chance, depth: usize) -> Expr {
    use BinaryOperator::*;
    if depth == 0 || chance.percent(20) {
        return Expr::literal(constant(chance));
    }
    let mut part = || Box::new(expression(chance, depth - 1));
    let (a, b) = (part(), part());
    match chance.below(8) {
        0 => {
            use UnaryOperator::{IsNotNull, IsNull, Negate, Not};
            Expr::Unary(chance.pick(&[Not, Negate, IsNull, IsNotNull]), a)
        }
        1 => Expr::List(vec![*a, *b]),
        _ => {
            let operators = [
                And,
                Or,
                Xor,
                Equal,
                NotEqual,
                Less,
                LessEqual,
                Greater,
                GreaterEqual,
                Add,
                Subtract,
                Multiply,
                In,
            ];
            Expr::Binary(chance.pick(&operators), a, b)
        }
    }
}

/// What is folded of one operator with constant operands: none where it would fail, or is left to the row.
fn folds(expr: &Expr) -> bool {
    use BinaryOperator::*;
    let Expr::Binary(operator, a, b) = expr else { return true };
    let (Expr::Literal(Constant(a)), Expr::Literal(Constant(b))) = (&**a, &**b) else { return false };
    let logical = |value: &Value| matches!(value, Value::Null | Value::Bool(_));
    match (operator, a, b) {
        (And | Or, a, b) => logical(a) && logical(b),
        (Equal | NotEqual, ..) => true,
        (Less | LessEqual | Greater | GreaterEqual, a, b) => {
            matches!((a, b), (Value::Int(_), Value::Int(_)) | (Value::String(_), Value::String(_)))
        }
        (Add, Value::Int(a), Value::Int(b)) => a.checked_add(*b).is_some(),
        (Subtract, Value::Int(a), Value::Int(b)) => a.checked_sub(*b).is_some(),
        (Multiply, Value::Int(a), Value::Int(b)) => a.checked_mul(*b).is_some(),
        (Add | Subtract | Multiply, Value::Float(_), Value::Float(_)) => true,
        (Add, Value::String(_), Value::String(_)) => true,
        _ => false,
    }
}

fn folded(expr: &Expr) -> Expr {
    let mut t = Table::default();
    let n = t.var("n");
    let statement =
        optimize(t.query(project(Plan::Unit, vec![(n, expr.clone())]), &[n]), &NothingKnown).unwrap();
    let StatementKind::Query { plan: Plan::Project(node), .. } = statement.kind else {
        panic!("a projection was written")
    };
    node.items[0].1.clone()
}

#[test]
fn what_is_folded_is_worth_the_same() {
    let (graph, row) = (Graph::default(), Row::new());
    let mut chance = Chance(7);
    let mut whole = 0;
    for round in 0..20_000 {
        let expr = expression(&mut chance, 1 + round % 3);
        let after = folded(&expr);
        let (wanted, found) = (evaluate(&graph, &row, &expr), evaluate(&graph, &row, &after));
        // The tests' evaluator knows no errors: a value of the wrong type is null to it, and an overflow wraps.
        assert!(
            compare::equivalent(&wanted, &found) && wanted.value_type() == found.value_type(),
            "{expr:?} {after:?}"
        );
        whole += usize::from(matches!(after, Expr::Literal(_)));
        if round % 3 == 0 && folds(&expr) {
            let fails = matches!(&expr, Expr::Unary(UnaryOperator::Negate, a) if !matches!(&**a, Expr::Literal(Constant(Value::Float(_))) | Expr::Literal(Constant(Value::Int(-3..=i64::MAX)))))
                || matches!(&expr, Expr::Unary(UnaryOperator::Not, a) if !matches!(&**a, Expr::Literal(Constant(Value::Null | Value::Bool(_)))));
            assert!(fails || matches!(after, Expr::Literal(_)), "{expr:?} {after:?}");
        }
        // What would fail is left for the row that meets it.
        if round % 3 == 0 && !folds(&expr) {
            assert!(!matches!(after, Expr::Literal(_)), "{expr:?} {after:?}");
        }
    }
    assert!(whole > 5_000, "{whole}");
}

#[test]
fn alternatives_become_a_list() {
    use BinaryOperator::{Equal, In, Or};
    let (n, m) = (Expr::Parameter("n".into()), Expr::Parameter("m".into()));
    let is = |subject: &Expr, value: i64| Expr::binary(Equal, subject.clone(), Expr::literal(value));
    let among = |subject: &Expr, values: &[i64]| {
        let list = Value::list(values.iter().map(|value| Value::Int(*value)).collect());
        Expr::binary(In, subject.clone(), Expr::literal(list))
    };
    let or = |a: Expr, b: Expr| Expr::binary(Or, a, b);
    assert_eq!(folded(&or(is(&n, 1), is(&n, 2))), among(&n, &[1, 2]));
    assert_eq!(folded(&or(or(is(&n, 1), is(&n, 2)), or(is(&n, 3), is(&n, 4)))), among(&n, &[1, 2, 3, 4]));
    assert_eq!(folded(&or(among(&n, &[5]), is(&n, 2))), among(&n, &[5, 2]));
    let chance = Expr::Call(tanglewood_plan::Function::Rand, Vec::new());
    for left in [or(is(&n, 1), is(&m, 2)), or(is(&n, 1), n.clone()), or(is(&chance, 1), is(&chance, 2))] {
        assert_eq!(folded(&left), left);
    }
    // A constant equals or it does not.
    let one = Expr::literal(1_i64);
    let left = or(is(&one, 1), Expr::binary(Equal, one.clone(), n.clone()));
    assert!(matches!(folded(&left), Expr::Binary(Or, ..)), "{:?}", folded(&left));
}

fn test_of(chance: &mut Chance, depth: usize) -> TypeTest {
    let one = |chance: &mut Chance| {
        let kind = match chance.below(if depth == 0 { 9 } else { 12 }) {
            0 => TypeKind::Nothing,
            1 => TypeKind::Null,
            2 => TypeKind::Any,
            3 => TypeKind::PropertyValue,
            4..9 => TypeKind::Plain(chance.pick(&PLAIN_TYPES).1),
            _ => TypeKind::List(test_of(chance, depth - 1)),
        };
        Alternative { kind, not_null: chance.percent(40) }
    };
    TypeTest((0..1 + chance.below(2)).map(|_| one(chance)).collect())
}

fn value_of(chance: &mut Chance, depth: usize) -> Value {
    let lists = |chance: &mut Chance| {
        let same = chance.percent(50).then(|| value_of(chance, depth - 1));
        (0..chance.below(4)).map(|_| same.clone().unwrap_or_else(|| value_of(chance, depth - 1))).collect()
    };
    match chance.below(if depth == 0 { 8 } else { 11 }) {
        0 => Value::Null,
        1 => true.into(),
        2 | 3 => 3.into(),
        4 => 0.5.into(),
        5 => "a".into(),
        6 => Value::map([("k", Value::Int(1))]),
        7 => model::VertexId(1).into(),
        _ => Value::list(lists(chance)),
    }
}

/// Does it conform, by the definition?
fn conforms_by_definition(value: &Value, test: &TypeTest) -> bool {
    let simple = |value: &Value| {
        use ValueType::{Edge, List, Map, Null, Path, Vertex};
        ![Null, List, Map, Vertex, Edge, Path].contains(&value.value_type())
    };
    test.0.iter().any(|alternative| match (&alternative.kind, value) {
        (TypeKind::Nothing, _) => false,
        (_, Value::Null) => !alternative.not_null,
        (TypeKind::Null, _) => false,
        (TypeKind::Any, _) => true,
        (TypeKind::PropertyValue, Value::List(items)) => {
            items.iter().all(|item| simple(item) && item.value_type() == items[0].value_type())
        }
        (TypeKind::PropertyValue, other) => simple(other),
        (TypeKind::Plain(plain), other) => other.value_type() == *plain,
        (TypeKind::List(elements), Value::List(items)) => {
            items.iter().all(|item| conforms_by_definition(item, elements))
        }
        (TypeKind::List(_), _) => false,
    })
}

#[test]
fn a_value_conforms_as_its_type_says() {
    let mut chance = Chance(3);
    let mut both = [0, 0];
    for _ in 0..40_000 {
        let (test, value) = (test_of(&mut chance, 2), value_of(&mut chance, 2));
        let wanted = conforms_by_definition(&value, &test);
        both[usize::from(wanted)] += 1;
        assert_eq!(conforms(&value, &test.encode()), Some(wanted), "{value:?} IS :: {test}");
        let depth = |test: &TypeTest| test.to_string().split("LIST<").count() - 1;
        assert!(test.depth() <= depth(&test) && (test.depth() == 0) == (depth(&test) == 0), "{test}");
        let plain = matches!(&test.0[..], [Alternative { kind: TypeKind::Plain(_), .. }]);
        assert_eq!(test.plain().is_some(), plain);
    }
    assert!(both.iter().all(|count| *count > 5_000), "{both:?}");
    for wrong in [Value::Null, 1.into(), Value::list(vec![1.into()]), Value::list(vec![Value::list(vec![])])]
    {
        assert_eq!(conforms(&Value::Int(1), &wrong), None, "{wrong:?}");
    }
    let of = |kind: TypeKind, not_null| TypeTest(vec![Alternative { kind, not_null }]);
    let number = of(TypeKind::Plain(ValueType::Int), true);
    let nested = of(TypeKind::List(of(TypeKind::List(number.clone()), false)), true);
    assert_eq!(nested.to_string(), "LIST<LIST<INTEGER NOT NULL>> NOT NULL");
    assert_eq!((nested.depth(), number.depth()), (2, 0));
    let many = TypeTest(
        [TypeKind::Nothing, TypeKind::Null, TypeKind::Any, TypeKind::PropertyValue]
            .map(|kind| Alternative { kind, not_null: false })
            .to_vec(),
    );
    assert_eq!(many.to_string(), "NOTHING | NULL | ANY | PROPERTY VALUE");
}

#[test]
fn commands_about_tenants_are_written() {
    let rule = |measure, beyond, then| Setting::Rule(RunawayRule { measure, beyond, then });
    let settings = vec![
        Setting::Share(50),
        Setting::Memory(Some(7)),
        Setting::Memory(None),
        Setting::Spill(Some(0)),
        Setting::Spill(None),
        Setting::Concurrent(Some(3)),
        Setting::Concurrent(None),
        Setting::Time(Some(9)),
        Setting::Time(None),
        rule(Measure::Time, 1, Remedy::Kill),
        rule(Measure::Cpu, 2, Remedy::Slow(10)),
        rule(Measure::Rows, 3, Remedy::Move("slow`lane".into())),
        rule(Measure::Memory, 4, Remedy::Kill),
        Setting::NoRules,
    ];
    let all = "SHARE 50, MEMORY '7B', MEMORY NONE, SPILL '0B', SPILL NONE, CONCURRENT 3, CONCURRENT NONE, TIME '9ms', TIME NONE, \
        RULE WHEN TIME > '1ms' THEN KILL, RULE WHEN CPU > '2ms' THEN SLOW TO 10, RULE WHEN ROWS > 3 THEN MOVE TO `slow``lane`, \
        RULE WHEN MEMORY > '4B' THEN KILL, NO RULES";
    let name = || Name::from("a b");
    use AccountCommand::*;
    let commands = [
        (
            CreateTenant { name: name(), if_not_exists: true, settings: vec![] },
            "CREATE TENANT `a b` IF NOT EXISTS".into(),
        ),
        (
            CreateTenant { name: name(), if_not_exists: false, settings: settings.clone() },
            format!("CREATE TENANT `a b` SET {all}"),
        ),
        (
            AlterTenant { name: name(), if_exists: true, settings: vec![Setting::Share(1)] },
            "ALTER TENANT `a b` IF EXISTS SET SHARE 1".into(),
        ),
        (AlterTenant { name: name(), if_exists: false, settings: vec![] }, "ALTER TENANT `a b`".into()),
        (
            AddUser { tenant: name(), user: "u".into(), settings: vec![Setting::Share(1)] },
            "ALTER TENANT `a b` ADD USER `u` SET SHARE 1".into(),
        ),
        (RemoveUser { tenant: name(), user: "u`".into() }, "ALTER TENANT `a b` REMOVE USER `u```".into()),
        (DropTenant { name: name(), if_exists: true }, "DROP TENANT `a b` IF EXISTS".into()),
        (DropTenant { name: name(), if_exists: false }, "DROP TENANT `a b`".into()),
    ];
    for (command, text) in commands {
        assert_eq!(command.to_string(), text);
    }
}

#[test]
fn commands_about_standing_queries_are_written() {
    use StandingCommand::*;
    let name = || Name::from("a`b");
    let create = |tenant: Option<&str>, retain: Option<&str>, if_not_exists| Create {
        name: name(),
        if_not_exists,
        tenant: tenant.map(Name::from),
        text: "RETURN 1".into(),
        retain: retain.map(|text| text.parse::<Retain>().unwrap()),
    };
    let subscribe = |from, snapshot, key: &[&str]| Subscribe {
        name: name(),
        from,
        snapshot,
        key: key.iter().map(|name| Name::from(*name)).collect(),
    };
    let commands = [
        (create(None, None, false), "CREATE STANDING QUERY `a``b` AS RETURN 1"),
        (
            create(Some("t"), Some("2h"), true),
            "CREATE STANDING QUERY `a``b` IF NOT EXISTS FOR TENANT `t` AS RETURN 1 RETAIN 2h",
        ),
        (Drop { name: name(), if_exists: true }, "DROP STANDING QUERY `a``b` IF EXISTS"),
        (Drop { name: name(), if_exists: false }, "DROP STANDING QUERY `a``b`"),
        (Retry { name: name() }, "ALTER STANDING QUERY `a``b` RETRY"),
        (subscribe(None, false, &[]), "SUBSCRIBE `a``b`"),
        (
            subscribe(Some(Resume::CommitVersion(7)), true, &["x"]),
            "SUBSCRIBE `a``b` FROM 7 SNAPSHOT ENVELOPE UPSERT (`x`)",
        ),
        (
            subscribe(Some(Resume::Mark("it's \\".into())), false, &["x", "y"]),
            "SUBSCRIBE `a``b` FROM 'it\\'s \\\\' ENVELOPE UPSERT (`x`, `y`)",
        ),
        (subscribe(Some(Resume::Parameter("p".into())), true, &[]), "SUBSCRIBE `a``b` FROM $p SNAPSHOT"),
    ];
    for (command, text) in commands {
        assert_eq!(command.to_string(), text);
        assert_eq!(command.writes(), !text.starts_with("SUBSCRIBE"));
    }
    assert_eq!(Retain::NONE.to_string(), "NONE");
    for (text, seconds) in
        [("1s", 1), ("60s", 60), ("90m", 5_400), ("3650d", 315_360_000), ("1W", 604_800), (" 5m ", 300)]
    {
        assert_eq!(text.parse::<Retain>().unwrap().duration().as_secs(), seconds, "{text}");
    }
}

#[test]
fn passwords_are_parameters_and_are_not_shown() {
    let (text, parameter) =
        (|| Password::Text("secret".into()), |name: &str| Password::Parameter(name.into()));
    let name = || Name::from("u");
    use UserCommand::*;
    let commands = [
        (Create { name: name(), if_not_exists: false, password: text(), suspended: None }, vec![]),
        (Create { name: name(), if_not_exists: false, password: parameter("p"), suspended: None }, vec!["p"]),
        (
            Alter { name: name(), if_exists: false, password: Some(parameter("p")), suspended: None },
            vec!["p"],
        ),
        (Alter { name: name(), if_exists: false, password: None, suspended: Some(true) }, vec![]),
        (AlterCurrent { from: parameter("p"), to: parameter("q") }, vec!["p", "q"]),
        (AlterCurrent { from: text(), to: parameter("q") }, vec!["q"]),
        (Drop { name: name(), if_exists: false }, vec![]),
    ];
    for (command, wanted) in commands {
        let found: Vec<&str> = command.parameters().map(|name| &**name).collect();
        assert_eq!(found, wanted);
        assert!(!format!("{command:?}").contains("secret"));
        assert!(wanted.iter().all(|name| format!("{command:?}").contains(name)));
    }
}

#[test]
fn procedures_tell_what_they_take() {
    for procedure in PROCEDURES {
        let needed = procedure.arguments.iter().take_while(|(_, kind)| !kind.contains('=')).count();
        assert_eq!(procedure.arguments_min(), needed, "{}: defaults come last", procedure.name);
        let interface = usize::from(procedure.name == LIST_CONFIG);
        assert_eq!(procedure.planned_arguments(), procedure.arguments.len() + interface);
        assert_eq!(procedure.field_names().len(), procedure.fields.len());
        assert!(procedure.field_names().iter().zip(procedure.fields).all(|(name, (field, _))| name == field));
        assert_eq!(Procedure::by_name(&procedure.name.to_uppercase()), Some(procedure));
        assert_eq!(Procedure::named().any(|named| named == procedure), !procedure.name.contains(' '));
    }
    let of = |name: &str| Procedure::by_name(name).unwrap();
    assert_eq!((of("db.awaitIndex").arguments_min(), of("db.labels").arguments_min()), (1, 0));
    assert_eq!(
        of("db.awaitIndex").signature(),
        "db.awaitIndex(indexName :: STRING, timeOutSeconds :: INTEGER = 300) :: ()"
    );
    assert_eq!(
        of("graph.bfs").signature(),
        "graph.bfs(settings :: MAP) :: (node :: NODE, distance :: INTEGER)"
    );
    assert!(Procedure::by_name("db.nothing").is_none());
}

#[test]
fn scopes_are_as_hints_ask() {
    assert_eq!(Scope::hinted(None), Scope::default());
    let off = Scope::hinted(Some(ScopeHint { off: true, ..ScopeHint::default() }));
    assert_eq!((off.early, off.within, off.reason), (false, OperatorOrder::Fifo, ScopeReason::Hint));
    let asked = ScopeHint {
        order: Some(InstanceOrder::Dfs),
        within: Some(OperatorOrder::Bfs),
        instances_max: Some(3),
        rows: Some(5),
        wide: true,
        off: false,
    };
    let scope = Scope::hinted(Some(asked));
    assert_eq!((scope.order, scope.within), (InstanceOrder::Dfs, OperatorOrder::Bfs));
    assert_eq!((scope.instances_max, scope.rows, scope.wide, scope.early), (Some(3), Some(5), true, true));
    let reasons = [
        ScopeReason::Usual,
        ScopeReason::TinyWork,
        ScopeReason::SmallWork,
        ScopeReason::EarlyExit,
        ScopeReason::FewWanted,
        ScopeReason::AllWanted,
        ScopeReason::Hint,
        ScopeReason::Off,
    ];
    let mut told: Vec<String> = reasons.iter().map(ToString::to_string).collect();
    for reason in reasons {
        let told = matches!(reason, ScopeReason::Hint | ScopeReason::Off);
        assert_eq!(Scope { reason, ..Scope::default() }.is_told(), told);
        assert!(!Scope::off(reason).early);
    }
    told.sort();
    told.dedup();
    assert!(told.len() == reasons.len() && told.iter().all(|text| !text.is_empty()));
    let by = InstanceOrder::By;
    let orders = [InstanceOrder::Fifo, InstanceOrder::Bfs, InstanceOrder::Dfs, by(false), by(true)];
    assert_eq!(orders.map(|order| order.to_string()), ["FIFO", "BFS", "DFS", "BY", "BY DESC"]);
    let orders = [OperatorOrder::Fifo, OperatorOrder::Bfs, OperatorOrder::Dfs];
    assert_eq!(orders.map(|order| order.to_string()), ["FIFO", "BFS", "DFS"]);
}

/// Of a graph of which nothing is known, figures are what they are said to be, and there is no index.
#[test]
fn nothing_is_known_of_an_empty_graph() {
    use model::Direction::Out;
    use std::ops::Bound::Unbounded;
    let known = NothingKnown;
    assert_eq!((known.vertices(None), known.vertices(Some("A"))), (10_000.0, 1_000.0));
    assert_eq!((known.edges(None, &[], Out), known.edges(Some("A"), &["T"], Out)), (100_000.0, 10_000.0));
    assert_eq!((known.far_share(None, &[], Out, "A"), known.spread(None, &[], Out)), (1.0, None));
    assert!(known.labels().is_empty() && known.index("A", &["k"]).is_none());
    assert!(known.labels_with_index("k").is_empty() && known.edge_indexes("T").is_empty());
    assert_eq!(known.edges_between("T", "k", Unbounded, Unbounded), None);
    assert_eq!((known.distinct("A", &["k"]), known.between("A", "k", Unbounded, Unbounded)), (None, None));
    let literals = [Value::Int(1), Value::Float(1.0), Value::Null, Value::Float(f64::NAN), "a".into()];
    for (at, a) in literals.iter().enumerate() {
        for (other, b) in literals.iter().enumerate() {
            assert_eq!(Constant(a.clone()) == Constant(b.clone()), at == other, "{a:?} {b:?}");
        }
    }
}
