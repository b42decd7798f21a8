//! MCP over standard input and output: one client, one root, one life.
//!
//! Reading order: [`serve`]; `transport` (what the SDK sees), with `lines` and `flights` (ids) beneath
//! it; `stream` (the descriptors); `ending` (signals and the parent's death).

mod ending;
mod flights;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzing;
mod lines;
mod stream;
#[cfg(test)]
mod tests;
mod transport;
mod watched;

use std::{io, pin::pin, time::Duration};

use rmcp::service::serve_directly;

pub use ending::Ending;

use self::{
    ending::Watch,
    stream::{Input, Output},
};
use crate::{Server, calls::Calls};

/// How long answers that are under way may take after the end of input, before every process is
/// stopped: enough for `printf … | quietcontext` to see what it asked for.
const GRACE: Duration = Duration::from_millis(250);

/// How long the answers of stopped calls may take to be written.
const SETTLE: Duration = Duration::from_millis(250);

/// Serves MCP on this process's standard streams until one side ends it.
///
/// When this returns, every process that calls had started has been stopped. Nothing else needs to
/// be waited for: whatever an answer mentions was committed before it.
///
/// # Errors
///
/// When the standard streams cannot be taken or signals cannot be watched.
pub async fn serve<C: Calls>(server: Server<C>) -> io::Result<Ending> {
    let mut watch = Watch::start()?;
    let (input, output) = stream::take()?;
    Ok(converse(server, input, output, &mut watch).await)
}

/// One session over any pair of streams.
async fn converse<C: Calls>(
    server: Server<C>,
    input: Input,
    output: Output,
    watch: &mut Watch,
) -> Ending {
    let (transport, hangup) = transport::start(input, output);
    let handler = server.handler();
    // Not the SDK's own opening: it lets nothing come before `initialize` but ping and discovery,
    // and ends the session at a notification. Here every request stands by itself.
    let session = serve_directly(handler, transport, None);
    let stop = session.cancellation_token();
    let mut done = pin!(session.waiting());
    let mut open = true;
    let ending = tokio::select! {
        ending = watch.ending() => ending,
        () = hangup.input_ended.cancelled() => Ending::EndOfInput,
        () = hangup.output_closed.cancelled() => Ending::OutputClosed,
        _ = &mut done => {
            open = false;
            Ending::EndOfInput
        }
    };
    tracing::info!(%ending, "ending");
    if open && ending == Ending::EndOfInput {
        tokio::select! {
            _ = &mut done => open = false,
            () = tokio::time::sleep(GRACE) => {}
            _ = watch.ending() => {}
        }
    }
    server.stop();
    stop.cancel();
    if open && ending == Ending::EndOfInput {
        let _settled = tokio::time::timeout(SETTLE, done).await;
    }
    ending
}
