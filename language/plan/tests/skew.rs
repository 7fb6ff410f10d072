//! Orders that an average gets wrong: most persons are of one kind, few are old. What the index says of the value decides where to begin.
//! `TANGLEWOOD_BLESS=1` writes the plans anew.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use crate::support;

use model::Direction::Out;
use model::Value;
use support::build::*;
use support::figures::Figures;
use tanglewood_plan::expr::*;
use tanglewood_plan::{Plan, StatementKind, estimates, explain, optimize};

const FIGURES: &str = "all 10000; Person 5000; City 100; edges 60000; LIVES> 5000; LIVES< 5000; Person LIVES> 5000; City LIVES< 5000; \
    far LIVES> City 1; far LIVES< Person 1; index Person(kind) 1000; index Person(age) 80; index City(name) 100";
/// What the histograms add.
const VALUES: &str = "; Person(kind)='common' 4000; Person(kind)='rare' 1; Person(age)>=90 12";

/// Persons of whom this is true, who live in a city of this name: the plan as text.
fn planned(figures: &str, test: impl FnOnce(Var) -> Expr) -> String {
    let mut t = Table::default();
    let (person, lives, city) = (t.var("p"), t.var("lives"), t.var("city"));
    let pattern = PatternText::default()
        .vertex(person, "Person")
        .vertex(city, "City")
        .edge(lives, person, city, "LIVES", Out)
        .so_that(test(person))
        .so_that(equal(Expr::property(city, "name"), Value::string("Oslo")));
    let kept = [person];
    let plan = project(pattern.over(Plan::Unit), vec![(person, read(person))]);
    let figures = Figures::new(figures);
    let planned = optimize(t.query(plan, &kept), &figures).unwrap();
    let StatementKind::Query { plan, .. } = &planned.kind else { unreachable!("only queries are written") };
    explain::render(&planned, &estimates(plan, &figures), None)
}

fn check(name: &str, test: impl Fn(Var) -> Expr) {
    let told = format!(
        "by averages:\n{}\nby what the index says of the value:\n{}",
        planned(FIGURES, &test),
        planned(&format!("{FIGURES}{VALUES}"), &test)
    );
    compare(name, told);
}

fn compare(name: &str, told: String) {
    let file = format!("{}/tests/plans/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    if std::env::var("TANGLEWOOD_BLESS").is_ok() {
        return std::fs::write(file, told).unwrap();
    }
    let expected = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(told == expected, "{name}: expected\n{expected}\ngot\n{told}");
}

#[test]
fn a_value_that_most_have_is_no_place_to_begin() {
    check("skew_common_value", |p| equal(Expr::property(p, "kind"), Value::string("common")));
}

#[test]
fn a_value_that_few_have_is() {
    check("skew_rare_value", |p| equal(Expr::property(p, "kind"), Value::string("rare")));
}

#[test]
fn the_end_of_a_range_is() {
    check("skew_end_of_range", |p| {
        Expr::binary(BinaryOperator::GreaterEqual, Expr::property(p, "age"), Expr::literal(90_i64))
    });
}

#[test]
fn a_parameter_keeps_the_average() {
    let by_parameter = |figures: &str| {
        planned(figures, |p| {
            Expr::binary(BinaryOperator::Equal, Expr::property(p, "kind"), Expr::Parameter("kind".into()))
        })
    };
    assert_eq!(by_parameter(FIGURES), by_parameter(&format!("{FIGURES}{VALUES}")));
}

/// Who lives in the city of a person of this name, and in which country: a few cities have most persons, so that those who share one are
/// far more than the mean says.
#[test]
fn a_hub_is_met_more_often_than_others() {
    const HUBS: &str = "all 10000; Person 5000; City 2500; Country 50; edges 20000; LIVES> 5000; LIVES< 5000; Person LIVES> 5000; \
        City LIVES< 5000; far LIVES> City 1; far LIVES< Person 1; IN> 2500; IN< 2500; City IN> 2500; Country IN< 2500; far IN> Country 1; \
        far IN< City 1; index Person(name) 5000";
    let plan = |figures: &str| {
        let mut t = Table::default();
        let (a, b, city, country) = (t.var("a"), t.var("b"), t.var("city"), t.var("country"));
        let (k, l, m) = (t.var("k"), t.var("l"), t.var("m"));
        let pattern = PatternText::default()
            .vertex(a, "Person")
            .vertex(b, "Person")
            .vertex(city, "City")
            .vertex(country, "Country")
            .edge(k, a, city, "LIVES", Out)
            .edge(l, b, city, "LIVES", Out)
            .edge(m, city, country, "IN", Out)
            .so_that(equal(Expr::property(a, "name"), Value::string("Ada")));
        let items = vec![(b, read(b)), (country, read(country))];
        let figures = Figures::new(figures);
        let planned =
            optimize(t.query(project(pattern.over(Plan::Unit), items), &[b, country]), &figures).unwrap();
        let StatementKind::Query { plan, .. } = &planned.kind else {
            unreachable!("only queries are written")
        };
        explain::render(&planned, &estimates(plan, &figures), None)
    };
    let unequal = format!("{HUBS}; spread LIVES< 400");
    compare(
        "skew_hub",
        format!("by averages:\n{}\nwhere a few cities have most:\n{}", plan(HUBS), plan(&unequal)),
    );
}

/// An index whose pages are not in memory finds nothing of a rare value. A list of many was taken for half a row, so that the other end came later.
#[test]
fn a_long_list_of_values_that_nothing_was_found_of_is_no_half_row() {
    let values: Vec<String> = (0..400).map(|number| format!("v{number}")).collect();
    let nothing = values.iter().map(|value| format!("; Person(kind)='{value}' 0")).collect::<String>();
    let list = values.iter().map(|value| Expr::literal(Value::string(&**value))).collect();
    let told = planned(&format!("{FIGURES}{nothing}"), |p| {
        Expr::binary(BinaryOperator::In, Expr::property(p, "kind"), Expr::List(list))
    });
    assert!(told.contains("(city)<-[:LIVES]-(p:Person)"), "{told}");
}
