//! TypeScript programs.

use std::ffi::OsString;

use super::javascript::{bun_with, deno_with, link_modules, node_loader};
use super::module_system::{Module, module_of};
use crate::error::ExecError;
use crate::plan::{Plan, Planning};

pub(super) fn bun(planning: &Planning<'_>) -> Result<Plan, ExecError> {
    bun_with(planning, "program.ts")
}

pub(super) fn deno(planning: &Planning<'_>) -> Result<Plan, ExecError> {
    deno_with(planning, file_name(module_of(planning.code)))
}

/// Node.js removes the types; from 22.7 on it also translates enums and namespaces.
pub(super) fn node(planning: &Planning<'_>) -> Result<Plan, ExecError> {
    let types = if planning.runtime.version >= Some((22, 7)) {
        "--experimental-transform-types"
    } else {
        "--experimental-strip-types"
    };
    with_node_loader(planning, &[types, "--disable-warning=ExperimentalWarning"])
}

pub(super) fn tsx(planning: &Planning<'_>) -> Result<Plan, ExecError> {
    with_node_loader(planning, &[])
}

fn with_node_loader(planning: &Planning<'_>, flags: &[&str]) -> Result<Plan, ExecError> {
    let module = module_of(planning.code);
    let program = planning.program(file_name(module))?;
    link_modules(planning);
    let mut arguments: Vec<OsString> = flags.iter().map(Into::into).collect();
    arguments.extend(node_loader(planning, module, &program)?);
    arguments.push(program.into());
    Ok(Plan::run(&planning.runtime.path, arguments))
}

fn file_name(module: Module) -> &'static str {
    match module {
        Module::Common => "program.cts",
        Module::Standard => "program.mts",
    }
}
