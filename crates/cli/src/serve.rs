//! The server: MCP on standard input and output until one side ends it.

use std::process::ExitCode;

use quietcontext_server::{Root, Server, stdio};
use quietcontext_tools::Tool;

use crate::{
    config::Flags,
    terminal::{self, Exit, Problem},
    wire,
};

/// Serves, and says how it ended.
pub(crate) fn serve(flags: &Flags) -> ExitCode {
    terminal::finish(run(flags))
}

fn run(flags: &Flags) -> Result<Exit, Problem> {
    let wired = wire::wire(flags)?;
    let root = if wired.root.unlikely {
        Root::of_client_or(wired.root.path)
    } else {
        Root::fixed(wired.root.path)
    };
    let confinement = wired.confinement;
    let tools = Tool::ALL.into_iter().map(|tool| tool.spec(confinement));
    let server = Server::new(wired.toolbox, tools, root);
    let runtime = wire::runtime()?;
    let ending = runtime.block_on(stdio::serve(server));
    // Threads that still block are not waited for: what they write is committed or it is not.
    runtime.shutdown_background();
    ending?;
    Ok(Exit::Fine)
}
