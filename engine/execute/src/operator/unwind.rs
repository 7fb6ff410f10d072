//! Unwind: one row for each element of a list. A long list is left and re-entered in the middle; null yields no row, any other value that is no list
//! yields itself. A `range()` is counted, never materialised.

use crate::ExecuteError;
use crate::compile::Compiler;
use crate::drawing::{Draw, Drawing};
use crate::stream::{Feed, Stream};
use crate::turn::{ExecutionContext, FanOut, Progress, Try, Turn};
use expression::Compiled;
use expression::{Counting, counting};
use model::batch::Carried;
use model::{Batch, Column, ColumnBuilder, Nulls, Value};
use plan::VarSet;
use plan::{Expr, Function, Var};
use std::sync::Arc;

struct Unwind {
    list: Arc<Compiled>,
    keep: bool,
    lists: Option<Carried>,
    row: usize,
    element: usize,
    elements: ColumnBuilder,
}

impl FanOut for Unwind {
    fn begin(&mut self, batch: &Batch, execution: &mut ExecutionContext) -> Try<()> {
        self.lists = Some(self.list.evaluate_carried(batch, &execution.scope())?);
        (self.row, self.element) = (0, 0);
        Ok(())
    }
    fn fill(
        &mut self,
        batch: &Batch,
        rows: &mut Vec<u32>,
        rows_max: usize,
        turn: &mut Turn<'_, '_>,
    ) -> Try<Progress> {
        let lists = self.lists.as_ref().expect("a batch was begun");
        while self.row < batch.len() {
            let wanted = turn.wanted(batch, self.row);
            match lists.get(self.row) {
                _ if wanted == 0 => {}
                Value::Null => {}
                Value::List(list) => {
                    let room = wanted.min(rows_max.saturating_sub(rows.len()));
                    let end = list.len().min(self.element.saturating_add(room));
                    rows.extend(std::iter::repeat_n(self.row as u32, end - self.element));
                    if self.keep {
                        list[self.element..end].iter().for_each(|value| self.elements.push(value.clone()));
                    }
                    let is_enough = turn.made(batch, self.row, end - self.element);
                    self.element = end;
                    if end < list.len() && !is_enough {
                        return Ok(Progress::More);
                    }
                }
                single => {
                    rows.push(self.row as u32);
                    if self.keep {
                        self.elements.push(single);
                    }
                    turn.made(batch, self.row, 1);
                }
            }
            (self.row, self.element) = (self.row + 1, 0);
            if rows.len() >= rows_max && self.row < batch.len() {
                return Ok(Progress::More);
            }
        }
        Ok(Progress::Done)
    }
    fn columns(&mut self) -> Vec<Column> {
        if self.keep { vec![std::mem::take(&mut self.elements).finish()] } else { Vec::new() }
    }
}

pub(crate) fn compile(
    compiler: &mut Compiler,
    node: &plan::algebra::Unwind,
    required: &VarSet,
    feed: Feed,
) -> Result<Stream, ExecuteError> {
    attach(compiler, &feed, &node.list, node.variable, required)
}

/// Puts an Unwind of `list` behind a feed.
pub(crate) fn attach(
    compiler: &mut Compiler,
    feed: &Feed,
    list: &Expr,
    variable: Var,
    required: &VarSet,
) -> Result<Stream, ExecuteError> {
    let layout = feed.layout();
    let keep = required.contains(variable);
    let new = if keep { vec![variable] } else { Vec::new() };
    if let Expr::Call(Function::Range, arguments) = list {
        let arguments = arguments.iter().map(|argument| compiler.expression(argument, &layout));
        let arguments = Arc::new(arguments.collect::<Result<Vec<_>, _>>()?);
        let make = move || {
            let arguments = arguments.clone();
            Drawing::new(Count { arguments, keep, numbers: Vec::new() })
        };
        let stream = compiler.attach_fan_out("Unwind", feed, required, &new, make);
        return Ok(Stream { fans_out: false, ..stream });
    }
    let list = Arc::new(compiler.expression(list, &layout)?);
    let make = move || Unwind {
        list: list.clone(),
        keep,
        lists: None,
        row: 0,
        element: 0,
        elements: ColumnBuilder::new(),
    };
    let stream = compiler.attach_fan_out("Unwind", feed, required, &new, make);
    // Elements are cheap and people expect their order: what works on them may share its own output out.
    Ok(Stream { fans_out: false, ..stream })
}

/// Unwinds `range(start, end, step)` without making the list.
struct Count {
    arguments: Arc<Vec<Compiled>>,
    keep: bool,
    numbers: Vec<i64>,
}

impl Draw for Count {
    type Cursor = Counting;

    fn open(&mut self, batch: &Batch, row: usize, turn: &mut Turn<'_, '_>) -> Try<Counting> {
        Ok(counting(&turn.execution.values(&self.arguments, batch, row)?)?)
    }
    fn draw(&mut self, current: &mut Counting, room: usize, _: &mut Turn<'_, '_>) -> Try<(usize, Progress)> {
        let before = current.len();
        for number in current.take(room) {
            if self.keep {
                self.numbers.push(number);
            }
        }
        let taken = (before - current.len()) as usize;
        Ok((taken, if current.len() > 0 { Progress::More } else { Progress::Done }))
    }
    fn columns(&mut self) -> Vec<Column> {
        if self.keep {
            vec![Column::Int(std::mem::take(&mut self.numbers), Nulls::none())]
        } else {
            Vec::new()
        }
    }
}
