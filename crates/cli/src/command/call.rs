//! `call`: one tool, with the arguments an agent would send and the answer it would get.

use std::{io::Read as _, path::PathBuf, sync::Arc};

use anyhow::{Context as _, anyhow};
use quietcontext_tools::{Answer, Call, Progress, Tool};
use serde_json::{Map, Value, json};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::{
    args::Form,
    config::Flags,
    terminal::{self, Exit, Problem, progress::ProgressLine},
    wire,
};

/// Calls the tool of that name with arguments as JSON text.
pub(crate) fn run(flags: &Flags, tool: &str, arguments: &str, form: Form) -> Result<Exit, Problem> {
    let tool = Tool::parse(tool).ok_or_else(|| {
        let names = Tool::ALL.map(Tool::name).join(", ");
        Problem::usage(anyhow!("unknown tool {tool}: there are {names}"))
    })?;
    let text = if arguments == "-" { read_input()? } else { arguments.to_owned() };
    let arguments = serde_json::from_str(&text)
        .context("the arguments must be one JSON object")
        .map_err(Problem::usage)?;
    call(flags, tool, arguments, form)
}

/// Everything on standard input.
pub(crate) fn read_input() -> Result<String, Problem> {
    let mut text = String::new();
    std::io::stdin().lock().read_to_string(&mut text).context("standard input")?;
    Ok(text)
}

/// Calls a tool and prints its answer.
pub(crate) fn call(
    flags: &Flags,
    tool: Tool,
    arguments: Map<String, Value>,
    form: Form,
) -> Result<Exit, Problem> {
    match answer(flags, tool, arguments)? {
        Some((answer, _)) => show(&answer, form),
        None => Ok(Exit::Interrupted),
    }
}

/// Calls a tool; its answer and the root it worked in, or `None` when a signal came first.
pub(crate) fn answer(
    flags: &Flags,
    tool: Tool,
    arguments: Map<String, Value>,
) -> Result<Option<(Answer, PathBuf)>, Problem> {
    let wired = wire::wire(flags)?;
    let root = wired.root.path;
    let line = ProgressLine::start();
    let progress = line.clone().map(|line| {
        let tell: Progress = Arc::new(move |done, total, what| line.tell(done, total, what));
        tell
    });
    let cancel = CancellationToken::new();
    let call = Call { root: root.clone(), tool, arguments, cancel: cancel.clone(), progress };
    let runtime = wire::runtime()?;
    let answer = runtime.block_on(async {
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let mut hangup = signal(SignalKind::hangup())?;
        tokio::select! {
            answer = wired.toolbox.call(call) => std::io::Result::Ok(Some(answer)),
            _ = interrupt.recv() => Ok(None),
            _ = terminate.recv() => Ok(None),
            _ = hangup.recv() => Ok(None),
        }
    });
    // A job in the background ends with the process that started it, as it does with a server.
    wired.toolbox.shutdown();
    runtime.shutdown_background();
    if let Some(line) = line {
        line.end();
    }
    Ok(answer?.map(|answer| (answer, root)))
}

/// Prints an answer.
pub(crate) fn show(answer: &Answer, form: Form) -> Result<Exit, Problem> {
    let text = answer.text.as_str();
    match form {
        Form::Text => terminal::print_line(text)?,
        Form::Json => {
            let answer = json!({ "text": text, "is_error": answer.is_error });
            terminal::print_line(&answer.to_string())?;
        }
    }
    Ok(if answer.is_error { Exit::Failed } else { Exit::Fine })
}
