//! Programs that run another program which they are given: how the other one is found.

use super::shell::{Unclear, Word};

/// How a wrapper reads what stands before the program that it runs.
#[derive(Debug)]
struct Wrapper {
    names: &'static [&'static str],
    /// Letters of options without and with a value.
    flags: &'static str,
    values: &'static str,
    /// Long options without and with a value, without their dashes.
    long_flags: &'static [&'static str],
    long_values: &'static [&'static str],
    /// Words before the program that are no options.
    operands: usize,
    /// `NAME=value` may stand before the program.
    assignments: bool,
}

const PLAIN: Wrapper = Wrapper {
    names: &[
        "builtin",
        "busybox",
        "bwrap",
        "catchsegv",
        "chronic",
        "coproc",
        "dbus-run-session",
        "eatmydata",
        "fakeroot",
        "firejail",
        "nocache",
        "nohup",
        "nsenter",
        "numactl",
        "pkexec",
        "proot",
        "proxychains",
        "proxychains4",
        "rlwrap",
        "setpriv",
        "ssh-agent",
        "torsocks",
        "toybox",
        "tsocks",
        "unbuffer",
        "valgrind",
        "xvfb-run",
    ],
    flags: "",
    values: "",
    long_flags: &[],
    long_values: &[],
    operands: 0,
    assignments: false,
};

/// A row a wrapper. An option that is not listed is a refusal: nobody knows what it takes with it.
static WRAPPERS: &[Wrapper] = &[
    Wrapper { names: &["exec"], flags: "cl", values: "a", ..PLAIN },
    Wrapper { names: &["command"], flags: "p", ..PLAIN },
    Wrapper {
        names: &["env"],
        flags: "i0v",
        values: "uC",
        long_flags: &["ignore-environment", "null", "debug"],
        long_values: &["unset", "chdir"],
        assignments: true,
        ..PLAIN
    },
    Wrapper {
        names: &["sudo"],
        flags: "AbEHnPSk",
        values: "ugpCThrtDRU",
        long_flags: &["preserve-env", "non-interactive", "stdin", "set-home"],
        long_values: &["user", "group", "prompt", "chdir", "host"],
        assignments: true,
        ..PLAIN
    },
    Wrapper { names: &["doas"], flags: "nL", values: "uC", ..PLAIN },
    Wrapper {
        names: &["time", "gtime"],
        flags: "pvaq",
        values: "fo",
        long_flags: &["portability", "verbose", "append", "quiet"],
        long_values: &["format", "output"],
        ..PLAIN
    },
    Wrapper {
        names: &["timeout", "gtimeout"],
        flags: "vfp",
        values: "ks",
        long_flags: &["foreground", "preserve-status", "verbose"],
        long_values: &["kill-after", "signal"],
        operands: 1,
        ..PLAIN
    },
    Wrapper {
        names: &["nice"],
        flags: "0123456789",
        values: "n",
        long_values: &["adjustment"],
        ..PLAIN
    },
    Wrapper {
        names: &["ionice"],
        flags: "t",
        values: "cn",
        long_flags: &["ignore"],
        long_values: &["class", "classdata"],
        ..PLAIN
    },
    Wrapper {
        names: &["stdbuf"],
        values: "ioe",
        long_values: &["input", "output", "error"],
        ..PLAIN
    },
    Wrapper { names: &["setsid"], flags: "cfw", long_flags: &["ctty", "fork", "wait"], ..PLAIN },
    Wrapper {
        names: &["chroot"],
        long_flags: &["skip-chdir"],
        long_values: &["userspec", "groups"],
        operands: 1,
        ..PLAIN
    },
    Wrapper { names: &["taskset"], flags: "ac", operands: 1, ..PLAIN },
    Wrapper { names: &["chrt"], flags: "abdfior", operands: 1, ..PLAIN },
    Wrapper { names: &["faketime"], flags: "fm", operands: 1, ..PLAIN },
    Wrapper { names: &["flock"], flags: "enosxuF", values: "wE", operands: 1, ..PLAIN },
    Wrapper { names: &["strace", "ltrace"], flags: "fFqtTvCcriyxk", values: "eoPspaISu", ..PLAIN },
    Wrapper {
        names: &["unshare"],
        flags: "muinpUCTrfc",
        long_flags: &["user", "mount", "net", "pid", "fork", "map-root-user"],
        ..PLAIN
    },
    Wrapper {
        names: &["xargs", "gxargs"],
        flags: "0rtpxo",
        values: "InLPsdEa",
        long_flags: &["null", "no-run-if-empty", "verbose", "exit", "open-tty"],
        long_values: &["max-args", "max-lines", "max-procs", "max-chars", "delimiter", "arg-file"],
        ..PLAIN
    },
    PLAIN,
];

/// Without a program they start a shell that reads its text from somewhere.
const SHELL_BY_DEFAULT: &[&str] =
    &["chroot", "fakeroot", "firejail", "nsenter", "proot", "sudo", "unshare"];

/// Options of programs that are followed by a program: it ends with `;`, `+` or the line.
static SEARCHERS: &[(&str, &[&str])] = &[
    ("find", &["-exec", "-execdir", "-ok", "-okdir"]),
    ("gfind", &["-exec", "-execdir", "-ok", "-okdir"]),
    ("fd", &["-x", "-X", "--exec", "--exec-batch"]),
    ("fdfind", &["-x", "-X", "--exec", "--exec-batch"]),
    ("jobs", &["-x"]),
];

/// The programs that `name` runs for these arguments; `None` when it is no wrapper.
pub(super) fn inner(name: &str, args: &[Word]) -> Result<Option<Vec<Vec<Word>>>, Unclear> {
    if let Some((_, options)) = SEARCHERS.iter().find(|(searcher, _)| *searcher == name) {
        return searched(name, options, args).map(Some);
    }
    let loader = name.starts_with("ld-linux") || name.starts_with("ld-musl") || name == "ld.so";
    let Some(row) = WRAPPERS.iter().find(|row| row.names.contains(&name)) else {
        return if loader { Ok(Some(vec![take(&PLAIN, args)?.0.to_vec()])) } else { Ok(None) };
    };
    if name == "command" && args.first().is_some_and(|arg| matches!(arg.text.as_str(), "-v" | "-V"))
    {
        return Ok(Some(Vec::new()));
    }
    let (rest, marks) = take(row, args)?;
    let mut rest = rest.to_vec();
    if rest.is_empty() && SHELL_BY_DEFAULT.contains(&name) {
        return Err(Unclear("a shell that reads its text from elsewhere"));
    }
    if row.names.contains(&"xargs") && !rest.is_empty() {
        replaced(&mut rest, marks.as_deref());
    }
    Ok(Some(vec![rest]))
}

/// Goes over a wrapper's own words; what is left is the program. Also the value of `-I`.
fn take<'w>(row: &Wrapper, args: &'w [Word]) -> Result<(&'w [Word], Option<String>), Unclear> {
    const OPTION: Unclear = Unclear("an option of a program that runs another one");
    let mut at = 0;
    let mut operands = row.operands;
    let mut marks = None;
    let mut options = true;
    while let Some(arg) = args.get(at) {
        let text = arg.text.as_str();
        let assignment = row.assignments && assigns(text);
        if arg.splits || !(arg.literal || assignment) {
            return Err(Unclear("a program that is not named literally"));
        }
        at += 1;
        if options && text == "--" {
            options = false;
        } else if options && text.len() > 1 && text.starts_with('-') {
            let value = option(row, text).ok_or(OPTION)?;
            if value > 0 && args.get(at).is_none_or(|word| word.splits) {
                return Err(OPTION);
            }
            at += value;
            if let Some(value) = text.strip_prefix("-I") {
                let next = args.get(at - 1).map(|word| word.text.clone());
                marks = if value.is_empty() { next } else { Some(value.to_owned()) };
            }
        } else if assignment {
            // What bash takes for functions or runs first would hide commands in a value.
            if text.starts_with("BASH_FUNC") || runs_text(text) {
                return Err(Unclear("a variable that holds commands"));
            }
        } else if operands > 0 {
            operands -= 1;
            options = false;
        } else if !(options && text == "-" && row.assignments) {
            return Ok((args.get(at - 1..).unwrap_or_default(), marks));
        }
    }
    Ok((&[], marks))
}

/// How many words more an option takes; `None` when it is not known.
fn option(row: &Wrapper, text: &str) -> Option<usize> {
    if let Some(long) = text.strip_prefix("--") {
        let (name, value) = long.split_once('=').map_or((long, false), |(name, _)| (name, true));
        return if row.long_values.contains(&name) {
            Some(usize::from(!value))
        } else {
            row.long_flags.contains(&name).then_some(0)
        };
    }
    let letters = text.get(1..)?;
    for (index, letter) in letters.char_indices() {
        if row.values.contains(letter) {
            return Some(usize::from(index + letter.len_utf8() == letters.len()));
        }
        if !row.flags.contains(letter) {
            return None;
        }
    }
    Some(0)
}

/// What `xargs` puts in is not known: in place of the mark, or behind the words.
fn replaced(words: &mut Vec<Word>, mark: Option<&str>) {
    match mark.filter(|mark| !mark.is_empty()) {
        Some(mark) => {
            for word in words.iter_mut().filter(|word| word.text.contains(mark)) {
                word.literal = false;
                word.splits = true;
            }
        }
        None => words.push(Word { text: String::new(), literal: false, splits: true }),
    }
}

fn searched(name: &str, options: &[&str], args: &[Word]) -> Result<Vec<Vec<Word>>, Unclear> {
    // `-Hx`, `-xrm`, `--exec=rm`.
    let joined = |text: &str| {
        let long = text.starts_with("--exec");
        let short = text.starts_with('-') && !text.starts_with("--") && text.contains(['x', 'X']);
        (long || short) && !options.contains(&text)
    };
    if name.starts_with("fd") && args.iter().any(|arg| joined(&arg.text)) {
        return Err(Unclear("a program joined to an option"));
    }
    let mut programs = Vec::new();
    let mut rest = args;
    while let Some(at) = rest.iter().position(|arg| options.contains(&arg.text.as_str())) {
        rest = rest.get(at + 1..).unwrap_or_default();
        let ends = |word: &Word| word.text == ";" || word.text == "+";
        let end = rest.iter().position(ends).unwrap_or(rest.len());
        let words = rest.get(..end).unwrap_or_default().iter().cloned().map(|mut word| {
            word.literal &= !word.text.contains("{}");
            word
        });
        programs.push(words.collect());
    }
    Ok(programs)
}

/// Whether a word is `NAME=…`.
pub(super) fn assigns(text: &str) -> bool {
    let Some((name, _)) = text.split_once('=') else { return false };
    let mut characters = name.chars();
    let first = characters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    first && characters.all(|c| c.is_ascii_alphanumeric() || "_%()+".contains(c))
}

/// Whether `NAME=…` sets a variable whose value bash runs.
pub(super) fn runs_text(assignment: &str) -> bool {
    let name = assignment.split(['=', '+']).next().unwrap_or_default();
    matches!(name, "BASH_ENV" | "PS4" | "PROMPT_COMMAND" | "SHELLOPTS" | "BASHOPTS")
}
