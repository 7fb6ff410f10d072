//! Argument: the rows of the enclosing Apply. It is no operator of its own but the next output of the operator that opens the scope.

use crate::ExecuteError;
use crate::compile::Compiler;
use crate::stream::Stream;
use plan::Var;

pub(crate) fn compile(compiler: &mut Compiler, variables: &[Var]) -> Result<Stream, ExecuteError> {
    let outside = || ExecuteError::Plan("an argument stands outside of any sub-query".to_string());
    let inside = compiler.inside.as_mut().ok_or_else(outside)?;
    for variable in variables {
        Compiler::position(&inside.argument.layout, *variable)?;
    }
    let stream = inside.argument.clone();
    inside.argument.output += 1;
    Ok(stream)
}
