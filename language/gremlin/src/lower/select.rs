//! Labels and projections of one traverser: `as`, `select`, `project`, `values`, `unfold` and their kin.

use super::visible_columns::VisibleColumns;
use super::{At, Lowering, Reader, Shape, is_there, property, test};
use crate::object::Object;
use crate::token::Token;
use crate::traversal::{Argument, Instruction};
use plan::Expr;
use plan::algebra::Unwind;

impl<'t> Lowering<'t> {
    pub(super) fn label(&mut self, at: At, step: &'t Instruction) -> Option<At> {
        let names = test::names(&step.arguments)?;
        if matches!(at, At::Way | At::Groups(..)) {
            return None;
        }
        if let Some(met) = self.way.as_mut().and_then(|way| way.last_mut()) {
            met.labels.extend(names.iter().cloned());
        }
        for name in names {
            // a label that stands for several objects of the way
            let is_new = self.label_names.insert(name.clone());
            if !is_new && self.labels.iter().any(|(known, _)| *known == name) {
                return None;
            }
            self.labels.push((name, at.clone()));
        }
        Some(at)
    }

    /// A step from one object to one other, or none.
    pub(super) fn shown(&mut self, at: At, step: &'t Instruction, reader: &mut Reader<'t>) -> Option<At> {
        let next = match (&*step.name, step.arguments.as_slice()) {
            ("values", [Argument::Value(Object::String(key))]) => {
                let (At::Vertex(subject) | At::Edge(subject, ..)) = at else { return None };
                let value = property(Expr::Variable(subject), key);
                let uniform = self.uniform.contains(&value);
                let seen =
                    VisibleColumns { expr: value, shape: self.shape_of(key), vertex: false, lacks: true };
                let place = self.present(seen);
                if uniform {
                    self.uniform.push(Expr::Variable(place.columns()[0]));
                }
                place
            }
            ("select", _) => self.select(&at, step, reader)?,
            ("project", _) => self.project(&at, step, reader)?,
            ("unfold", []) => self.unfold(at)?,
            ("id" | "constant" | "math", _) | ("count", [_]) => {
                let steps = &reader.steps[reader.at - 1..reader.at];
                let modulated = reader.peek().is_some_and(|next| &*next.name == "by");
                let seen = self.simple(&at, steps).filter(|_| !modulated)?;
                self.present(seen)
            }
            ("map", [Argument::Traversal(_)]) => {
                let seen = self.seen(&at, &step.arguments)?;
                self.present(seen)
            }
            _ => return None,
        };
        self.moved(next)
    }

    /// `select(labels)` and `select(column)`, with modulators: one label is its object, several are a map.
    fn select(&mut self, at: &At, step: &'t Instruction, reader: &mut Reader<'t>) -> Option<At> {
        if let ([Argument::Value(Object::Token(token))], At::Entry(key, value)) =
            (step.arguments.as_slice(), at)
        {
            return match token {
                Token::Keys => Some((**key).clone()),
                Token::Values => Some((**value).clone()),
                _ => None,
            };
        }
        let labels = test::names(&step.arguments)?;
        let bys = reader.bys();
        let mut parts = Vec::new();
        for (place, label) in labels.iter().enumerate() {
            if labels[..place].contains(label) {
                return None;
            }
            let stands = match at {
                At::Record(parts) if parts.iter().any(|(name, _)| name == label) => {
                    // what a label of the same name stands for comes second: it is told only where the entry is absent
                    let (_, part) = parts.iter().find(|(name, _)| name == label)?;
                    if self.may_lack(part) && self.stands_for(label).is_some() {
                        return None;
                    }
                    if let At::Value(column, _) = part
                        && !self.sure.contains(column)
                    {
                        self.filter(is_there(Expr::Variable(*column)));
                    }
                    part.clone()
                }
                _ => self.stands_for(label)?.clone(),
            };
            let by = if bys.is_empty() { &[][..] } else { bys[place % bys.len()] };
            let shown = match by {
                [] => stands,
                by => {
                    let seen = self.seen(&stands, by)?;
                    self.present(seen)
                }
            };
            parts.push((label.clone(), shown));
        }
        match parts.len() {
            0 => None,
            1 => Some(parts.remove(0).1),
            _ => Some(At::Record(parts)),
        }
    }

    fn project(&mut self, at: &At, step: &'t Instruction, reader: &mut Reader<'t>) -> Option<At> {
        let names = test::names(&step.arguments)?;
        let bys = reader.bys();
        let differ = names.iter().enumerate().all(|(place, name)| !names[..place].contains(name));
        let mut seen = Vec::new();
        let mut kept = Vec::new();
        for place in 0..names.len() {
            let by = if bys.is_empty() { &[][..] } else { bys[place % bys.len()] };
            // an element as it is keeps what can be asked of it
            match by {
                [] => kept.push(Some(at.clone())),
                by => {
                    kept.push(None);
                    seen.push(self.seen(at, by)?);
                }
            }
        }
        if matches!(at, At::Entry(..) | At::Groups(..) | At::Way) && kept.iter().any(Option::is_some) {
            return None;
        }
        let mut placed = self.placed(seen).into_iter();
        let parts =
            kept.into_iter().map(|kept| kept.or_else(|| placed.next())).collect::<Option<Vec<_>>>()?;
        differ.then(|| At::Record(names.into_iter().zip(parts).collect()))
    }

    fn unfold(&mut self, at: At) -> Option<At> {
        match at {
            At::Groups(key, value) => Some(At::Entry(key, value)),
            At::Value(list, Shape::List(shape)) => {
                let variable = self.fresh("element");
                let input = self.take();
                let list = Expr::Variable(list);
                self.plan = plan::Plan::Unwind(Box::new(Unwind { input, list, variable }));
                self.single = false;
                self.disturbed = true;
                match *shape {
                    Shape::Record(parts) => {
                        let items = parts.into_iter().enumerate().map(|(place, (name, shape))| {
                            let column = self.fresh("part");
                            let index = super::integer(place as i64);
                            let part = Expr::Index(Box::new(Expr::Variable(variable)), Box::new(index));
                            ((column, part), (name, At::Value(column, shape)))
                        });
                        let (items, parts) = items.unzip();
                        self.extend(items);
                        Some(At::Record(parts))
                    }
                    shape => {
                        self.sure.push(variable);
                        Some(At::Value(variable, shape))
                    }
                }
            }
            _ => None,
        }
    }
}
