//! Program analysis: Graspan's two analyses on a generated program graph (K-Pg's tables 3 and 4), and the borrow checker's
//! location-insensitive rules on the facts of real functions.

use super::{answered, digest, fault, moved, pair, relation, twin};
use crate::data;
use crate::graphs::Edges;
use crate::report::Report;
use crate::timing::{Samples, shown_ms, timed};
use model::Value;
use rules::Evaluation;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use world::chance::Chance;
use world::files;

/// Null assignments that are taken back one by one.
const NULLS: usize = 1_000;
/// Assignments that are taken back in the points-to analysis.
const ASSIGNMENTS: usize = 200;
/// Facts of a function that are taken back.
const FACTS: usize = 1_000;

const DATAFLOW: &str = "null(x, y) :- n(x, y). null(x, z) :- null(x, y), a(y, z).";

/// Values flow along assignments and between what may be one place in memory; dereferences of what may be one value may be one place.
const POINTS_TO: &str =
    "flow(x, x) :- a(x, _). flow(x, x) :- a(_, x). flow(x, x) :- d(x, _). flow(x, x) :- d(_, x).
    flow(x, z) :- flow(x, y), a(y, z). flow(x, w) :- flow(x, y), a(y, z), memory(z, w).
    value(x, y) :- flow(z, x), flow(z, y). value(x, y) :- flow(z, x), memory(z, w), flow(w, y).
    memory(x, y) :- d(p, x), value(p, q), d(q, y).";

/// The same without the relation of all values that may be one: only dereferenced ones matter.
const POINTS_TO_OPTIMISED: &str =
    "flow(x, x) :- a(x, _). flow(x, x) :- a(_, x). flow(x, x) :- d(x, _). flow(x, x) :- d(_, x).
    flow(x, z) :- flow(x, y), a(y, z). flow(x, w) :- flow(x, y), a(y, z), memory(z, w).
    read(z, x) :- flow(z, p), d(p, x).
    memory(x, y) :- read(z, x), read(z, y). memory(x, y) :- read(z, x), memory(z, w), read(w, y).";

/// Variables of one function of the generated program.
const FUNCTION: u32 = 40;

/// A program: functions of a few dozen variables, each assigned from one or two before it, a call now and then; dereferences; nulls.
struct Code {
    assignments: Edges,
    dereferences: Edges,
    nulls: Edges,
}

fn code(functions: u32) -> Code {
    let mut chance = Chance::seeded(5);
    let mut below = |bound: u32| chance.below(u64::from(bound)) as u32;
    let (mut assignments, mut dereferences, mut nulls) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    let variables = functions * FUNCTION;
    for variable in 0..variables {
        let first = variable / FUNCTION * FUNCTION;
        if variable > first {
            for _ in 0..1 + below(2) {
                assignments.insert((first + below(variable - first), variable));
            }
        } else if variable > 0 && below(3) > 0 {
            // A call: an argument comes from a function not far away.
            assignments.insert((first - 1 - below(first.min(200)), variable));
        }
        if below(4) == 0 {
            dereferences.insert((variable, variables + variable));
        }
        if below(12) == 0 {
            nulls.insert((2 * variables + variable, variable));
        }
    }
    let list = |set: BTreeSet<(u32, u32)>| set.into_iter().collect();
    Code { assignments: list(assignments), dereferences: list(dereferences), nulls: list(nulls) }
}

fn facts(edges: &Edges) -> Vec<Vec<Value>> {
    edges.iter().map(|edge| pair(*edge)).collect()
}

fn shown(samples: &Samples) -> String {
    format!("{}, max {}", shown_ms(samples.median_ms()), shown_ms(samples.quantile_ms(1.0)))
}

pub fn graspan(report: &mut Report) -> Result<(), String> {
    report.section("analyses of a generated program (Tables 3 and 4)");
    let program = code(5_000);
    let (nulls, assignments) = (facts(&program.nulls), facts(&program.assignments));
    let given = [("n", nulls.clone()), ("a", assignments)];
    let (mut evaluation, full_ms) = answered(DATAFLOW, &given)?;
    let (null, n) = (relation(&evaluation, "null")?, relation(&evaluation, "n")?);
    let plain = |nulls: &[(u32, u32)]| {
        let lists = twin::lists(&program.assignments);
        let (mut count, mut sum) = (0, 0_u64);
        for (source, first) in nulls {
            let mut found = twin::reached(&lists, [*first]);
            found.insert(*first);
            count += found.len();
            sum = found.iter().fold(sum, |sum, at| sum.wrapping_add(twin::mixed(*source, *at)));
        }
        (count, sum)
    };
    let right = digest(&evaluation, null) == plain(&program.nulls);
    let title = format!("dataflow, {} assignments", program.assignments.len());
    report.figure(
        &title,
        &format!("{} for {} facts", shown_ms(full_ms), evaluation.len(null)),
        "as plain search",
        right,
    );
    evaluation.prepare().map_err(fault)?;
    let mut samples = Samples::default();
    for fact in nulls.iter().take(NULLS) {
        samples.push(moved(&mut evaluation, n, fact, false)?);
    }
    let right = digest(&evaluation, null) == plain(&program.nulls[NULLS.min(nulls.len())..]);
    report.figure("  a null assignment goes, p50", &shown(&samples), "right; K-Pg 1.11 ms to 185 ms", right);
    points_to(report)
}

fn points_to(report: &mut Report) -> Result<(), String> {
    let program = code(300);
    let given = [("a", facts(&program.assignments)), ("d", facts(&program.dereferences))];
    let (plain, plain_ms) = answered(POINTS_TO, &given)?;
    let (mut evaluation, full_ms) = answered(POINTS_TO_OPTIMISED, &given)?;
    let memory_of =
        |evaluation: &Evaluation<'_>| Ok::<_, String>(digest(evaluation, relation(evaluation, "memory")?));
    let expected = memory_of(&plain)?;
    let title = format!("points-to, {} assignments", program.assignments.len());
    let size = plain.len(relation(&plain, "value")?);
    report.figure(
        &title,
        &format!("{}, {} values", shown_ms(plain_ms), size),
        "the small twin's answer",
        small_points_to()?,
    );
    let right = memory_of(&evaluation)? == expected;
    report.figure("  optimised", &shown_ms(full_ms), "the same, sooner", right && full_ms < plain_ms);
    evaluation.prepare().map_err(fault)?;
    let (a, mut samples) = (relation(&evaluation, "a")?, Samples::default());
    for at in 0..ASSIGNMENTS {
        let fact = pair(program.assignments[at * 37 % program.assignments.len()]);
        samples.push(moved(&mut evaluation, a, &fact, false)?);
        moved(&mut evaluation, a, &fact, true)?;
    }
    let same = memory_of(&evaluation)? == expected;
    let (gone, left) = program.assignments.split_at(20);
    for edge in gone {
        moved(&mut evaluation, a, &pair(*edge), false)?;
    }
    let given = [("a", facts(&left.to_vec())), ("d", facts(&program.dereferences))];
    let right = same && memory_of(&evaluation)? == memory_of(&answered(POINTS_TO, &given)?.0)?;
    report.figure("  an assignment goes, p50", &shown(&samples), "as evaluated anew without it", right);
    Ok(())
}

/// Both programs on a small graph, beside rounds over all pairs.
fn small_points_to() -> Result<bool, String> {
    let program = code(3);
    let given = [("a", facts(&program.assignments)), ("d", facts(&program.dereferences))];
    let all = |edges: &Edges| edges.iter().copied().collect::<BTreeSet<(u32, u32)>>();
    let (a, d) = (all(&program.assignments), all(&program.dereferences));
    let mut flow: BTreeSet<(u32, u32)> = a.iter().chain(&d).flat_map(|(x, y)| [(*x, *x), (*y, *y)]).collect();
    let mut memory: BTreeSet<(u32, u32)> = BTreeSet::new();
    let join = |left: &BTreeSet<(u32, u32)>, right: &BTreeSet<(u32, u32)>| {
        let mut found = BTreeSet::new();
        for (x, y) in left {
            found.extend(right.range((*y, 0)..=(*y, u32::MAX)).map(|(_, z)| (*x, *z)));
        }
        found
    };
    let turned = |pairs: &BTreeSet<(u32, u32)>| pairs.iter().map(|(x, y)| (*y, *x)).collect::<BTreeSet<_>>();
    loop {
        let before = flow.len() + memory.len();
        let step = join(&flow, &a);
        flow.extend(join(&step, &memory));
        flow.extend(step);
        let mut value = join(&turned(&flow), &flow);
        value.extend(join(&join(&turned(&flow), &memory), &flow));
        memory.extend(join(&join(&turned(&d), &value), &d));
        if flow.len() + memory.len() == before {
            break;
        }
    }
    let expected = (memory.len(), memory.iter().map(|(a, b)| twin::mixed(*a, *b)).fold(0, u64::wrapping_add));
    for text in [POINTS_TO, POINTS_TO_OPTIMISED] {
        let (evaluation, _) = answered(text, &given)?;
        if digest(&evaluation, relation(&evaluation, "memory")?) != expected {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Which variables are used later, hence which origins are live; which loans an origin may hold; and uses of borrowed variables.
const BORROWS: &str = ".input subset_base(3, $given) .input loan_issued_at(3, $given)
    subset(o, p) :- subset_base(o, p, _).
    node(p) :- cfg_edge(p, _). node(p) :- cfg_edge(_, p).
    holds(o, l) :- loan_issued_at(o, l, _). holds(o, l) :- placeholder(o, l).
    holds(q, l) :- holds(o, l), subset(o, q).
    live(v, p) :- var_used_at(v, p).
    live(v, p) :- live(v, q), cfg_edge(p, q), !var_defined_at(v, p).
    origin_live(o, p) :- use_of_var_derefs_origin(v, o), live(v, p).
    origin_live(o, p) :- universal_region(o), node(p).
    error(l, p) :- loan_invalidated_at(p, l), holds(o, l), origin_live(o, p).";

/// The relations that come from files, with their columns.
const BORROW_FACTS: [(&str, usize); 9] = [
    ("subset_base", 3),
    ("cfg_edge", 2),
    ("loan_issued_at", 3),
    ("placeholder", 2),
    ("var_used_at", 2),
    ("var_defined_at", 2),
    ("use_of_var_derefs_origin", 2),
    ("universal_region", 1),
    ("loan_invalidated_at", 2),
];

type FunctionFacts = Vec<(&'static str, Vec<Vec<Value>>)>;

fn function_facts(folder: &Path) -> Result<FunctionFacts, String> {
    let mut found = FunctionFacts::new();
    for (name, columns) in BORROW_FACTS {
        let path = folder.join(format!("{name}.facts"));
        let text = if files::exists(&path) { files::read_text(&path).map_err(fault)? } else { String::new() };
        let fact = |line: &str| line.split('\t').take(columns).map(Value::string).collect::<Vec<Value>>();
        found.push((name, text.lines().map(fact).collect()));
    }
    Ok(found)
}

/// The errors by plain searches: loans along subsets, lives backwards through the control flow.
fn plain_errors(facts: &FunctionFacts) -> BTreeSet<(String, String)> {
    let of = |name: &str| {
        facts.iter().find(|(other, _)| *other == name).map(|(_, facts)| facts.as_slice()).unwrap_or(&[])
    };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let mut numbers: HashMap<String, u32> = HashMap::new();
    let mut number = |value: &Value| {
        let next = numbers.len() as u32;
        *numbers.entry(text(value)).or_insert(next)
    };
    let supersets =
        twin::lists(&of("subset_base").iter().map(|fact| (number(&fact[0]), number(&fact[1]))).collect());
    let before =
        twin::lists(&of("cfg_edge").iter().map(|fact| (number(&fact[1]), number(&fact[0]))).collect());
    let points: BTreeSet<u32> =
        before.iter().flat_map(|(to, from)| from.iter().chain([to])).copied().collect();
    let mut holders: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for (origin, loan) in
        of("loan_issued_at").iter().chain(of("placeholder")).map(|fact| (&fact[0], &fact[1]))
    {
        let (origin, loan) = (number(origin), number(loan));
        let all = holders.entry(loan).or_default();
        all.insert(origin);
        all.extend(twin::reached(&supersets, [origin]));
    }
    let mut used: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    of("var_used_at").iter().for_each(|fact| {
        used.entry(number(&fact[0])).or_default().insert(number(&fact[1]));
    });
    let defined: BTreeSet<(u32, u32)> =
        of("var_defined_at").iter().map(|fact| (number(&fact[0]), number(&fact[1]))).collect();
    let mut live: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for (variable, mut found) in used {
        let mut queue: Vec<u32> = found.iter().copied().collect();
        while let Some(at) = queue.pop() {
            for previous in before.get(&at).into_iter().flatten() {
                if !defined.contains(&(variable, *previous)) && found.insert(*previous) {
                    queue.push(*previous);
                }
            }
        }
        live.insert(variable, found);
    }
    let mut origins: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for fact in of("use_of_var_derefs_origin") {
        let (variable, origin) = (number(&fact[0]), number(&fact[1]));
        origins.entry(origin).or_default().extend(live.get(&variable).into_iter().flatten());
    }
    for fact in of("universal_region") {
        origins.insert(number(&fact[0]), points.clone());
    }
    let mut errors = BTreeSet::new();
    for fact in of("loan_invalidated_at") {
        let (point, loan) = (number(&fact[0]), number(&fact[1]));
        let lives = |origin: &u32| origins.get(origin).is_some_and(|points| points.contains(&point));
        if holders.get(&loan).is_some_and(|holders| holders.iter().any(lives)) {
            errors.insert((text(&fact[1]), text(&fact[0])));
        }
    }
    errors
}

fn errors(evaluation: &Evaluation<'_>) -> Result<BTreeSet<(String, String)>, String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let found = evaluation.facts(relation(evaluation, "error")?);
    Ok(found.map(|fact| (text(&fact[0]), text(&fact[1]))).collect())
}

/// Folders with facts, below this one.
fn functions(folder: &Path, found: &mut Vec<PathBuf>) -> Result<(), String> {
    if files::exists(&folder.join("cfg_edge.facts")) {
        found.push(folder.to_path_buf());
    }
    for entry in files::list_folder(folder).map_err(fault)?.iter().filter(|entry| files::is_folder(entry)) {
        functions(entry, found)?;
    }
    Ok(())
}

pub fn polonius(folder: &Path, report: &mut Report) -> Result<(), String> {
    report.section("borrow checking, location-insensitive");
    let (unpacked, _) = match data::unpacked(folder, "polonius-inputs") {
        Ok(found) => found,
        Err(why) => {
            report.skipped("borrow checking", &why);
            return Ok(());
        }
    };
    let mut all = Vec::new();
    functions(&unpacked, &mut all)?;
    let (mut right, mut total_ms, mut largest) = (true, 0.0, (0, FunctionFacts::new()));
    for function in &all {
        let facts = function_facts(function)?;
        let (evaluation, time_ms) = answered(BORROWS, &facts)?;
        right &= errors(&evaluation)? == plain_errors(&facts);
        total_ms += time_ms;
        let size = facts.iter().map(|(_, facts)| facts.len()).sum();
        if size > largest.0 {
            largest = (size, facts);
        }
    }
    let title = format!("{} functions", all.len());
    report.figure(&title, &shown_ms(total_ms), "as plain searches", right && !all.is_empty());
    one_function(largest.1, report)
}

/// The largest function: its answer, and single facts that go.
fn one_function(mut facts: FunctionFacts, report: &mut Report) -> Result<(), String> {
    let (mut evaluation, full_ms) = answered(BORROWS, &facts)?;
    let (_, plain_ms) = timed(|| plain_errors(&facts));
    let derived: usize = ["live", "origin_live", "holds", "error"]
        .iter()
        .map(|name| relation(&evaluation, name).map(|number| evaluation.len(number)))
        .sum::<Result<_, _>>()?;
    let measured = format!("{}, {derived} facts", shown_ms(full_ms));
    report.figure(
        "the largest of them",
        &measured,
        &format!("(plain searches {})", shown_ms(plain_ms)),
        true,
    );
    evaluation.prepare().map_err(fault)?;
    for name in ["var_used_at", "cfg_edge", "loan_issued_at"] {
        let number = relation(&evaluation, name)?;
        let Some((_, given)) = facts.iter_mut().find(|(other, _)| *other == name) else { continue };
        let mut samples = Samples::default();
        for at in 0..FACTS.min(given.len()) {
            let fact = given[at * 7_919 % given.len()].clone();
            samples.push(moved(&mut evaluation, number, &fact, false)?);
            moved(&mut evaluation, number, &fact, true)?;
        }
        // A few stay out; then the answer is compared.
        let gone: Vec<Vec<Value>> = given.drain(..given.len().min(5)).collect();
        gone.iter().try_for_each(|fact| moved(&mut evaluation, number, fact, false).map(drop))?;
        let right = errors(&evaluation)? == plain_errors(&facts);
        report.figure(
            &format!("  a fact of {name} goes, p50"),
            &shown(&samples),
            "as plain searches without",
            right,
        );
    }
    Ok(())
}
