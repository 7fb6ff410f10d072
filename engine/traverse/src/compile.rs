//! A [`Traversal`] to a [`Program`]: attaches modulators to their steps, and interprets arguments. Steps that cannot be run are refused here, by
//! name.
//! name of the step.

mod branch;
mod call;
mod carried;
mod change;
mod collect;
mod liveness;
mod modulate;
mod pattern;
mod source;
mod walk;

use carried::{Carried, Expiry};
use liveness::{Around, Mentions};
pub(crate) use pattern::named;

use crate::compiled::Compiled;
use crate::error::{Outcome, TraverseError};
use crate::step::{Body, By, Given, Name, Program, Step};
use gremlin::{Argument, Instruction, Object, Predicate, Token, Traversal};
use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

/// Compiles a traversal.
pub fn compile(traversal: &Traversal) -> Outcome<Compiled> {
    gremlin::check(traversal)?;
    let compiler = Compiler { keeps_path: keeps_path(traversal), ..Compiler::default() };
    let reads_older = liveness::reads_older(&traversal.steps);
    let compiler = Compiler { reads_older, ..compiler };
    compiler.forgets.set(!compiler.keeps_path);
    let mut setting = compiler.setting(&traversal.source)?;
    compiler.source_options(&mut setting, traversal)?;
    let infix = !gremlin::strategies::is_taken_away(&traversal.source, "ConnectiveStrategy");
    let compiler = Compiler { productive: setting.productive_by.clone(), without_infix: !infix, ..compiler };
    let (mut program, origins) = compiler.whole(&traversal.steps)?;
    mark_start(&mut program);
    let (keeps_path, labels_max, writes) =
        (compiler.keeps_path, compiler.labels_max.get(), compiler.writes.get());
    Ok(Compiled { program: Arc::new(program), origins, setting, keeps_path, labels_max, writes })
}

/// A traversal's first step gets a traverser without an object; `inject` does not pass it on.
fn mark_start(program: &mut Program) {
    match program.steps.first_mut() {
        Some(Step::Inject { first, .. }) => *first = true,
        Some(Step::Union(bodies)) => bodies.iter_mut().for_each(|body| mark_start(Arc::make_mut(body))),
        _ => {}
    }
}

/// Are whole paths kept?
fn keeps_path(traversal: &Traversal) -> bool {
    let arguments = || traversal.source.iter().flat_map(|instruction| &instruction.arguments);
    let strategies = arguments().filter_map(|argument| match argument {
        Argument::Strategy(strategy) => Some(&strategy.options),
        _ => None,
    });
    let mut nested = strategies.flatten().filter_map(|(_, option)| option.traversal());
    traversal.source.iter().any(|one| &*one.name == "withPath")
        || liveness::reads_paths(&traversal.steps)
        || nested.any(|nested| liveness::reads_paths(&nested.steps))
}

#[derive(Default)]
struct Compiler {
    keeps_path: bool,
    /// Is an earlier object of a label read, too?
    reads_older: bool,
    /// The lists of instructions around the one that is compiled.
    around: RefCell<Vec<Around>>,
    /// Labels that a traverser may have at this step.
    carried: RefCell<Carried>,
    labels_max: Cell<usize>,
    /// May labels be dropped here: on the main path, not in a nested traversal that only tests?
    forgets: Cell<bool>,
    writes: Cell<bool>,
    /// `ProductiveByStrategy`: every `by` yields something, but for these keys.
    productive: Option<Vec<Name>>,
    /// Are `a.or().b` and `a.and().b` steps of their own, as without `ConnectiveStrategy`?
    without_infix: bool,
}

/// The instructions of one program and the reading position.
struct Reader<'a> {
    instructions: &'a [Instruction],
    at: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<&'a Instruction> {
        self.instructions.get(self.at)
    }
    fn next(&mut self) -> Option<&'a Instruction> {
        let next = self.peek();
        self.at += usize::from(next.is_some());
        next
    }
    /// Takes the instructions that follow now and have this name.
    fn take(&mut self, name: &str) -> Option<&'a Instruction> {
        self.peek().filter(|next| &*next.name == name).inspect(|_| self.at += 1)
    }
}

impl Compiler {
    fn body(&self, traversal: &Traversal) -> Outcome<Body> {
        if let Some(instruction) = traversal.source.first() {
            let message = format!("{} cannot stand in an anonymous traversal", instruction.name);
            return Err(TraverseError::arguments(message, instruction.span));
        }
        let forgets = self.forgets.replace(false);
        let program = self.program(&traversal.steps);
        self.forgets.set(forgets);
        Ok(Arc::new(program?))
    }
    /// The body of a loop, which is part of the main path.
    fn round(&self, traversal: &Traversal) -> Outcome<Body> {
        Ok(Arc::new(self.program(&traversal.steps)?))
    }

    fn program(&self, instructions: &[Instruction]) -> Outcome<Program> {
        self.whole(instructions).map(|(program, _)| program)
    }
    /// A program, and of which instructions each of its steps was made.
    fn whole(&self, instructions: &[Instruction]) -> Outcome<(Program, Vec<Range<usize>>)> {
        if !self.without_infix
            && let Some(program) = self.infix(instructions)?
        {
            let origins = vec![0..instructions.len(); program.steps.len()];
            return Ok((program, origins));
        }
        let left_out = liveness::counted(instructions);
        if left_out.is_empty() {
            return self.steps(instructions);
        }
        let places: Vec<usize> = (0..instructions.len()).filter(|at| !left_out.contains(at)).collect();
        let needed: Vec<Instruction> = places.iter().map(|at| instructions[*at].clone()).collect();
        let (program, mut origins) = self.steps(&needed)?;
        for origin in &mut origins {
            *origin = places[origin.start]..places[origin.end - 1] + 1;
        }
        Ok((program, origins))
    }
    fn steps(&self, instructions: &[Instruction]) -> Outcome<(Program, Vec<Range<usize>>)> {
        let mentions = Rc::new(Mentions::of(instructions));
        let (mut reader, mut expiry) = (Reader { instructions, at: 0 }, Expiry::default());
        let (mut steps, mut origins) = (Vec::new(), Vec::new());
        loop {
            let from = reader.at;
            let Some(instruction) = reader.next() else { break };
            self.around.borrow_mut().push((mentions.clone(), from));
            let outcome = self.step(instruction, &mut reader, &mut steps);
            self.around.borrow_mut().pop();
            outcome?;
            if &*instruction.name == "match" {
                let mut bound = Vec::new();
                liveness::bound_by(instruction, &mut bound);
                self.carried.borrow_mut().extend(bound);
            }
            self.forget(&mut expiry, &mentions, reader.at, &mut steps);
            origins.resize(steps.len(), from..reader.at);
        }
        Ok((program_of(steps), origins))
    }
    /// Is a label read from where the lists stand that are compiled now, innermost last?
    fn is_read(&self, label: &Name) -> bool {
        self.around.borrow().iter().any(|(around, at)| around.reads_from(label, *at))
    }
    /// Forgets the labels that nothing reads from an instruction of a list on.
    fn forget(&self, expiry: &mut Expiry, mentions: &Mentions, from: usize, steps: &mut Vec<Step>) {
        let mut carried = self.carried.borrow_mut();
        self.labels_max.set(self.labels_max.get().max(carried.len()));
        if !self.forgets.get() {
            return;
        }
        let last = |label: &Name| if self.is_read(label) { None } else { Some(mentions.last(label)) };
        let forgotten = expiry.advance(&mut carried, from, last);
        if !forgotten.is_empty() {
            steps.push(Step::Forget(forgotten));
        }
    }
    /// `as`: the labels that are read later, all where paths are read.
    fn labels(&self, instruction: &Instruction, steps: &mut Vec<Step>) -> Outcome<Step> {
        let mut labels = texts(instruction, 0)?;
        if !self.keeps_path {
            labels.retain(|label| self.is_read(label));
        }
        // what a label stood for in an earlier round
        if self.forgets.get() && !self.reads_older && self.around.borrow().len() > 1 && !labels.is_empty() {
            steps.push(Step::Forget(labels.clone()));
        }
        self.carried.borrow_mut().extend(labels.iter().cloned());
        Ok(if labels.is_empty() { Step::Identity } else { Step::As(labels) })
    }

    /// `a.or().b`, `a.and().b`: `or` binds less than `and`.
    fn infix(&self, instructions: &[Instruction]) -> Outcome<Option<Program>> {
        let is_joined = |one: &Instruction| matches!(&*one.name, "or" | "and") && one.arguments.is_empty();
        if !instructions.iter().any(is_joined) {
            return Ok(None);
        }
        self.around.borrow_mut().push((Rc::new(Mentions::of(instructions)), 0));
        let outcome = self.joined_infix(instructions);
        self.around.borrow_mut().pop();
        outcome
    }
    fn joined_infix(&self, instructions: &[Instruction]) -> Outcome<Option<Program>> {
        for word in ["or", "and"] {
            let is_infix = |at: &usize| {
                let instruction = &instructions[*at];
                &*instruction.name == word && instruction.arguments.is_empty()
            };
            let Some(at) = (0..instructions.len()).find(is_infix) else { continue };
            // what comes before the filters that are joined stays outside: a leading V() or as()
            let leading =
                instructions[..at].iter().take_while(|one| matches!(&*one.name, "V" | "E" | "inject" | "as"));
            let from = leading.count();
            let parts = instructions[from..].split(|one| &*one.name == word && one.arguments.is_empty());
            let bodies = parts.map(|part| self.program(part).map(Arc::new)).collect::<Outcome<Vec<_>>>()?;
            let mut steps = self.program(&instructions[..from])?.steps;
            steps.push(if word == "or" { Step::Or(bodies) } else { Step::And(bodies) });
            return Ok(Some(program_of(steps)));
        }
        Ok(None)
    }

    fn step(&self, instruction: &Instruction, reader: &mut Reader<'_>, steps: &mut Vec<Step>) -> Outcome<()> {
        let found = match self.walk(instruction, reader, steps)? {
            Some(step) => Some(step),
            None => match self.collect(instruction, reader)? {
                Some(step) => Some(step),
                None => match self.branch(instruction, reader)? {
                    Some(step) => Some(step),
                    None => self.change(instruction, reader, steps)?,
                },
            },
        };
        match found {
            Some(step) => steps.push(step),
            None => return Err(not_here(instruction)),
        }
        Ok(())
    }

    fn writing(&self) {
        self.writes.set(true);
    }
    fn given(&self, argument: &Argument) -> Outcome<Given> {
        match argument {
            Argument::Value(value) => Ok(Given::Value(value.clone())),
            Argument::Traversal(nested) => Ok(Given::Body(self.body(nested)?)),
            _ => Err(TraverseError::arguments("a value or a traversal is wanted", gremlin::Span::default())),
        }
    }
    fn nested(&self, instruction: &Instruction, at: usize) -> Outcome<Body> {
        match instruction.arguments.get(at) {
            Some(Argument::Traversal(nested)) => self.body(nested),
            _ => Err(wants(instruction, "a traversal")),
        }
    }
    /// A traversal, or a predicate as `is(…)`.
    fn test(&self, instruction: &Instruction, at: usize) -> Outcome<Body> {
        match instruction.arguments.get(at) {
            Some(Argument::Traversal(nested)) => self.body(nested),
            Some(Argument::Predicate(predicate)) => {
                Ok(Arc::new(program_of(vec![Step::Is(predicate.clone())])))
            }
            Some(Argument::Value(Object::Token(token))) if token.class() == "T" => {
                Ok(Arc::new(program_of(vec![by_step(By::Token(*token))])))
            }
            _ => Err(wants(instruction, "a traversal or a predicate")),
        }
    }
}

fn program_of(steps: Vec<Step>) -> Program {
    let gathers = steps.iter().any(gathers);
    Program { steps, gathers }
}

/// Does a step wait for all its input?
fn gathers(step: &Step) -> bool {
    let within = match step {
        Step::Union(bodies) => bodies.iter().any(|body| body.gathers),
        Step::Choose { options, .. } => options.iter().any(|(_, body)| body.gathers),
        Step::Repeat(repeat) => repeat.body.waits(),
        _ => false,
    };
    within
        || matches!(
            step,
            Step::Tail(_)
                | Step::Sample { .. }
                | Step::Order(_)
                | Step::Reduce(_)
                | Step::Fold(_)
                | Step::Group { .. }
                | Step::GroupCount { .. }
                | Step::Tree { .. }
                | Step::Barrier { .. }
                | Step::Cap(_)
                | Step::Aggregate { eager: true, .. }
        )
}

/// A modulator as a step of its own.
fn by_step(by: By) -> Step {
    Step::Modulated(by)
}

fn wants(instruction: &Instruction, what: &str) -> TraverseError {
    TraverseError::arguments(format!("the step {} wants {what}", instruction.name), instruction.span)
}

fn not_here(instruction: &Instruction) -> TraverseError {
    let message = format!("the step {} cannot stand here", instruction.name);
    TraverseError::arguments(message, instruction.span)
}

fn text(instruction: &Instruction, at: usize) -> Outcome<Name> {
    match instruction.arguments.get(at) {
        Some(Argument::Value(Object::String(text))) => Ok(text.clone()),
        _ => Err(wants(instruction, "a text")),
    }
}

/// All arguments from one on, as texts; a list of texts counts as its elements.
fn texts(instruction: &Instruction, from: usize) -> Outcome<Vec<Name>> {
    let mut found = Vec::new();
    for argument in &instruction.arguments[from.min(instruction.arguments.len())..] {
        match argument {
            Argument::Value(Object::String(text)) => found.push(text.clone()),
            Argument::Value(Object::Null) => {}
            _ => return Err(wants(instruction, "texts")),
        }
    }
    Ok(found)
}

fn whole(instruction: &Instruction, at: usize) -> Outcome<i64> {
    let value = instruction.arguments.get(at).and_then(Argument::value).and_then(Object::as_long);
    value.ok_or_else(|| wants(instruction, "a whole number"))
}

/// Is the first argument `Scope.local` (or `global`)? And how many arguments it takes.
fn scope(instruction: &Instruction) -> (bool, usize) {
    match instruction.arguments.first() {
        Some(Argument::Value(Object::Token(Token::Local))) => (true, 1),
        Some(Argument::Value(Object::Token(Token::Global))) => (false, 1),
        _ => (false, 0),
    }
}

/// A predicate, or the one that a value equals.
fn predicate_of(argument: &Argument) -> Option<Predicate> {
    match argument {
        Argument::Predicate(predicate) => Some(predicate.clone()),
        Argument::Value(value) => Some(Predicate::eq(value.clone())),
        _ => None,
    }
}
