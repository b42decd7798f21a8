//! Holds every command of shell text against the `Bash(…)` rules; what cannot be told is refused.

use std::path::Path;

use super::pattern::Pattern;
use super::shell::{Dialect, Simple, Stdin, Unclear, Word, parse};
use super::wrappers::{assigns, inner, runs_text};

/// Programs and builtins whose arguments become commands in a way that is not followed here.
const OPAQUE: &[&str] = &[
    ".",
    "alias",
    "at",
    "batch",
    "bind",
    "compgen",
    "complete",
    "enable",
    "eval",
    "expect",
    "newgrp",
    "parallel",
    "runuser",
    "screen",
    "script",
    "sg",
    "source",
    "start-stop-daemon",
    "su",
    "systemd-run",
    "tmux",
    "watch",
];
/// Shells that are read as `sh`.
const POSIX_SHELLS: &[&str] = &["sh", "dash", "ash"];
/// Shells whose language is another one.
const OTHER_SHELLS: &[&str] = &[
    "csh", "elvish", "fish", "ksh", "ksh93", "mksh", "nu", "oksh", "osh", "pwsh", "tcsh", "xonsh",
    "yash", "ysh", "zsh",
];
/// Builtins whose arguments are assignments.
const DECLARING: &[&str] = &["declare", "export", "local", "readonly", "typeset"];
/// Deepest nesting of shells, wrappers and text.
const DEEPEST: usize = 24;

/// Why a program does not pass.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Objection {
    /// The rule with this index means this command.
    Denied(usize, String),
    /// What this command would run cannot be told.
    Unclear(String, &'static str),
}

/// The rules, and where relative programs are looked for.
pub(super) struct Commands<'a> {
    pub patterns: &'a [&'a Pattern],
    pub cwd: &'a Path,
}

impl Commands<'_> {
    /// Whether all commands of a text may run.
    pub(super) fn check(&self, text: &str, dialect: Dialect) -> Result<(), Objection> {
        self.text(text, dialect, 0)
    }

    fn text(&self, text: &str, dialect: Dialect, depth: usize) -> Result<(), Objection> {
        if depth > DEEPEST {
            return Err(unclear(text, Unclear("nesting too deep")));
        }
        let script = parse(text, dialect).map_err(|why| unclear(text, why))?;
        for command in &script.commands {
            let shown = shown(&command.words);
            if command.assignments.iter().any(|word| runs_text(&word.text)) {
                return Err(unclear(&shown, Unclear("a variable that holds commands")));
            }
            let texts = |words: &[Word]| {
                words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")
            };
            if !command.assignments.is_empty() && !command.words.is_empty() {
                let whole = format!("{} {}", texts(&command.assignments), texts(&command.words));
                self.denied(&whole, &shown)?;
            }
            self.words(&command.words, command, depth)?;
        }
        for pipeline in &script.pipelines {
            self.denied(pipeline, pipeline)?;
        }
        Ok(())
    }

    fn denied(&self, text: &str, shown: &str) -> Result<(), Objection> {
        match self.patterns.iter().position(|pattern| pattern.matches(text)) {
            Some(rule) => Err(Objection::Denied(rule, shown.to_owned())),
            None => Ok(()),
        }
    }

    /// One command, and the commands that it is given.
    fn words(&self, words: &[Word], command: &Simple, depth: usize) -> Result<(), Objection> {
        let Some((first, args)) = words.split_first() else { return Ok(()) };
        let refuse = |why| Err(unclear(&shown(words), Unclear(why)));
        if !first.literal || first.text.is_empty() || first.text.starts_with('-') {
            return refuse("a program that is not named literally");
        }
        if depth > DEEPEST {
            return refuse("nesting too deep");
        }
        let behind: String = args.iter().flat_map(|word| [" ", word.text.as_str()]).collect();
        for name in self.names(&first.text) {
            self.denied(&format!("{name}{behind}"), &shown(words))?;
        }
        let name = first.text.rsplit('/').next().unwrap_or_default();
        let option = |letter: char| {
            args.iter()
                .any(|arg| !arg.literal || (arg.text.starts_with('-') && arg.text.contains(letter)))
        };
        match name {
            _ if OPAQUE.contains(&name) => return refuse("a command made of its arguments"),
            "hash" if option('p') => return refuse("a program under another name"),
            "mapfile" | "readarray" if option('C') => return refuse("a command in an argument"),
            "trap" => return self.trap(args, depth),
            "bash" | "rbash" => return self.shell(words, command, Dialect::Bash, depth),
            _ if POSIX_SHELLS.contains(&name) => {
                return self.shell(words, command, Dialect::Posix, depth);
            }
            _ if OTHER_SHELLS.contains(&name) => {
                let script = args.first().is_some_and(|arg| arg.literal && is_script(&arg.text));
                return if script { Ok(()) } else { refuse("another shell's language") };
            }
            _ if DECLARING.contains(&name)
                && args.iter().any(|arg| assigns(&arg.text) && runs_text(&arg.text)) =>
            {
                return refuse("a variable that holds commands");
            }
            _ => {}
        }
        let programs = inner(name, args).map_err(|why| unclear(&shown(words), why))?;
        for program in programs.into_iter().flatten() {
            self.words(&program, command, depth + 1)?;
        }
        Ok(())
    }

    /// The names by which a rule may mean this program.
    fn names(&self, first: &str) -> Vec<String> {
        let mut names = vec![first.to_owned()];
        if let Some(plain) = first.strip_prefix("./") {
            names.push(plain.to_owned());
        }
        if let Some((_, base)) = first.rsplit_once('/') {
            names.push(base.to_owned());
            // A link under another name; a link that is made later is for the confinement to stop.
            if let Ok(real) = self.cwd.join(first).canonicalize() {
                names.extend(real.file_name().map(|name| name.to_string_lossy().into_owned()));
                names.push(real.to_string_lossy().into_owned());
            }
        }
        names
    }

    /// `trap TEXT SIGNAL…`.
    fn trap(&self, args: &[Word], depth: usize) -> Result<(), Objection> {
        let mut operands =
            args.iter().skip_while(|arg| arg.text.len() > 1 && arg.text.starts_with('-'));
        let Some(text) = operands.next() else { return Ok(()) };
        if !text.literal || text.splits {
            return Err(unclear(&text.text, Unclear("a trap that is not literal")));
        }
        if text.text == "-" || operands.next().is_none() {
            return Ok(());
        }
        self.text(&text.text, Dialect::Bash, depth + 1)
    }

    /// A shell: the text behind `-c`, or of its input; a script in a file is a program like others.
    fn shell(
        &self,
        words: &[Word],
        command: &Simple,
        dialect: Dialect,
        depth: usize,
    ) -> Result<(), Objection> {
        let refuse = |why| Err(unclear(&shown(words), Unclear(why)));
        let mut args = words.iter().skip(1);
        let (mut text, mut input) = (false, false);
        let operand = loop {
            let Some(arg) = args.next() else { break None };
            if !arg.literal {
                return refuse("a shell whose text is not literal");
            }
            match arg.text.as_str() {
                "--rcfile" | "--init-file" => {
                    args.next();
                }
                "--norc" | "--noprofile" | "--login" | "--posix" | "--restricted" | "--verbose"
                | "--noediting" => {}
                "--help" | "--version" => return Ok(()),
                "-" | "--" => break args.next(),
                long if long.starts_with("--") => return refuse("an option of a shell"),
                short if short.len() > 1 && short.starts_with(['-', '+']) => {
                    text |= short.contains('c');
                    input |= short.contains('s');
                    // `-o name` and `-O name`.
                    for _ in short.chars().filter(|letter| matches!(letter, 'o' | 'O')) {
                        args.next();
                    }
                }
                _ => break Some(arg),
            }
        };
        match operand {
            Some(code) if text => {
                if !code.literal {
                    return refuse("a shell whose text is not literal");
                }
                self.text(&code.text, dialect, depth + 1)
            }
            Some(script) if !input => {
                let file = script.literal && is_script(&script.text);
                if file { Ok(()) } else { refuse("a shell whose text is not literal") }
            }
            _ if text => Ok(()),
            _ => match &command.stdin {
                Stdin::Text(code) if code.literal => self.text(&code.text, dialect, depth + 1),
                _ => refuse("a shell that reads its text from elsewhere"),
            },
        }
    }
}

/// Whether a shell's operand is a script in a file, and not a way to its input.
fn is_script(operand: &str) -> bool {
    let parts: Vec<&str> = operand.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    let special = |part: &&str| matches!(*part, "dev" | "proc");
    let upwards = parts.contains(&"..") && parts.iter().any(special);
    let absolute = operand.starts_with('/') && parts.first().is_some_and(special);
    let input = parts.last() == Some(&"stdin") || parts.iter().rev().nth(1) == Some(&"fd");
    !(parts.is_empty() || operand.starts_with(['-', '+']) || upwards || absolute || input)
}

fn unclear(text: &str, why: Unclear) -> Objection {
    Objection::Unclear(text.to_owned(), why.0)
}

/// A command as it is shown.
fn shown(words: &[Word]) -> String {
    let first: Vec<_> = words.iter().take(8).map(|word| word.text.as_str()).collect();
    first.join(" ")
}
