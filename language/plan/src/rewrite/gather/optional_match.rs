//! Rewrite `optional_match`: an optional `Match` becomes an `Apply` that keeps its row, over a plain `Match`.
//!
//! Sound by definition: the inner pattern starts from the row's bound variables, and its WHERE belongs inside. After it, no
//! other rewrite needs to know about optional patterns. Cost: none; `execute` runs an `Apply` for whole batches of rows.

use crate::algebra::*;
use crate::expr::Var;
use crate::vars::Vars;

/// Replaces optional matches everywhere in the plan (not within expressions; `lift_subqueries` calls this for those).
pub(crate) fn optional_match(plan: &mut Plan) {
    let mut at = plan;
    loop {
        replace(at);
        match at {
            Plan::Apply(_) | Plan::Merge(_) | Plan::ForEach(_) | Plan::Join(_) | Plan::Union(_) => {
                return at.children_mut().into_iter().for_each(optional_match);
            }
            line => match line.input_mut() {
                Some(input) => at = input,
                None => return,
            },
        }
    }
}

fn replace(plan: &mut Plan) {
    let Plan::Match(node) = plan else { return };
    if !node.optional {
        return;
    }
    let input = node.input.take();
    let bound = input.columns();
    let mut used: Vars = plan.makes();
    let new: Vec<Var> = used.iter().copied().filter(|var| !bound.contains(var)).collect();
    used.extend(plan.reads());
    let imports: Vec<Var> = used.into_iter().filter(|var| bound.contains(var)).collect();
    if let Plan::Match(node) = plan {
        node.input = Plan::Argument(imports.clone());
        node.optional = false;
    }
    let apply = Apply {
        input,
        inner: plan.take(),
        imports,
        kind: ApplyKind::Optional(new),
        scope: Default::default(),
        rank: None,
    };
    *plan = Plan::Apply(Box::new(apply));
}
