//! What is outside of a change stays byte for byte; what cannot be read or kept is refused.

use proptest::prelude::*;
use serde_json::json;

use super::{Change, Format, Keys, apply, inverse, read};

fn keys(path: &str) -> Keys {
    path.split('.').map(str::to_owned).collect()
}

fn set(path: &str, value: serde_json::Value) -> Change {
    Change::Set(keys(path), value)
}

fn entry() -> Change {
    set("s.qc", json!({ "command": "/bin/qc", "args": ["serve"] }))
}

#[test]
fn json_keeps_the_way_in_which_it_is_written() {
    for (before, after) in [
        ("", "{\n  \"s\": {\n    \"qc\": 1\n  }\n}\n"),
        ("{}", "{\n  \"s\": {\n    \"qc\": 1\n  }\n}"),
        ("{\n}\n", "{\n  \"s\": {\n    \"qc\": 1\n  }\n}\n"),
        ("// mine\n", "// mine\n{\n  \"s\": {\n    \"qc\": 1\n  }\n}\n"),
        ("{\"a\":1}", "{\"a\":1, \"s\": { \"qc\": 1 }}"),
        ("{\"a\":1,}", "{\"a\":1, \"s\": { \"qc\": 1 },}"),
        ("{\"s\":{}}", "{\"s\":{\n  \"qc\": 1\n}}"),
        ("{\n\t\"a\": 1\n}", "{\n\t\"a\": 1,\n\t\"s\": {\n\t\t\"qc\": 1\n\t}\n}"),
        (
            "{\r\n    \"a\": 1\r\n}",
            "{\r\n    \"a\": 1,\r\n    \"s\": {\r\n        \"qc\": 1\r\n    }\r\n}",
        ),
        (
            "{\n  \"a\": 1 // one, /* two\n}",
            "{\n  \"a\": 1, // one, /* two\n  \"s\": {\n    \"qc\": 1\n  }\n}",
        ),
        ("{\n  \"a\": 1, // one\n}", "{\n  \"a\": 1, // one\n  \"s\": {\n    \"qc\": 1\n  },\n}"),
        (
            "{\n  \"a\": 1 /* o\n ne */ }",
            "{\n  \"a\": 1, /* o\n ne */\n  \"s\": {\n    \"qc\": 1\n  } }",
        ),
        (
            "{\n  \"s\": {\n    \"o\": 2,\n    // last\n  }\n}",
            "{\n  \"s\": {\n    \"o\": 2,\n    \"qc\": 1,\n    // last\n  }\n}",
        ),
        (
            "\u{feff}{\n  \"a\": 1\n}\n",
            "\u{feff}{\n  \"a\": 1,\n  \"s\": {\n    \"qc\": 1\n  }\n}\n",
        ),
        ("{ \"s\": { \"qc\": 2 /* old */ } }", "{ \"s\": { \"qc\": 1 /* old */ } }"),
    ] {
        let found = apply(Format::Json, before, &[set("s.qc", json!(1))]).unwrap();
        assert_eq!(found, after, "{before:?}");
    }
}

#[test]
fn json_members_go_with_their_comma() {
    for (before, after) in [
        ("{\"a\":1, \"k\":2, \"b\":3}", "{\"a\":1, \"b\":3}"),
        ("{\"k\":2, \"b\":3}", "{\"b\":3}"),
        ("{\"a\":1, \"k\":2}", "{\"a\":1}"),
        ("{ \"k\":2 }", "{}"),
        ("{\n  \"k\": 2\n}", "{}"),
        ("{\n  \"a\": 1,\n  \"k\": 2\n}", "{\n  \"a\": 1\n}"),
        ("{\n  \"a\": 1, // one\n  \"k\": 2\n}", "{\n  \"a\": 1 // one\n}"),
        ("{\n  \"a\": \",\", // one,\n  \"k\": 2,\n}", "{\n  \"a\": \",\", // one,\n}"),
        ("{\n  \"k\": 2,\n  // of b\n  \"b\": 3\n}", "{\n  // of b\n  \"b\": 3\n}"),
    ] {
        let found = apply(Format::Json, before, &[Change::Remove(keys("k"))]).unwrap();
        assert_eq!(found, after, "{before:?}");
    }
}

#[test]
fn lists_take_and_give_back_one_item() {
    for (format, before, with) in [
        (Format::Json, "{\"l\": [\"a\"]}", "{\"l\": [\"a\", \"x\"]}"),
        (Format::Json, "{\"l\": [\n  \"a\"\n]}", "{\"l\": [\n  \"a\",\n  \"x\"\n]}"),
        (Format::Toml, "l = [\"a\"] # mine\n", "l = [\"a\", \"x\"] # mine\n"),
    ] {
        let include = Change::Include(keys("l"), "x".to_owned());
        let back = inverse(format, before, std::slice::from_ref(&include)).unwrap();
        let found = apply(format, before, &[include]).unwrap();
        assert_eq!(found, with);
        assert_eq!(apply(format, &found, &back).unwrap(), before);
    }
}

#[test]
fn toml_keeps_the_way_in_which_it_is_written() {
    let table = "[s.qc]\ncommand = \"/bin/qc\"\nargs = [\"serve\"]\n";
    for (before, after) in [
        ("", table.to_owned()),
        ("# mine\na = 1 # one\n", format!("# mine\na = 1 # one\n\n{table}")),
        ("a = 1", format!("a = 1\n\n{}", table.trim_end())),
        ("[s.o]\nb = 1\n\n[t]\nc = 2\n", format!("[s.o]\nb = 1\n\n{table}\n[t]\nc = 2\n")),
        (
            "a = 1\r\n\r\n[t]\r\nc = 2\r\n",
            format!("a = 1\r\n\r\n[t]\r\nc = 2\r\n\r\n{}", table.replace('\n', "\r\n")),
        ),
        (
            "s = { o = { b = 1 } }\n",
            "s = { o = { b = 1 } , qc = { command = \"/bin/qc\", args = [\"serve\"] } }\n"
                .to_owned(),
        ),
        ("s.o.b = 1\n", format!("s.o.b = 1\n\n{table}")),
        (
            "[s.qc]\ncommand = \"old\" # mine\nextra = 1\n",
            "[s.qc]\ncommand = \"/bin/qc\" # mine\nextra = 1\nargs = [\"serve\"]\n".to_owned(),
        ),
    ] {
        let changes = if before.contains("[s.qc]") {
            vec![set("s.qc.command", json!("/bin/qc")), set("s.qc.args", json!(["serve"]))]
        } else {
            vec![entry()]
        };
        assert_eq!(apply(Format::Toml, before, &changes).unwrap(), after, "{before:?}");
    }
}

#[test]
fn yaml_keeps_the_way_in_which_it_is_written() {
    let lines = "  qc:\n    command: /bin/qc\n    args: [serve]\n";
    for (before, after) in [
        ("", format!("s:\n{lines}")),
        ("# mine\na: 1 # one\n", format!("# mine\na: 1 # one\ns:\n{lines}")),
        ("s: {}\na: 1\n", format!("s:\n{lines}a: 1\n")),
        (
            "s:\n  o:\n    b: 1\n\n# of a\na: 1\n",
            format!("s:\n  o:\n    b: 1\n{lines}\n# of a\na: 1\n"),
        ),
        (
            "s:\n    o: 1\n",
            "s:\n    o: 1\n    qc:\n      command: /bin/qc\n      args: [serve]\n".to_owned(),
        ),
        ("a: 1\r\n", format!("a: 1\r\ns:\r\n{}", lines.replace('\n', "\r\n"))),
    ] {
        assert_eq!(apply(Format::Yaml, before, &[entry()]).unwrap(), after, "{before:?}");
    }
    let old = "s:\n  qc:\n    command: old # mine\n    extra: |\n      command: not this\n";
    let new = apply(Format::Yaml, old, &[set("s.qc.command", json!("/bin/qc"))]).unwrap();
    assert_eq!(new, old.replacen("old", "/bin/qc", 1));
}

#[test]
fn what_cannot_be_read_is_named_with_its_line_and_column() {
    for (format, text, wanted) in [
        (Format::Json, "{\n  \"a\": 1\n  \"b\": 2\n}", "line 2, column"),
        (Format::Json, "{\n  \"a\": 'x'\n}", "line 2, column"),
        (Format::Json, "[]", "line 1, column 1"),
        (Format::Json, "{\"a\": 1} {\"b\": 2}", "line 1, column"),
        (Format::Toml, "a = 1\nb = \n", "line 2, column"),
        (Format::Toml, "a = 1\na = 2\n", "line 2, column"),
        (Format::Yaml, "a: 1\nb: [1\n", "line"),
        (Format::Yaml, "- 1\n", "line 1, column 1"),
    ] {
        let error = read(format, text).unwrap_err().to_string();
        assert!(error.starts_with(wanted), "{text:?}: {error}");
        assert!(apply(format, text, &[entry()]).is_err(), "{text:?}");
    }
}

#[test]
fn what_would_touch_something_else_is_refused() {
    for (format, text) in [
        (Format::Json, "{\"s\": 1}"),
        (Format::Json, "{\"s\": {}, \"s\": {}}"),
        (Format::Toml, "s = 1\n"),
        (Format::Yaml, "s: 1\n"),
        (Format::Yaml, "s: {o: 1}\n"),
        (Format::Yaml, "a: 1\n---\nb: 2\n"),
        (Format::Yaml, "x: &x\n  o: 1\ns: *x\n"),
    ] {
        assert!(apply(format, text, &[entry()]).is_err(), "{text:?}");
    }
}

#[test]
fn nesting_that_would_overflow_the_stack_is_an_error() {
    for (format, open) in [(Format::Json, "{\"a\":"), (Format::Toml, "a = ["), (Format::Yaml, "[")]
    {
        assert!(read(format, &open.repeat(20_000)).is_err(), "{format:?}");
    }
}

/// Blanks and comments between the tokens of a JSON text.
fn gap() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "",
        "",
        " ",
        "\n",
        "\n  ",
        "\r\n\t",
        " // c, {\n ",
        "/* \"x\": 1, */",
        "\n\n",
    ])
    .prop_map(str::to_owned)
}

fn json_value() -> impl Strategy<Value = String> {
    let leaf =
        prop::sample::select(vec!["1", "null", "\"a,}\\\"\"", "[]", "{}", "[1, 2]", "\"é//\""])
            .prop_map(str::to_owned);
    leaf.prop_recursive(3, 12, 3, |inner| object(prop::collection::vec(inner, 1..4).boxed()))
}

fn object(values: BoxedStrategy<Vec<String>>) -> impl Strategy<Value = String> {
    (values, prop::collection::vec(gap(), 13), any::<bool>()).prop_map(
        |(values, gaps, trailing)| {
            let mut gaps = gaps.into_iter().cycle();
            let mut gap = || gaps.next().unwrap_or_default();
            let mut text = String::from("{");
            let count = values.len();
            for (index, value) in values.into_iter().enumerate() {
                let comma = if index + 1 < count || trailing { "," } else { "" };
                text += &format!("{}\"k{index}\"{}:{}{value}{}{comma}", gap(), gap(), gap(), gap());
            }
            text + &gap() + "}"
        },
    )
}

/// Parts of TOML files that may stand in any order.
const TOML: [&str; 9] = [
    "# a comment\n",
    "[t1]\na = 1 # c\n\n",
    "[t2.u]\nb = '''\n[s.no]\n'''\n",
    "[s.other]\ncommand = \"x\"\n",
    "[s.third]\r\nargs = [\r\n  \"a\", # c\r\n]\r\n",
    "[[list]]\nx = 1\n",
    "[[list]]\r\nx = { y = 1,  z = 2 }\r\n",
    "\n\n",
    "[t3] # c\n'quoted key' = 1979-05-27\n",
];

/// The same of YAML.
const YAML: [&str; 7] = [
    "# a comment\n",
    "a1: 1 # c\n",
    "a2:\n  - x\n  - y: |\n      s:\n        qc: no\n",
    "s:\n  other:\n    cmd: x # c\n    args: []\n",
    "a3: \"two\n  lines\"\n",
    "\n",
    "a4: {b: 1, c: [1, 2]}\n",
];

fn parts(parts: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop::sample::subsequence(parts, 0..=parts.len()).prop_shuffle().prop_map(|parts| {
        // A second item of a list must not come before its first, which any order fulfils.
        parts.concat()
    })
}

/// What was there stays, in its order; what goes in is one piece and at most a comma.
fn only_adds(before: &str, after: &str) -> bool {
    let (before, after) = (before.as_bytes(), after.as_bytes());
    let head = before.iter().zip(after).take_while(|(a, b)| a == b).count();
    (0..=head).any(|cut| {
        let (rest, new) = (&before[cut..], &after[cut..]);
        let around = |new: &[u8]| {
            (0..=rest.len())
                .any(|cut| new.starts_with(&rest[..cut]) && new[cut..].ends_with(&rest[cut..]))
        };
        new.ends_with(rest) || new.strip_prefix(b",").is_some_and(around)
    })
}

fn holds(format: Format, before: &str) -> Result<(), TestCaseError> {
    let changes = [entry()];
    let back = inverse(format, before, &changes).unwrap();
    let after = apply(format, before, &changes).unwrap();
    prop_assert!(only_adds(before, &after), "{before:?} became {after:?}");
    prop_assert_eq!(
        &apply(format, &after, &changes).unwrap(),
        &after,
        "a second time changes nothing"
    );
    prop_assert_eq!(apply(format, &after, &back).unwrap(), before, "taken back from {:?}", after);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn everything_else_in_json_stays(
        members in object(prop::collection::vec(json_value(), 1..4).boxed()),
        inner in object(prop::collection::vec(json_value(), 1..3).boxed()),
        within in any::<bool>(),
    ) {
        let text = if within { members.replacen("\"k0\"", "\"s\"", 1) } else { members };
        // The section has to be an object for an entry to go in.
        let text = match read(Format::Json, &text).unwrap().get("s") {
            Some(value) if !value.is_object() || value.as_object().unwrap().is_empty() => {
                format!("{{ \"s\": {inner} }}")
            }
            _ => text,
        };
        holds(Format::Json, &text)?;
    }

    #[test]
    fn everything_else_in_toml_stays(text in parts(&TOML)) {
        holds(Format::Toml, &text)?;
    }

    #[test]
    fn everything_else_in_yaml_stays(text in parts(&YAML)) {
        holds(Format::Yaml, &text)?;
    }
}
