//! `config`: every setting, its value, and how to change it.

use std::fmt::Write as _;

use serde_json::json;

use crate::{
    args::Form,
    config::{self, Flags, Place, SETTINGS, Setting, Surroundings},
    terminal::{
        self, Exit, Problem,
        look::{Look, Style},
        text,
    },
};

/// Shows the configuration in force.
pub(crate) fn run(flags: &Flags, form: Form) -> Result<Exit, Problem> {
    let loaded = config::load(flags, &Surroundings::of_process()).map_err(Problem::usage)?;
    for warning in &loaded.warnings {
        terminal::warn(warning);
    }
    let (settings, origins) = (loaded.settings, loaded.origins);
    let origin = |row: &Setting| origins.get(row.key).map_or("default", String::as_str);
    let text = match form {
        Form::Json => {
            let value = |row: &Setting| {
                let value = json!({ "value": (row.show)(&settings), "from": origin(row) });
                (row.key.to_owned(), value)
            };
            let values: serde_json::Map<_, _> = SETTINGS.iter().map(value).collect();
            json!(values).to_string() + "\n"
        }
        Form::Text => {
            let look = Look::stdout();
            let mut text = String::new();
            for row in SETTINGS {
                let value = format!("{} = {:?}", row.key, (row.show)(&settings));
                let style = if origins.contains_key(row.key) { Style::Bold } else { Style::Plain };
                let variable = variable(row).map(|name| format!("; variable: {name}"));
                let from = format!("# {}{}", origin(row), variable.unwrap_or_default());
                // A text in memory takes every line.
                let _written = writeln!(
                    text,
                    "{}\n{}  {}\n",
                    look.paint(Style::Dim, &comment(row.help)),
                    look.paint(style, &text::one_line(&value)),
                    look.paint(Style::Place, &text::one_line(&from)),
                );
            }
            text
        }
    };
    terminal::print(&text)?;
    if form == Form::Text {
        terminal::hint("quietcontext config --example prints a file to begin with");
    }
    Ok(Exit::Fine)
}

/// Prints a file that sets nothing and shows everything that can be set.
pub(crate) fn example() -> Result<Exit, Problem> {
    terminal::print(&example_file()?)?;
    Ok(Exit::Fine)
}

fn example_file() -> Result<String, Problem> {
    // Defaults as they are for whoever reads it: a home of no name stands for every home.
    let nobody = Surroundings { home: Some("/~".into()), variables: Vec::new() };
    let settings = config::load(&Flags::default(), &nobody).map_err(Problem::usage)?.settings;
    let mut text = String::from(
        "# ~/.config/quietcontext/config.toml: what can be set, each with its default. Take the # away in\n\
         # front of a setting to change it. A variable overrides the file, a flag overrides both; what\n\
         # loosens the sandbox is read from this file and from flags only.\n",
    );
    for row in SETTINGS.iter().filter(|row| row.place.in_file()) {
        let value = (row.show)(&settings).replace("/~/", "~/");
        let variable = variable(row).map(|name| format!("# variable: {name}\n"));
        let variable = variable.unwrap_or_default();
        // A text in memory takes every line.
        let _written =
            writeln!(text, "\n{}\n{variable}#{} = {value:?}", comment(row.help), row.key);
    }
    Ok(text)
}

/// What a setting is, as lines of a comment.
fn comment(help: &str) -> String {
    const COLUMNS: usize = 98;
    let mut text = String::new();
    let mut line = String::from("#");
    for word in help.split(' ') {
        if line.len() + 1 + word.len() > COLUMNS {
            text.push_str(&line);
            text.push('\n');
            line.truncate(1);
        }
        line.push(' ');
        line.push_str(word);
    }
    text + &line
}

/// The variable that overrides the file, if one does.
fn variable(row: &Setting) -> Option<String> {
    (row.place != Place::FileOnly).then(|| row.variable())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_is_a_file_that_sets_the_defaults() {
        let example = example_file().map_err(|problem| format!("{problem:?}")).unwrap();
        insta::assert_snapshot!(machine_independent(&example));
        let file: Vec<&str> = example
            .lines()
            .filter_map(|line| line.strip_prefix('#'))
            .filter(|line| !line.starts_with(' '))
            .collect();
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join(".config/quietcontext");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("config.toml"), file.join("\n")).unwrap();
        let surroundings = Surroundings { home: Some(home.path().into()), variables: Vec::new() };
        let set = config::load(&Flags::default(), &surroundings).unwrap();
        let plain = Surroundings { home: Some(home.path().into()), variables: Vec::new() };
        std::fs::remove_file(folder.join("config.toml")).unwrap();
        let default = config::load(&Flags::default(), &plain).unwrap();
        for row in SETTINGS.iter().filter(|row| row.place.in_file()) {
            assert_eq!((row.show)(&set.settings), (row.show)(&default.settings), "{}", row.key);
            assert!(set.origins.contains_key(row.key), "{}", row.key);
        }
    }

    /// The default of a program's memory depends on the machine.
    fn machine_independent(text: &str) -> String {
        let mask = |line: &str| match line.split_once("memory_bytes = ") {
            Some((key, _)) => format!("{key}memory_bytes = (half of the machine's)"),
            None => line.to_owned(),
        };
        text.lines().map(mask).collect::<Vec<_>>().join("\n")
    }
}
