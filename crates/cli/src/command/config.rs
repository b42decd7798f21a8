//! `config`: every setting, its value, and how to change it.

use std::{
    fmt::Write as _,
    fs::{DirBuilder, OpenOptions},
    io::{ErrorKind, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
};

use anyhow::{Context as _, anyhow};
use clap::Subcommand;
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

/// What to do with the configuration file.
#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// Write the file of `--example` where it belongs; one that is there stays as it is
    Init {
        /// Say where, and write nothing
        #[arg(long)]
        dry_run: bool,
    },
}

/// Does it.
pub(crate) fn act(action: &Action) -> Result<Exit, Problem> {
    let Action::Init { dry_run } = action;
    let surroundings = Surroundings::of_process();
    let path = config::to_begin(&surroundings).map_err(Problem::usage)?;
    let shown = text::one_line(&path.display().to_string());
    let there = || {
        anyhow!(
            "{shown} is there already and stays as it is; quietcontext config --example prints all \
             that can be set"
        )
    };
    if path.symlink_metadata().is_ok() {
        return Err(there().into());
    }
    let example = example_file()?;
    if *dry_run {
        terminal::print_line(&format!("would write {shown}: every setting, commented out"))?;
        return Ok(Exit::Fine);
    }
    if let Some(folder) = path.parent() {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.with_context(|| folder.display().to_string())?;
    }
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
    let written = file.and_then(|mut file| file.write_all(example.as_bytes()));
    match written {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Err(there().into()),
        written => written.with_context(|| shown.clone())?,
    }
    terminal::print_line(&format!("wrote {shown}: every setting, commented out"))?;
    Ok(Exit::Fine)
}

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
        terminal::hint("quietcontext config init writes a file to begin with");
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
