//! `config`: every setting, its value, and how to change it.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::{
    args::Form,
    config::{self, Flags, SETTINGS, Setting, Surroundings},
    terminal::{self, Exit, Problem},
};

/// Shows the configuration in force.
pub(crate) fn run(flags: &Flags, form: Form) -> Result<Exit, Problem> {
    let loaded = config::load(flags, &Surroundings::of_process()).map_err(Problem::usage)?;
    for warning in &loaded.warnings {
        terminal::warn(warning);
    }
    let settings = loaded.settings;
    let text = match form {
        Form::Json => {
            let value = |row: &Setting| (row.key.to_owned(), Value::from((row.show)(&settings)));
            let values: serde_json::Map<_, _> = SETTINGS.iter().map(value).collect();
            json!(values).to_string() + "\n"
        }
        Form::Text => {
            let mut text = String::from(
                "# ~/.config/quietcontext/config.toml, overridden by the variables, overridden by flags\n",
            );
            for row in SETTINGS {
                // A text in memory takes every line.
                let _written = write!(
                    text,
                    "\n# {}\n# {}\n{} = {:?}\n",
                    row.help,
                    row.variable(),
                    row.key,
                    (row.show)(&settings),
                );
            }
            text
        }
    };
    terminal::print(&text)?;
    Ok(Exit::Fine)
}
