//! JavaScript programs: which module system, and what makes `require` and `import` work together.

use std::ffi::OsString;
use std::path::Path;

use super::module_system::{Module, module_of};
use super::relative::{bun_source, deno_map, node_source, relative_modules, required_source};
use super::words::has_word;
use std::fmt::{self, Write as _};

use crate::error::ExecError;
use crate::plan::{CONTENT_VARIABLE, Plan, Planning};

/// Appends formatted text; writing to a string cannot fail.
trait Add {
    fn add(&mut self, text: fmt::Arguments<'_>);
}

impl Add for String {
    fn add(&mut self, text: fmt::Arguments<'_>) {
        let _ = self.write_fmt(text);
    }
}

pub(super) fn node(planning: &Planning<'_>) -> Result<Plan, ExecError> {
    let module = module_of(planning.code);
    let program = planning.program(match module {
        Module::Common => "program.cjs",
        Module::Standard => "program.mjs",
    })?;
    link_modules(planning);
    let arguments = node_loader(planning, module, &program)?;
    Ok(Plan::run(&planning.runtime.path, arguments.into_iter().chain([program.into()])))
}

/// Bun takes both systems in one file.
pub(super) fn bun(planning: &Planning<'_>) -> Result<Plan, ExecError> {
    bun_with(planning, "program.js")
}

pub(super) fn deno(planning: &Planning<'_>) -> Result<Plan, ExecError> {
    deno_with(
        planning,
        match module_of(planning.code) {
            Module::Common => "program.cjs",
            Module::Standard => "program.mjs",
        },
    )
}

pub(super) fn bun_with(planning: &Planning<'_>, name: &str) -> Result<Plan, ExecError> {
    let program = planning.program(name)?;
    link_modules(planning);
    let mut arguments: Vec<OsString> = vec!["run".into(), "--no-install".into()];
    let mut source = planning.content.map(content_source).unwrap_or_default();
    if !relative_modules(planning.code).is_empty() {
        source.push_str(&bun_source(planning, &program));
    }
    if !source.is_empty() {
        let loader = planning.write("loader.cjs", source.as_bytes())?;
        arguments.extend(["--preload".into(), loader.into()]);
    }
    arguments.push(program.into());
    Ok(Plan::run(&planning.runtime.path, arguments))
}

/// Deno has no preload in every version: where one is needed, a first module loads the program.
pub(super) fn deno_with(planning: &Planning<'_>, name: &str) -> Result<Plan, ExecError> {
    let program = planning.program(name)?;
    link_modules(planning);
    let mut source = String::new();
    let mut arguments: Vec<OsString> =
        ["run", "--allow-all", "--no-prompt", "--quiet", "--no-lock"].map(Into::into).to_vec();
    let base = quoted(&planning.cwd.join("program"));
    let common = name.contains(".c");
    if !relative_modules(planning.code).is_empty() {
        if common {
            source.push_str("import Module from 'node:module';\n");
            source.push_str(&required_source(&base, &quoted(&program)));
        }
        deno_map(planning, name)?;
        arguments.extend(["--import-map".into(), planning.stage.join("imports.json").into()]);
    }
    if has_word(planning.code, "require") && !common {
        source.push_str("import { createRequire } from 'node:module';\n");
        source.add(format_args!("globalThis.require = createRequire({base});\n"));
    }
    if let Some(content) = planning.content {
        source.push_str("import { readFileSync } from 'node:fs';\n");
        let text = format!("readFileSync({}, 'utf8')", quoted(content));
        source.add(format_args!("globalThis.FILE_CONTENT = globalThis.file_content = {text};\n"));
    }
    if source.is_empty() {
        arguments.push(program.into());
    } else {
        source.add(format_args!("await import('./{name}');\n"));
        arguments.push(planning.write("loader.mjs", source.as_bytes())?.into());
    }
    Ok(Plan::run(&planning.runtime.path, arguments).with("DENO_NO_UPDATE_CHECK", "1"))
}

/// Arguments that load what the program needs and its module system lacks; often none.
pub(super) fn node_loader(
    planning: &Planning<'_>,
    module: Module,
    program: &Path,
) -> Result<Vec<OsString>, ExecError> {
    let mut source = String::new();
    if let Some(content) = planning.content {
        source.push_str(&content_source(content));
    }
    let cwd = quoted(&planning.cwd.join("program"));
    if module == Module::Standard && has_word(planning.code, "require") {
        source.add(format_args!(
            "globalThis.require = require('node:module').createRequire({cwd});\n"
        ));
        // A program in the older style that only awaits on top finds its other names as well.
        for (name, value) in [
            ("module", "{ exports: {} }"),
            ("exports", "{}"),
            ("__filename", quoted(program).as_str()),
            ("__dirname", quoted(planning.stage).as_str()),
        ] {
            if has_word(planning.code, name) {
                source.add(format_args!("globalThis.{name} = {value};\n"));
            }
        }
        source.push_str("if (globalThis.module) globalThis.require.main = globalThis.module;\n");
    }
    if !relative_modules(planning.code).is_empty() {
        source.push_str(&node_source(&cwd, &quoted(program)));
    }
    if source.is_empty() {
        return Ok(Vec::new());
    }
    let loader = planning.write("loader.cjs", format!("'use strict';\n{source}").as_bytes())?;
    Ok(vec!["--require".into(), loader.into()])
}

/// Packages are found upwards from the program's file, which is not in the project.
pub(super) fn link_modules(planning: &Planning<'_>) {
    let modules = planning.cwd.ancestors().map(|directory| directory.join("node_modules"));
    if let Some(found) = modules.into_iter().find(|directory| directory.is_dir()) {
        drop(std::os::unix::fs::symlink(found, planning.disk.join("node_modules")));
    }
}

fn content_source(content: &Path) -> String {
    let path = quoted(content);
    format!(
        "globalThis.FILE_CONTENT = globalThis.file_content = \
         require('node:fs').readFileSync({path}, 'utf8');\n\
         delete process.env.{CONTENT_VARIABLE};\n"
    )
}

/// A path as a JavaScript string.
pub(super) fn quoted(path: &Path) -> String {
    let mut out = String::from("\"");
    for character in path.to_string_lossy().chars() {
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\u{2028}' | '\u{2029}' => out.add(format_args!("\\u{:04x}", character as u32)),
            _ => out.push(character),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_quoted() {
        assert_eq!(quoted(Path::new("/a \"b\"\\c")), "\"/a \\\"b\\\"\\\\c\"");
    }
}
