//! `roots`: the directories in which sessions of the daemon may work.

use std::path::PathBuf;

use clap::Subcommand;
use serde_json::{Value, json};

use crate::{
    args::{Form, Shape},
    config::Flags,
    daemon::roots::{Change, Roots},
    examples::EXIT_CODES,
    terminal::{self, Exit, Problem},
    wire,
};

/// What is done with the roots.
#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// Let sessions of the daemon work in directories and all below them; it follows at once
    #[command(after_help = EXIT_CODES)]
    Add {
        /// Existing directories
        #[arg(required = true, value_name = "DIRECTORY")]
        directories: Vec<PathBuf>,
    },
    /// Take that back
    #[command(after_help = EXIT_CODES)]
    Remove {
        /// As for add; they need not be there any more
        #[arg(required = true, value_name = "DIRECTORY")]
        directories: Vec<PathBuf>,
    },
    /// List them
    #[command(after_help = EXIT_CODES)]
    List(Shape),
}

/// Does it.
pub(crate) fn run(flags: &Flags, action: Action) -> Result<Exit, Problem> {
    let configured = wire::configured(flags)?;
    let roots = Roots::new(&configured.surroundings, &configured.data_dir);
    match action {
        Action::Add { directories } => add(&roots, &directories),
        Action::Remove { directories } => remove(&roots, &directories),
        Action::List(shape) => list(&roots, shape.form()),
    }
}

fn add(roots: &Roots, directories: &[PathBuf]) -> Result<Exit, Problem> {
    // Everything or nothing: what cannot be a root is told before anything is written.
    let accepted: anyhow::Result<Vec<_>> =
        directories.iter().map(|directory| roots.acceptable(directory)).collect();
    for root in accepted.map_err(Problem::usage)? {
        let shown = root.display();
        terminal::print(&match roots.add(&root)? {
            Change::Done => format!("registered {shown}\n"),
            Change::Already => format!("registered already: {shown}\n"),
            Change::Below(above) => {
                format!("registered already: {shown}, below {}\n", above.display())
            }
        })?;
    }
    Ok(Exit::Fine)
}

fn remove(roots: &Roots, directories: &[PathBuf]) -> Result<Exit, Problem> {
    for directory in directories {
        let shown = directory.display();
        terminal::print(&match roots.remove(directory)? {
            Change::Done => format!("no longer registered: {shown}\n"),
            Change::Already => format!("not registered anyway: {shown}\n"),
            Change::Below(above) => {
                format!("still registered: {shown}, below {}\n", above.display())
            }
        })?;
    }
    Ok(Exit::Fine)
}

fn list(roots: &Roots, form: Form) -> Result<Exit, Problem> {
    let roots = roots.list()?;
    let row = |root: &PathBuf| json!({ "path": root, "exists": root.is_dir() });
    let text = match form {
        Form::Json => roots.iter().map(row).collect::<Value>().to_string() + "\n",
        Form::Text if roots.is_empty() => {
            "no roots are registered; register some with: quietcontext roots add DIRECTORY\n"
                .to_owned()
        }
        Form::Text => {
            let mut text = String::new();
            for root in &roots {
                let missing = if root.is_dir() { "" } else { "  (not there)" };
                text.push_str(&format!("{}{missing}\n", root.display()));
            }
            text
        }
    };
    terminal::print(&text)?;
    Ok(Exit::Fine)
}
