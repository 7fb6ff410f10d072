//! Aggregate: groups rows. Each executor aggregates its rows; at the end of the input the parts meet at home, where they are merged and emitted. The
//! parts travel through shared state of the twins, not as messages: they are tables, not rows.
//!
//! Inside a sub-query the number of the outer row leads the keys, and an aggregate without keys of its own has one row for every
//! outer row, also where there was no inner row.

mod grouping;
mod groups;
mod last;
mod partial;
mod states;
mod streaming;

use self::grouping::{Call, Grouping};
use self::last::Final;
use self::partial::{Partial, Shared};
use self::streaming::Streaming;
use crate::ExecuteError;
use crate::compile::Compiler;
use crate::fetch::looked_at;
use crate::stream::{Feed, Stream};
use crate::turn::{Breaking, ExecutionContext};
use expression::{Compiled, Layout};
use plan::physical::Algorithm;
use std::sync::Arc;

fn grouping(
    compiler: &Compiler,
    node: &plan::algebra::Aggregate,
    layout: &Layout,
    output: &mut Layout,
) -> Result<Grouping, ExecuteError> {
    let mut keys = Vec::new();
    if let Some(row) = compiler.row() {
        keys.push(Compiled::column(Compiler::position(layout, row)?));
        output.push(row);
    }
    for (variable, expression) in &node.keys {
        keys.push(compiler.expression(expression, layout)?);
        output.push(*variable);
    }
    let mut calls = Vec::new();
    for (variable, call) in &node.aggregates {
        let arguments = call.arguments.iter().map(|argument| compiler.expression(argument, layout));
        let arguments = arguments.collect::<Result<_, _>>()?;
        calls.push(Call { function: call.function, distinct: call.distinct, arguments });
        output.push(*variable);
    }
    let every = compiler.inside.as_ref().filter(|_| node.keys.is_empty()).map(|inside| inside.rows.clone());
    let looks_at = looked_at(keys.iter().chain(calls.iter().flat_map(|call: &Call| &call.arguments)));
    Ok(Grouping { single: keys.is_empty(), keys, calls, every, looks_at })
}

pub(crate) fn compile(
    compiler: &mut Compiler,
    node: &plan::algebra::Aggregate,
    feed: Feed,
) -> Result<Stream, ExecuteError> {
    let mut input = compiler.rows(feed)?;
    // Grouping costs less than sharing rows out, unless they are shared out already.
    input.fans_out &= input.parallel;
    let mut layout = Layout::default();
    let plan = Arc::new(grouping(compiler, node, &input.layout, &mut layout)?);
    if let Algorithm::VertexByVertex { key } = compiler.algorithm()
        && compiler.stays_together()
    {
        let environment = compiler.environment.clone();
        let vertex = compiler.vertex("Aggregate", compiler.options(1), move || {
            Breaking::new(Streaming::new(plan.clone(), key), ExecutionContext::new(&environment), 1)
        });
        let parallel = compiler.connect(&input, vertex, 0);
        return Ok(Stream { vertex, output: 0, layout, parallel, ordered: false, fans_out: false });
    }
    let shared: Option<Shared> = (input.parallel && compiler.inside.is_none()).then(Shared::default);
    let (environment, is_shared) = (compiler.environment.clone(), shared.is_some());
    if let Some(shared) = shared.clone() {
        compiler.for_this_run_only();
        let (plan, environment) = (plan.clone(), environment.clone());
        let vertex = compiler.vertex("Aggregate", compiler.options(1), move || {
            let partial = Partial::new(plan.clone(), shared.clone(), true);
            Breaking::new(partial, ExecutionContext::new(&environment), 1)
        });
        compiler.connect(&input, vertex, 0);
        input = Stream { vertex, output: 0, parallel: true, fans_out: false, ..input };
    }
    let options = dataflow::VertexOptions {
        create_if_empty: plan.single || plan.every.is_some() || shared.is_some(),
        ..compiler.options(1)
    };
    let vertex = compiler.vertex("Aggregate", options, move || {
        let partial = Partial::new(plan.clone(), shared.clone().unwrap_or_default(), false);
        Breaking::new(Final::new(partial), ExecutionContext::new(&environment), 1)
    });
    compiler.gather(&input, vertex, 0);
    // Groups of rows that were shared out may be many: then they are on all executors, else at one place.
    let fans_out = input.parallel && !node.keys.is_empty();
    let parallel = fans_out && is_shared;
    Ok(Stream { vertex, output: 0, layout, parallel, ordered: false, fans_out })
}
