//! JSON that was sent in one line, with a line for each member: nobody can cite a place in it else.

/// A document with a line longer than this is laid out anew, in bytes.
const LONG_LINE: usize = 400;
/// Deeper members are indented no further: an indentation per level would grow with the square.
const DEEPEST: usize = 12;

/// The document with line ends and indentation, when it needs them; only white space differs, so that
/// numbers and keys are as they came. `None` when it is readable as it is.
pub(super) fn laid_out(text: &str) -> Option<String> {
    let one = text.trim_start().starts_with(['{', '[']);
    if !one || text.lines().all(|line| line.len() <= LONG_LINE) {
        return None;
    }
    let mut out = String::with_capacity(text.len() + text.len() / 2);
    let mut characters = text.chars().peekable();
    let mut depth = 0_usize;
    while let Some(c) = characters.next() {
        match c {
            '"' => {
                out.push(c);
                while let Some(inside) = characters.next() {
                    out.push(inside);
                    match inside {
                        '\\' => out.extend(characters.next()),
                        '"' => break,
                        _ => {}
                    }
                }
            }
            '{' | '[' => {
                out.push(c);
                while characters.next_if(char::is_ascii_whitespace).is_some() {}
                if let Some(end) = characters.next_if(|next| matches!(next, '}' | ']')) {
                    out.push(end);
                } else {
                    depth += 1;
                    line(&mut out, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                line(&mut out, depth);
                out.push(c);
            }
            ',' => {
                out.push(c);
                line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            c if c.is_ascii_whitespace() => {}
            c => out.push(c),
        }
    }
    out.push('\n');
    Some(out)
}

fn line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth.min(DEEPEST)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_becomes_many_and_nothing_but_blanks_changes() {
        let long = "x".repeat(LONG_LINE);
        let text = format!(r#"{{"a":[1.0,{{"b":"c,\" {{"}},[]],"e":1e400,"long":"{long}"}}"#);
        let out = laid_out(&text).unwrap();
        assert!(out.starts_with("{\n  \"a\": [\n    1.0,\n    {\n      \"b\": \"c,\\\" {\"\n    },\n    []\n  ],\n  \"e\": 1e400,\n"), "{out}");
        assert_eq!(laid_out("{\"short\": [1, 2]}"), None);
        assert_eq!(laid_out(&format!("plain {long}")), None);
        // Hostile: deep, and cut off within a string. It stays of the same order.
        for odd in ["[".repeat(100_000), format!("[\"{long}\\")] {
            assert!(laid_out(&odd).unwrap().len() <= odd.len() * (2 * DEEPEST + 3));
        }
    }
}
