//! JavaScript programs: which module system, and what makes `require` and `import` work together.

use std::ffi::OsString;
use std::path::Path;

use super::mask::{Syntax, has_word, is_word, mask, words_at};
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

/// How a program's file must be named for its runtime to read it as what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Module {
    /// `require`, `module.exports`, no `import` and no top-level `await`.
    Common,
    /// Anything that only an ECMAScript module may contain.
    Standard,
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
    if let Some(content) = planning.content {
        let loader = planning.write("loader.cjs", content_source(content).as_bytes())?;
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
    if has_word(planning.code, "require") && !name.contains(".c") {
        let base = quoted(&planning.cwd.join("program"));
        source.push_str("import { createRequire } from 'node:module';\n");
        source.add(format_args!("globalThis.require = createRequire({base});\n"));
    }
    if let Some(content) = planning.content {
        source.push_str("import { readFileSync } from 'node:fs';\n");
        let text = format!("readFileSync({}, 'utf8')", quoted(content));
        source.add(format_args!("globalThis.FILE_CONTENT = globalThis.file_content = {text};\n"));
    }
    let mut arguments: Vec<OsString> =
        ["run", "--allow-all", "--no-prompt", "--quiet", "--no-lock"].map(Into::into).to_vec();
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
    if names_relative_module(planning.code) {
        source.push_str(&relative_source(&cwd, &quoted(program)));
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
        drop(std::os::unix::fs::symlink(found, planning.stage.join("node_modules")));
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

/// Makes `./x` in the program mean a file of the working directory, not of the private one.
fn relative_source(cwd: &str, program: &str) -> String {
    format!(
        "{{\n\
         const Module = require('node:module');\n\
         const {{ pathToFileURL }} = require('node:url');\n\
         const resolve = Module._resolveFilename;\n\
         Module._resolveFilename = function (request, parent, ...rest) {{\n  \
           if (parent && parent.filename === {program} && /^\\.\\.?\\//.test(request)) {{\n    \
             return Module.createRequire({cwd}).resolve(request);\n  \
           }}\n  \
           return resolve.call(this, request, parent, ...rest);\n\
         }};\n\
         if (Module.register) {{\n  \
           const hook = `export async function resolve(specifier, context, next) {{\n    \
             const own = ${{JSON.stringify(pathToFileURL({program}).href)}};\n    \
             if (context.parentURL === own && /^\\\\.\\\\.?\\\\//.test(specifier)) {{\n      \
               context = {{ ...context, parentURL: \
                 ${{JSON.stringify(pathToFileURL({cwd}).href)}} }};\n    \
             }}\n    \
             return next(specifier, context);\n  \
           }}`;\n  \
           Module.register('data:text/javascript,' + encodeURIComponent(hook));\n\
         }}\n\
         }}\n"
    )
}

fn names_relative_module(code: &str) -> bool {
    let bytes = code.as_bytes();
    bytes.windows(3).enumerate().any(|(at, three)| {
        matches!(three[0], b'"' | b'\'' | b'`')
            && three[1] == b'.'
            && (three[2] == b'/' || (three[2] == b'.' && bytes.get(at + 3) == Some(&b'/')))
    })
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

/// Reads the module system off the program. When in doubt it is a standard module, where the
/// loader can add what the older system has; the reverse cannot be mended.
pub(super) fn module_of(code: &str) -> Module {
    let text = mask(code, Syntax::JavaScript);
    let next = |from: usize| {
        text[from..].iter().copied().find(|byte| !byte.is_ascii_whitespace()).unwrap_or(0)
    };
    let member = |at: usize| text[..at].trim_ascii_end().last() == Some(&b'.');
    for at in words_at(&text, b"import") {
        if !member(at)
            && !matches!(next(at + 6), b'(' | b':' | b'=' | b',' | b')' | b'}' | b';' | 0)
        {
            return Module::Standard;
        }
    }
    for at in words_at(&text, b"export") {
        if !member(at) && (matches!(next(at + 6), b'{' | b'*') || is_word(next(at + 6))) {
            return Module::Standard;
        }
    }
    if awaits_on_top(&text) { Module::Standard } else { Module::Common }
}

/// Whether an `await` stands outside every function.
fn awaits_on_top(text: &[u8]) -> bool {
    let awaits: Vec<usize> = words_at(text, b"await").collect();
    if awaits.is_empty() {
        return false;
    }
    // One entry per open bracket: whether it is a function's body. An arrow without braces is an
    // entry of its own, closed by whatever ends its expression.
    let mut open: Vec<Scope> = Vec::new();
    for (at, &byte) in text.iter().enumerate() {
        match byte {
            b'{' if ends_with(text, at, b"=>") || opens_function(text, at) => {
                open.push(Scope::Function);
            }
            b'{' | b'(' | b'[' => open.push(Scope::Plain),
            b')' | b']' | b'}' => while open.pop() == Some(Scope::Arrow) {},
            b',' | b';' | b'\n' => {
                while open.last() == Some(&Scope::Arrow) {
                    open.pop();
                }
            }
            b'>' if at > 0 && text[at - 1] == b'=' => {
                let body = text[at + 1..].iter().find(|byte| !byte.is_ascii_whitespace());
                if body != Some(&b'{') {
                    open.push(Scope::Arrow);
                }
            }
            b'a' if awaits.binary_search(&at).is_ok() => {
                let member = text[..at].trim_ascii_end().last() == Some(&b'.');
                if !member && !open.iter().any(|scope| *scope != Scope::Plain) {
                    return true;
                }
            }
            _ => {}
        }
    }
    false
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    Plain,
    Function,
    Arrow,
}

fn ends_with(text: &[u8], at: usize, what: &[u8]) -> bool {
    text[..at].trim_ascii_end().ends_with(what)
}

/// Whether the brace at `at` opens a function: after a parameter list (and perhaps a return type)
/// that no control keyword stands before.
fn opens_function(text: &[u8], at: usize) -> bool {
    let before = text[..at].trim_ascii_end();
    let Some(close) = before.iter().rposition(|&byte| byte == b')') else { return false };
    let between = before[close + 1..].trim_ascii();
    let is_type = between.first() == Some(&b':')
        && between.iter().all(|&byte| is_word(byte) || b":<>[]|&., ".contains(&byte));
    if !between.is_empty() && !is_type {
        return false;
    }
    let mut depth = 0usize;
    for start in (0..=close).rev() {
        match before[start] {
            b')' => depth += 1,
            b'(' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            let head = before[..start].trim_ascii_end();
            let word = head.iter().rposition(|&byte| !is_word(byte)).map_or(0, |at| at + 1);
            return !matches!(
                &head[word..],
                b"if" | b"for" | b"while" | b"switch" | b"catch" | b"with" | b"await"
            );
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_module_system_is_read_off_the_code() {
        for code in [
            "import fs from 'fs'",
            "import {a} from 'b'",
            "import 'x'",
            "import * as a from 'b'",
            "export const a = 1",
            "export { a }",
            "export default 1",
            "import.meta.url",
            "const a = require('a'); await a()",
            "for await (const x of y) {}",
            "if (a) { await b() }",
            "for (const x of y) { await x }",
            "try { await a } catch (e) {}",
            "const f = async () => await g()\nawait f()",
            "const a = { b: await c() }",
            "console.log(await Promise.all([1].map(async (x) => { await x })))",
            "#!/usr/bin/env node\nimport a from 'a'",
            "import type { A } from './a'",
            "`${await x}`",
            "class A { m() { await1 } }\nawait 1",
        ] {
            assert_eq!(module_of(code), Module::Standard, "{code}");
        }
        for code in [
            "const fs = require('fs')",
            "console.log(1)",
            "import('x').then(f)",
            "// import a",
            "'import a from b'",
            "async function f() { await g() } f()",
            "a.import; a.export = 1",
            "(async () => { await f() })()",
            "[1].map(async (x) => await f(x))",
            "({ import: 1 })",
            "const f = async function () { for (const a of b) { await a } }",
            "class A { async m() { if (x) { await y } } }",
            "o.await",
            "`import x from y`",
            "async function f(): Promise<void> { await g() }",
            "module.exports = { export: 1 }",
            "",
        ] {
            assert_eq!(module_of(code), Module::Common, "{code}");
        }
    }

    #[test]
    fn paths_are_quoted() {
        assert_eq!(quoted(Path::new("/a \"b\"\\c")), "\"/a \\\"b\\\"\\\\c\"");
    }

    #[test]
    fn relative_modules_are_noticed() {
        assert!(names_relative_module("require('./a')"));
        assert!(names_relative_module("import x from \"../a\""));
        assert!(!names_relative_module("require('a/./b') + '...'"));
    }
}
