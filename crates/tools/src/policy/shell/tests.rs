//! The commands that are found in shell text, and what is refused.

use proptest::prelude::*;

use super::*;

/// The first words and arguments of all commands that are found.
fn commands(text: &str, dialect: Dialect) -> Result<Vec<String>, Unclear> {
    let script = parse(text, dialect)?;
    let words = |simple: &Simple| {
        simple.words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")
    };
    Ok(script.commands.iter().map(words).filter(|text| !text.is_empty()).collect())
}

/// A name spelled with them is the name that runs.
#[test]
fn an_escape_in_dollar_quotes_is_the_byte_that_bash_makes_of_it() {
    for (escape, byte) in [
        ("a", "\u{7}"),
        ("b", "\u{8}"),
        ("e", "\u{1b}"),
        ("E", "\u{1b}"),
        ("f", "\u{c}"),
        ("n", "\n"),
        ("r", "\r"),
        ("t", "\t"),
        ("v", "\u{b}"),
        ("\\", "\\"),
        ("'", "'"),
        ("\"", "\""),
        ("?", "?"),
        ("x72", "r"),
        ("x7", "\u{7}"),
        ("162", "r"),
        ("u0072", "r"),
        ("U00000072", "r"),
    ] {
        let found = commands(&format!("a$'\\{escape}'m"), Dialect::Bash);
        assert_eq!(found.ok(), Some(vec![format!("a{byte}m")]), "{escape}");
    }
}

#[test]
fn every_place_where_a_command_may_stand_is_found() {
    for text in [
        "rm x",
        "  rm x",
        "\trm x # comment",
        "# comment\nrm x",
        "true;rm x",
        "true&&rm x",
        "false||rm x",
        "true&rm x",
        "true|rm x",
        "true |& rm x",
        "true\nrm x",
        "true &&\n\n rm x",
        "(rm x)",
        "( (rm x) )",
        "{ rm x; }",
        "! rm x",
        "time rm x",
        "time -p -- rm x",
        "coproc rm x",
        "coproc NAME { rm x; }",
        "if rm x; then true; fi",
        "if true; then rm x; fi",
        "if a; then b; elif rm x; then c; fi",
        "if a; then b; else rm x; fi",
        "while rm x; do true; done",
        "until true; do rm x; done",
        "for i in 1 2; do rm x; done",
        "for i\ndo rm x\ndone",
        "for ((i=0; i<3; i++)); do rm x; done",
        "for i in $(rm x); do true; done",
        "select i in 1; do rm x; done",
        "case $1 in a|b) rm x;; esac",
        "case $1 in (a) true;& *) rm x\nesac",
        "case $(rm x) in a) true;; esac",
        "f() { rm x; }",
        "f () (rm x)",
        "function f { rm x; }",
        "function f() { rm x; }",
        "echo $(rm x)",
        "echo \"$(rm x)\"",
        "echo \"a${y:-$(rm x)}b\"",
        "echo ${y:-`rm x`}",
        "echo `rm x`",
        "echo `echo \\`rm x\\``",
        "echo \"`rm x`\"",
        "echo $((1 + $(rm x)))",
        "echo $((a) ; (rm x))",
        "((y = $(rm x)))",
        "cat <(rm x)",
        "true > >(rm x)",
        "true < <(rm x)",
        "[[ -n $(rm x) ]]",
        "[[ a ]] && rm x",
        "[[ (a)]] || rm x",
        "y=$(rm x)",
        "y=1 z=2 rm x",
        "y[$(rm x)]=1",
        "y=(1 $(rm x))",
        "y+=1 rm x",
        "declare -a y=($(rm x))",
        "> out rm x",
        "2>&1 rm x",
        "<in >out rm x 2>/dev/null",
        "cat <<E\n$(rm x)\nE",
        "cat <<E\n`rm x`\nE",
        "cat <<E && rm x\ntext\nE",
        "cat <<'E'\n$(true)\nE\nrm x",
        "cat <<-E\n\ttext\n\tE\nrm x",
        "cat <<A; cat <<B\na\nA\nb\nB\nrm x",
        "$(cat <<E\n$(rm x)\nE\n)",
        "r\\m x",
        "'rm' x",
        "\"rm\" x",
        "r''m x",
        "r\"\"m x",
        "$'rm' x",
        "$'\\x72\\155' x",
        "$'\\u0072m' x",
        "$\"rm\" x",
        "r\\\nm x",
        "true &\\\n& rm x",
        "true;\\\nrm x",
        "echo \"a\\\"\"; rm x",
        "echo 'a\\'; rm x",
        "echo a\\'; rm x; echo \\'",
        "echo a#b; rm x",
        "echo $#; rm x",
        "echo ${#y}; rm x",
        "echo ${y#'}'}; rm x",
        "echo \"${y%\\}}\"; rm x",
        "echo \"it's\"; rm x; echo \"it's\"",
        "trap 'true' EXIT; rm x",
    ] {
        let found = commands(text, Dialect::Bash);
        let has = found.as_ref().is_ok_and(|found| found.iter().any(|command| command == "rm x"));
        assert!(has, "{text:?}: {found:?}");
    }
}

#[test]
fn text_that_is_no_command_is_none() {
    for text in [
        "echo rm x",
        "echo 'rm x'",
        "echo \"; rm x\"",
        "echo # ; rm x",
        "echo a \\; rm x",
        "cat <<'E'\n$(rm x)\nrm x\nE",
        "cat <<E\nrm x\nE",
        "[[ a =~ ^(b|c)$ && $d == rm ]]",
        "((rm = x))",
        "for rm in x; do echo; done",
        "case rm in rm) echo x;; esac",
        "x='rm x'",
        "echo ${rm:-x} $((rm - x))",
        "",
        "# rm x",
        "\n\n",
    ] {
        let found = commands(text, Dialect::Bash).unwrap();
        assert!(!found.iter().any(|command| command.starts_with("rm")), "{text:?}: {found:?}");
    }
}

#[test]
fn what_is_not_understood_is_an_error() {
    for text in [
        "echo 'a",
        "echo \"a",
        "echo `a",
        "echo $(a",
        "echo ${a",
        "(a",
        "{ a;",
        "if a; then b",
        "while a; do b",
        "case a in b) c",
        "a)",
        "a;; b",
        "fi",
        "} a",
        "| a",
        "a && && b",
        "cat <<E\ntext",
        "cat <<E",
        "cat <<$E\n$E\n",
        "cat <<E\nE\\\n\nE\n",
        "cat <<E\nfoo\\\nE\nrm x\nE\n",
        "ls @(a|b)",
        "ls !(a)",
        "echo ${ rm x; }",
        "echo ${x@P}",
        "echo $[1+1]",
        "echo \"${x:-'a}\"",
        "[[ a # ' ]]\n]]; rm x; echo '",
        "[[ a; rm x ]]",
        "a > ",
        "echo $'\\c'",
        "a\0b",
    ] {
        let found = commands(text, Dialect::Bash);
        assert!(found.is_err(), "{text:?}: {found:?}");
    }
}

/// What is one thing to bash is another to the plain shell; the reading with more commands counts.
#[test]
fn a_plain_shell_is_read_as_one_that_knows_less() {
    for text in ["[[ a || rm x ]]", "echo a &>f rm x", "((rm x))", "time rm x"] {
        let found = commands(text, Dialect::Posix).unwrap();
        let has = found.iter().any(|command| command.contains("rm x"));
        assert!(has, "{text:?}: {found:?}");
    }
    for text in ["cat <(rm x)", "cat <<< x", "echo $'\\'; rm x; echo \\''"] {
        assert!(commands(text, Dialect::Posix).is_err(), "{text:?}");
    }
}

#[test]
fn words_say_whether_they_are_what_they_look_like() {
    for (text, literal, splits) in [
        ("a", true, false),
        ("'$a'", true, false),
        ("$a", false, true),
        ("\"$a\"", false, false),
        ("\"$@\"", false, true),
        ("$(a)", false, true),
        ("a*", false, true),
        ("[", true, false),
        ("[a]", false, true),
        ("'*'", true, false),
        ("{a,b}", false, true),
        ("{}", true, false),
        ("{1..3}", false, true),
        ("~", false, false),
        ("~/x", true, false),
        ("a.b,c", true, false),
    ] {
        let script = parse(&format!("x {text}"), Dialect::Bash).unwrap();
        let word = script.commands.iter().filter_map(|c| c.words.get(1)).next_back().unwrap();
        assert_eq!((word.literal, word.splits), (literal, splits), "{text}");
    }
}

#[test]
fn hostile_text_costs_little_and_ends() {
    let deep = |open: &str, close: &str, n: usize| open.repeat(n) + "rm x" + &close.repeat(n);
    let texts = [
        deep("(", ")", 100_000),
        deep("{ ", ";}", 100_000),
        deep("$(", ")", 100_000),
        deep("$((", "))", 40),
        deep("$(( (", ") )", 20_000),
        deep("echo \"$(", ")\"", 50_000),
        deep("${a:-", "}", 100_000),
        deep("if a; then ", "; fi", 50_000),
        deep("! ", "", 500_000),
        "((".repeat(500_000),
        "`".repeat(500_001),
        "\\\n".repeat(500_000),
        "7".repeat(1_000_000),
        "a;".repeat(500_000),
        "a|".repeat(500_000),
        "<<a ".repeat(100_000),
        "a=(".repeat(300_000),
        format!("{}\n{}", "cat <<E; ".repeat(20_000), "x\n".repeat(100_000)),
    ];
    for text in texts {
        let begun = std::time::Instant::now();
        for dialect in [Dialect::Bash, Dialect::Posix] {
            drop(parse(&text, dialect));
        }
        let head: String = text.chars().take(20).collect();
        assert!(begun.elapsed().as_secs() < 20, "{head}: {:?}", begun.elapsed());
    }
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in ".*") {
        drop(parse(&text, Dialect::Bash));
        drop(parse(&text, Dialect::Posix));
    }

    #[test]
    fn any_pieces_of_shell_are_read_or_refused(
        pieces in prop::collection::vec(prop::sample::select(vec![
            "rm x", " ", "\n", ";", "&", "|", "(", ")", "{", "}", "$(", "${", "$((", "))", "`",
            "'", "\"", "\\", "<<E", "E\n", "<", ">", "<(", "[[", "]]", "if ", "then ", "fi",
            "case x in ", "esac", "do ", "done", "for i ", "in ", "#", "$'", "a=", "é", "\t", "!",
        ]), 0..30),
    ) {
        drop(parse(&pieces.concat(), Dialect::Bash));
        drop(parse(&pieces.concat(), Dialect::Posix));
    }
}
