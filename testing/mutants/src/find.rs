//! Small changes of a program: where they are, and their kinds.
//!
//! The kinds are those of `cargo-mutants`: a function returns a plain value of its type at once; an operator becomes another; a `!` or `-` goes;
//! a guard of a match is always true or always false; an arm goes where another catches all. Bodies of macros, tests, `Debug` and the argument of
//! `with_capacity` are left alone.

use crate::values;
use proc_macro2::Span;
use std::ops::Range;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, BinOp, Expr, Pat, ReturnType, UnOp};

/// The kind of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The expression is this text instead.
    Expression(String),
    /// The function returns this text before its first statement.
    Return(String),
    /// The arm of a match is never taken; behind its pattern stands a guard, or not.
    NoArm,
}

/// One change.
#[derive(Clone, Debug)]
pub struct Mutant {
    /// File within the tree, line, column and change.
    pub name: String,
    /// The file within the tree.
    pub file: String,
    /// The change and its function, without the position.
    pub change: String,
    /// The line where it begins, trimmed, and the column within that, from 1.
    pub line: String,
    /// See `line`.
    pub column: usize,
    /// Bytes of the file: the expression, the statements, or the guard (or the place where it would begin).
    pub range: Range<usize>,
    /// The kind of the change.
    pub kind: Kind,
    /// Bytes of the whole arm that goes.
    pub arm: Range<usize>,
    /// It stands where no function may be called, so it is not switched but written.
    pub is_constant: bool,
}

/// All changes of a file.
///
/// # Errors
/// It is no Rust.
pub fn mutants(file: &str, text: &str) -> Result<Vec<Mutant>, String> {
    let parsed = syn::parse_file(text).map_err(|error| format!("{file}: {error}"))?;
    if is_test(&parsed.attrs) {
        return Ok(Vec::new());
    }
    let mut finder = Finder { file, text, found: Vec::new(), constant: 0, within: Vec::new() };
    finder.visit_file(&parsed);
    Ok(finder.found)
}

/// Modules in files of their own that are only built for tests: name, and the path where one is given.
pub fn test_modules(text: &str) -> Vec<(String, Option<String>)> {
    let Ok(parsed) = syn::parse_file(text) else { return Vec::new() };
    let modules = parsed.items.iter().filter_map(|item| match item {
        syn::Item::Mod(module) if module.content.is_none() && is_test(&module.attrs) => Some(module),
        _ => None,
    });
    modules.map(|module| (module.ident.to_string(), path_of(&module.attrs))).collect()
}

fn path_of(attributes: &[Attribute]) -> Option<String> {
    attributes.iter().find_map(|attribute| match &attribute.meta {
        syn::Meta::NameValue(pair) if pair.path.is_ident("path") => match &pair.value {
            Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(path), .. }) => Some(path.value()),
            _ => None,
        },
        _ => None,
    })
}

/// `#[test]`, or an item that is only built for tests or on other systems.
fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let path = attribute.path();
        let only = match &attribute.meta {
            syn::Meta::List(list) => {
                let condition = list.tokens.to_string().replace(' ', "");
                condition == "test" || condition == format!("not(target_os=\"{}\")", std::env::consts::OS)
            }
            _ => false,
        };
        path.is_ident("test") || (path.is_ident("cfg") && only)
    })
}

struct Finder<'a> {
    file: &'a str,
    text: &'a str,
    found: Vec<Mutant>,
    /// Depth of constant contexts around the current node.
    constant: usize,
    /// Names of the functions and types around.
    within: Vec<String>,
}

impl Finder<'_> {
    fn add(&mut self, at: Span, range: Range<usize>, kind: Kind, what: &str) {
        let begin = at.start();
        let change = format!("{what} in {}", self.within.join("::"));
        let name = format!("{}:{}:{}: {change}", self.file, begin.line, begin.column + 1);
        let (file, is_constant) = (self.file.to_string(), self.constant > 0);
        let whole = self.text.lines().nth(begin.line - 1).unwrap_or_default();
        let indented = whole.chars().take_while(|letter| letter.is_whitespace()).count();
        let (line, column) = (whole.trim().to_string(), begin.column - indented + 1);
        let arm = range.clone();
        self.found.push(Mutant { name, file, change, line, column, arm, range, kind, is_constant });
    }
    fn slice(&self, at: Span) -> &str {
        &self.text[at.byte_range()]
    }
    fn constantly(&mut self, work: impl FnOnce(&mut Self)) {
        self.constant += 1;
        work(self);
        self.constant -= 1;
    }
    fn named(&mut self, name: String, work: impl FnOnce(&mut Self)) {
        self.within.push(name);
        work(self);
        self.within.pop();
    }

    fn function(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let is_constant = signature.constness.is_some();
        self.constant += usize::from(is_constant);
        self.within.push(signature.ident.to_string());
        if let (Some(first), Some(last)) = (block.stmts.first(), block.stmts.last())
            && signature.unsafety.is_none()
        {
            let range = first.span().byte_range().start..last.span().byte_range().end;
            let body = self.text[range.clone()].trim().to_string();
            let values = match &signature.output {
                ReturnType::Default => vec!["()".to_string()],
                ReturnType::Type(_, kind) => values::of(kind),
            };
            // A body that only names what it does not use, and then the value, is that value.
            let is_idle = |statement: &syn::Stmt| matches!(statement, syn::Stmt::Local(local) if matches!(local.pat, Pat::Wild(_)));
            let rest = block.stmts.split_last().map_or(&[][..], |(_, rest)| rest);
            let own = match rest.iter().all(is_idle) {
                true => self.slice(last.span()).trim().to_string(),
                false => body,
            };
            for value in values.into_iter().filter(|value| *value != own) {
                let what = format!("return {value} at once");
                self.add(first.span(), range.clone(), Kind::Return(value), &what);
            }
        }
        visit::visit_block(self, block);
        self.within.pop();
        self.constant -= usize::from(is_constant);
    }

    fn binary(&mut self, binary: &syn::ExprBinary) {
        if has_let(&binary.left) || has_let(&binary.right) {
            return;
        }
        let old = self.slice(binary.op.span()).to_string();
        for new in others(&binary.op) {
            let (left, right) = (self.slice(binary.left.span()), self.slice(binary.right.span()));
            let kind = Kind::Expression(format!("({left}) {new} ({right})"));
            let what = format!("{old} becomes {new}");
            self.add(binary.op.span(), binary.span().byte_range(), kind, &what);
        }
    }

    fn arms(&mut self, expression: &syn::ExprMatch) {
        let catches_all = |arm: &syn::Arm| matches!(arm.pat, Pat::Wild(_)) && arm.guard.is_none();
        let some_catches = expression.arms.len() > 1 && expression.arms.iter().any(catches_all);
        for arm in &expression.arms {
            let behind = arm.pat.span().byte_range().end;
            let guard = arm.guard.as_ref().map(|(_, guard)| guard);
            if some_catches && !catches_all(arm) {
                let range = guard.map_or(behind..behind, |guard| guard.span().byte_range());
                self.add(arm.pat.span(), range, Kind::NoArm, "the arm goes");
                if let Some(last) = self.found.last_mut() {
                    last.arm = arm.span().byte_range();
                }
            }
            for value in ["true", "false"] {
                let Some(guard) = guard.filter(|guard| !has_let(guard)) else { continue };
                let kind = Kind::Expression(value.into());
                self.add(guard.span(), guard.span().byte_range(), kind, &format!("the guard is {value}"));
            }
        }
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if !is_test(&item.attrs) {
            self.function(&item.sig, &item.block);
        }
    }
    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !is_test(&item.attrs) {
            self.function(&item.sig, &item.block);
        }
    }
    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.function(&item.sig, block);
        }
    }
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_test(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }
    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let of = item.trait_.as_ref().and_then(|(_, path, _)| path.segments.last());
        let of = of.map(|segment| segment.ident.to_string());
        if is_test(&item.attrs) || of.as_deref() == Some("Debug") || of.as_deref() == Some("Default") {
            return;
        }
        let own = self.slice(item.self_ty.span()).to_string();
        let name = of.map_or(own.clone(), |of| format!("<{own} as {of}>"));
        self.named(name, |finder| visit::visit_item_impl(finder, item));
    }
    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        let name = item.ident.to_string();
        self.named(name, |finder| finder.constantly(|finder| visit::visit_item_const(finder, item)));
    }
    fn visit_impl_item_const(&mut self, item: &'ast syn::ImplItemConst) {
        let name = item.ident.to_string();
        self.named(name, |finder| finder.constantly(|finder| visit::visit_impl_item_const(finder, item)));
    }
    fn visit_item_static(&mut self, item: &'ast syn::ItemStatic) {
        let name = item.ident.to_string();
        self.named(name, |finder| finder.constantly(|finder| visit::visit_item_static(finder, item)));
    }
    fn visit_expr_repeat(&mut self, repeat: &'ast syn::ExprRepeat) {
        self.visit_expr(&repeat.expr);
        self.constantly(|finder| finder.visit_expr(&repeat.len));
    }
    fn visit_expr_const(&mut self, block: &'ast syn::ExprConst) {
        self.constantly(|finder| visit::visit_expr_const(finder, block));
    }
    fn visit_expr_binary(&mut self, binary: &'ast syn::ExprBinary) {
        self.binary(binary);
        visit::visit_expr_binary(self, binary);
    }
    fn visit_expr_unary(&mut self, unary: &'ast syn::ExprUnary) {
        let what = match unary.op {
            UnOp::Not(_) => "! goes",
            UnOp::Neg(_) => "- goes",
            _ => "",
        };
        if !what.is_empty() && !has_let(&unary.expr) {
            let kind = Kind::Expression(self.slice(unary.expr.span()).to_string());
            self.add(unary.op.span(), unary.span().byte_range(), kind, what);
        }
        visit::visit_expr_unary(self, unary);
    }
    /// How much room is made at first is no behaviour.
    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        let of = match &*call.func {
            Expr::Path(path) => path.path.segments.last(),
            _ => None,
        };
        if of.is_none_or(|of| of.ident != "with_capacity") {
            visit::visit_expr_call(self, call);
        }
    }
    fn visit_expr_match(&mut self, expression: &'ast syn::ExprMatch) {
        self.arms(expression);
        visit::visit_expr_match(self, expression);
    }
    // Nothing in these is computed while the program runs.
    fn visit_pat(&mut self, _: &'ast Pat) {}
    fn visit_type(&mut self, _: &'ast syn::Type) {}
    fn visit_generic_argument(&mut self, _: &'ast syn::GenericArgument) {}
    fn visit_generics(&mut self, _: &'ast syn::Generics) {}
    fn visit_variant(&mut self, _: &'ast syn::Variant) {}
    fn visit_attribute(&mut self, _: &'ast Attribute) {}
}

/// Is this a link of a chain with `let`? Only `&&` may join those.
fn has_let(expression: &Expr) -> bool {
    match expression {
        Expr::Let(_) => true,
        Expr::Binary(binary) => has_let(&binary.left) || has_let(&binary.right),
        _ => false,
    }
}

/// The operators that replace this one.
fn others(operator: &BinOp) -> &'static [&'static str] {
    match operator {
        BinOp::Eq(_) => &["!="],
        BinOp::Ne(_) => &["=="],
        BinOp::And(_) => &["||"],
        BinOp::Or(_) => &["&&"],
        BinOp::Lt(_) => &["==", ">", "<="],
        BinOp::Gt(_) => &["==", "<", ">="],
        BinOp::Le(_) => &[">"],
        BinOp::Ge(_) => &["<"],
        BinOp::Add(_) => &["-", "*"],
        BinOp::Sub(_) => &["+", "/"],
        BinOp::Mul(_) => &["+", "/"],
        BinOp::Div(_) => &["%", "*"],
        BinOp::Rem(_) => &["/", "+"],
        BinOp::Shl(_) => &[">>"],
        BinOp::Shr(_) => &["<<"],
        BinOp::BitAnd(_) => &["|", "^"],
        BinOp::BitOr(_) => &["&", "^"],
        BinOp::BitXor(_) => &["|", "&"],
        BinOp::AddAssign(_) => &["-=", "*="],
        BinOp::SubAssign(_) => &["+=", "/="],
        BinOp::MulAssign(_) => &["+=", "/="],
        BinOp::DivAssign(_) => &["%=", "*="],
        BinOp::RemAssign(_) => &["/=", "+="],
        BinOp::ShlAssign(_) => &[">>="],
        BinOp::ShrAssign(_) => &["<<="],
        BinOp::BitAndAssign(_) => &["|=", "^="],
        BinOp::BitOrAssign(_) => &["&=", "^="],
        BinOp::BitXorAssign(_) => &["|=", "&="],
        _ => &[],
    }
}
