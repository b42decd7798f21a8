//! What holds for any shell text, any settings file and any pattern of a deny rule.

#![expect(clippy::missing_panics_doc, reason = "a panic is how a property fails")]

use std::path::{Path, PathBuf};

use super::commands::{Commands, Objection};
use super::pattern::Pattern;
use super::settings::{self, Bases, Loaded, Source};
use super::shell::Dialect;

/// Places in which text runs as it runs alone; `@` is the text.
const PLACES: &[&str] = &[
    "@\ntrue",
    "true\n@",
    "true; @",
    "(\n@\n)",
    "{\n@\n}",
    "! {\n@\n}",
    "if true; then\n@\nfi",
    "if\n@\nthen true; fi",
    "while false; do\n@\ndone",
    "for i in 1; do\n@\ndone",
    "case x in x)\n@\n;; esac",
    "f() {\n@\n}",
    "echo $(\n@\n)",
    "echo \"a$(\n@\n)b\"",
    "x=$(\n@\n)",
    "cat <(\n@\n)",
    "{\n@\n} | cat",
    "{\n@\n} > out 2>&1 &",
    "[[ -n $(\n@\n) ]]",
    "echo ${x:-$(\n@\n)}",
    "cat <<END_OF_TEXT\n$(\n@\n)\nEND_OF_TEXT",
];

/// What is denied is denied in every place, also inside another shell; what is not denied hides
/// nothing behind it or before it. The first byte picks the dialect.
pub fn deny_shell(data: &[u8]) {
    let Some((dialect, text)) = data.split_first() else { return };
    let text = String::from_utf8_lossy(text);
    // Joins the line that follows, which is another text then.
    if text.ends_with('\\') || text.contains("END_OF_TEXT") {
        return;
    }
    let dialect = if dialect & 1 == 0 { Dialect::Bash } else { Dialect::Posix };
    let pattern = Pattern::new("curl:*");
    let commands = Commands { patterns: &[&pattern], cwd: Path::new("/nowhere") };
    let check = |text: &str| commands.check(text, dialect);
    match check(&text) {
        Err(Objection::Unclear(..)) => {}
        Err(Objection::Denied(..)) => {
            for place in PLACES {
                let whole = place.replace('@', &text);
                assert!(check(&whole).is_err(), "passes: {whole:?}");
            }
            let quoted = text.replace('\'', "'\\''");
            let inner = if dialect == Dialect::Bash { "bash" } else { "sh" };
            for whole in [
                format!("{inner} -c -- '{quoted}'"),
                format!("env A=1 {inner} -ec -- '{quoted}'"),
                format!("{inner} <<'END_OF_TEXT'\n{text}\nEND_OF_TEXT"),
                format!("find . -exec {inner} -c -- '{quoted}' \\;"),
            ] {
                assert!(check(&whole).is_err(), "passes: {whole:?}");
            }
        }
        Ok(()) => {
            for place in ["@\ncurl x", "curl x\n@", "(\n@\n); curl x", "{\n@\ncurl x\n}"] {
                let whole = place.replace('@', &text);
                assert!(check(&whole).is_err(), "passes: {whole:?}");
            }
            assert_eq!(check(&format!("true\n{text}")), Ok(()), "{text:?}");
        }
    }
}

/// A settings file gives its rules or one line that says what is wrong with it; no rule of a tool that
/// is held here is passed over.
pub fn deny_rules(data: &[u8]) {
    let rules = match settings::rules(data) {
        Ok(rules) => rules,
        Err(line) => {
            return assert!(!line.contains(char::is_control) && line.len() < 200, "{line:?}");
        }
    };
    let bases = Bases { root: Path::new("/w"), home: Some(Path::new("/home/u")) };
    let source = Source {
        path: PathBuf::from("/w/.claude/settings.json"),
        shown: ".claude/settings.json".to_owned(),
        anchors: vec![bases.root.to_owned()],
    };
    for rule in rules {
        let mut loaded = Loaded::default();
        match settings::add(&mut loaded, &rule, &source, &bases) {
            Ok(()) => {
                let held = |tool: &str| {
                    rule.trim() == tool || rule.trim().starts_with(&format!("{tool}("))
                };
                assert!(!held("Bash") || loaded.bash.len() == 1, "{rule:?}");
                assert!(!held("Read") || loaded.read.len() == 1, "{rule:?}");
                for rule in &loaded.read {
                    rule.rule.denies(Path::new("/w/src/main.rs"), false);
                }
                assert!(loaded.bash.iter().all(|rule| !rule.shown.contains('\n')));
            }
            Err(line) => assert!(!line.contains(char::is_control), "{line:?}"),
        }
    }
}

/// A pattern with stars matches exactly what a plain walk over both matches. The pattern is the first
/// line, the text is the rest.
pub fn deny_pattern(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let Some((specifier, text)) = text.split_once('\n') else { return };
    let pattern = Pattern::new(specifier);
    let Pattern::Text { parts, boundary } = &pattern else {
        return assert!(pattern.matches(text), "{specifier:?}");
    };
    let mut wanted: Vec<Option<char>> = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        wanted.extend((at > 0).then_some(None));
        wanted.extend(part.chars().map(Some));
    }
    let mut matches = walk(&wanted, text);
    if *boundary && !matches {
        wanted.pop();
        let blank = |last: &Option<char>| last.is_some_and(char::is_whitespace);
        while wanted.last().is_some_and(blank) {
            wanted.pop();
        }
        matches = walk(&wanted, text);
    }
    assert_eq!(pattern.matches(text), matches, "{specifier:?} on {text:?}");
}

/// Whether the pattern, in which `None` is a star, is the text; by which of its places are reached.
fn walk(pattern: &[Option<char>], text: &str) -> bool {
    let mut reached = vec![false; pattern.len() + 1];
    let stars = |reached: &mut Vec<bool>| {
        for (at, wanted) in pattern.iter().enumerate() {
            if wanted.is_none() && reached[at] {
                reached[at + 1] = true;
            }
        }
    };
    reached[0] = true;
    stars(&mut reached);
    for character in text.chars() {
        let mut next = vec![false; pattern.len() + 1];
        for (at, wanted) in pattern.iter().enumerate().filter(|(at, _)| reached[*at]) {
            match wanted {
                None => next[at] = true,
                Some(wanted) if *wanted == character => next[at + 1] = true,
                Some(_) => {}
            }
        }
        stars(&mut next);
        reached = next;
    }
    reached.last() == Some(&true)
}
