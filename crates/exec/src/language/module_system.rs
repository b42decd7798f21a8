//! Which module system a JavaScript or TypeScript program is written for.

use super::mask::{Syntax, mask};
use super::words::{is_word, words_at};

/// How a program's file must be named for its runtime to read it as what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Module {
    /// `require`, `module.exports`, no `import` and no top-level `await`.
    Common,
    /// Anything that only an ECMAScript module may contain.
    Standard,
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

/// How far a return type and a parameter list are followed: a literal of a million braces must not
/// be searched from each of them back to its start.
const TYPE_LIMIT_BYTES: usize = 256;
const PARAMETERS_LIMIT_BYTES: usize = 4096;

fn ends_with(text: &[u8], at: usize, what: &[u8]) -> bool {
    text[..at].trim_ascii_end().ends_with(what)
}

/// Whether the brace at `at` opens a function: after a parameter list (and perhaps a return type)
/// that no control keyword stands before.
fn opens_function(text: &[u8], at: usize) -> bool {
    let before = text[..at].trim_ascii_end();
    let in_type = |byte: &u8| is_word(*byte) || b":<>[]|&., ".contains(byte);
    let n_type =
        before.iter().rev().take(TYPE_LIMIT_BYTES).take_while(|byte| in_type(byte)).count();
    let (head, between) = before.split_at(before.len() - n_type);
    let between = between.trim_ascii();
    if head.last() != Some(&b')') || !(between.is_empty() || between.starts_with(b":")) {
        return false;
    }
    let mut depth = 0usize;
    for start in (head.len().saturating_sub(PARAMETERS_LIMIT_BYTES)..head.len()).rev() {
        match head[start] {
            b')' => depth += 1,
            b'(' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            let before = head[..start].trim_ascii_end();
            let n_word = before.iter().rev().take_while(|byte| is_word(**byte)).count();
            return !matches!(
                &before[before.len() - n_word..],
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
    fn a_megabyte_of_braces_is_read_in_no_time() {
        let objects = "{\"a\": [1, 2]},\n".repeat(100_000);
        let code = format!("const f = async () => {{ await 1 }};\nconst a = [{objects}];\nf(a)");
        let started = std::time::Instant::now();
        assert_eq!(module_of(&code), Module::Common);
        let minified = "a=b/c,".repeat(200_000);
        assert_eq!(module_of(&minified), Module::Common);
        assert!(started.elapsed() < std::time::Duration::from_secs(20));
    }
}
