//! Shell programs.

use std::ffi::OsString;

use crate::error::ExecError;
use crate::plan::{CONTENT_VARIABLE, Plan, Planning};

/// Sourced by bash before the program, which it names in `BASH_ENV`; `$0` and line numbers stay
/// the program's own. `mapfile` is much the fastest way; before bash 4.4 it has no delimiter, and
/// the `x` keeps a substitution from eating trailing newlines.
const BASH_LOADER: &str = r#"unset BASH_ENV
if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 404)); then
  mapfile -d '' QUIETCONTEXT_TEXT < "$QUIETCONTEXT_FILE_CONTENT"
  FILE_CONTENT=${QUIETCONTEXT_TEXT[0]-}
  declare -n file_content=FILE_CONTENT
  unset QUIETCONTEXT_TEXT
else
  FILE_CONTENT=$(cat -- "$QUIETCONTEXT_FILE_CONTENT" && printf x)
  FILE_CONTENT=${FILE_CONTENT%x}
  file_content=$FILE_CONTENT
fi
unset QUIETCONTEXT_FILE_CONTENT
"#;

/// A plain shell has no such hook: the loader sources the program.
const POSIX_LOADER: &str = "FILE_CONTENT=$(cat -- \"$QUIETCONTEXT_FILE_CONTENT\" && printf x)\n\
    FILE_CONTENT=${FILE_CONTENT%x}\n\
    file_content=$FILE_CONTENT\n\
    unset QUIETCONTEXT_FILE_CONTENT\n\
    . \"$1\"\n";

pub(super) fn bash(planning: &Planning<'_>) -> Result<Plan, ExecError> {
    let program = planning.program("program.sh")?;
    let plan = Plan::run(&planning.runtime.path, [program.into()]);
    let Some(content) = planning.content else { return Ok(plan) };
    let loader = planning.write("loader.sh", BASH_LOADER.as_bytes())?;
    Ok(plan.with("BASH_ENV", loader).with(CONTENT_VARIABLE, content))
}

pub(super) fn posix(planning: &Planning<'_>) -> Result<Plan, ExecError> {
    let program = planning.program("program.sh")?;
    let Some(content) = planning.content else {
        return Ok(Plan::run(&planning.runtime.path, [program.into()]));
    };
    let loader = planning.write("loader.sh", POSIX_LOADER.as_bytes())?;
    let arguments: [OsString; 2] = [loader.into(), program.into()];
    Ok(Plan::run(&planning.runtime.path, arguments).with(CONTENT_VARIABLE, content))
}
