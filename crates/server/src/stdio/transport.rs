//! The guarded transport under the SDK: lines in, messages out, each request answered once.

use std::{io, sync::Arc};

use rmcp::{
    RoleServer,
    model::{ClientJsonRpcMessage, ServerJsonRpcMessage},
    transport::Transport,
};
use tokio::sync::{Mutex, mpsc};
use tokio_util::sync::CancellationToken;

use super::{
    flights::Flights,
    lines::{Line, Lines},
    stream::{Input, Output},
};
use crate::frame::{self, Frame, MESSAGE_LIMIT};

/// Messages read ahead of the SDK; beyond them the client's writes wait.
const READ_AHEAD: usize = 16;

/// The standard streams as the SDK's transport.
#[derive(Debug)]
pub(super) struct Guarded {
    messages: mpsc::Receiver<ClientJsonRpcMessage>,
    flights: Flights,
    out: Writer,
}

/// The end of the conversation, from whichever side it comes.
#[derive(Debug, Clone, Default)]
pub(super) struct Hangup {
    /// The client ended our input: what was asked before may still be answered.
    pub(super) input_ended: CancellationToken,
    /// The client no longer reads what we write.
    pub(super) output_closed: CancellationToken,
}

/// Writes whole lines, one at a time.
#[derive(Debug, Clone)]
struct Writer {
    output: Arc<Mutex<Output>>,
    closed: CancellationToken,
}

impl Writer {
    async fn write(&self, line: Vec<u8>) -> io::Result<()> {
        let mut output = self.output.lock().await;
        let written = output.write(&line).await;
        if written.is_err() {
            self.closed.cancel();
        }
        written
    }
}

/// Starts reading `input`; returns the transport and the signs of its end.
pub(super) fn start(input: Input, output: Output) -> (Guarded, Hangup) {
    let hangup = Hangup::default();
    let out = Writer { output: Arc::new(Mutex::new(output)), closed: hangup.output_closed.clone() };
    let (sender, messages) = mpsc::channel(READ_AHEAD);
    let reader = Reader { input, out: out.clone(), messages: sender };
    let ended = hangup.input_ended.clone().drop_guard();
    tokio::spawn(async move {
        // Says so however the reading ends.
        let _ended = ended;
        reader.run().await;
    });
    (Guarded { messages, flights: Flights::default(), out }, hangup)
}

struct Reader {
    input: Input,
    out: Writer,
    messages: mpsc::Sender<ClientJsonRpcMessage>,
}

impl Reader {
    async fn run(mut self) {
        let mut lines = Lines::new(MESSAGE_LIMIT);
        loop {
            let count = match self.input.read(lines.buffer()).await {
                Ok(count) => count,
                Err(error) => {
                    tracing::debug!(%error, "standard input failed");
                    0
                }
            };
            while let Some(line) = lines.next() {
                if self.take(line).await.is_err() {
                    return;
                }
            }
            if count == 0 {
                if let Some(line) = lines.last() {
                    let _handed_on = self.take(line).await;
                }
                return;
            }
        }
    }

    /// Hands one line on or answers it; an error when nobody is there any more.
    async fn take(&self, line: Line) -> Result<(), ()> {
        let frame = match line {
            Line::Whole(bytes) => frame::read(&bytes),
            Line::TooLong { id } => frame::too_long(id.as_deref()),
        };
        match frame {
            Frame::Message(message) => self.messages.send(*message).await.map_err(|_| ()),
            Frame::Refused(refusal) => {
                tracing::debug!(?refusal, "refused a line");
                let mut line = refusal.message().into_bytes();
                line.push(b'\n');
                self.out.write(line).await.map_err(|_| ())
            }
            Frame::Nothing => Ok(()),
        }
    }
}

impl Transport<RoleServer> for Guarded {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let line = self.flights.answer(message).map(|message| {
            let mut line = serde_json::to_vec(&message)?;
            line.push(b'\n');
            io::Result::Ok(line)
        });
        let out = self.out.clone();
        async move {
            match line {
                Some(line) => out.write(line?).await,
                None => Ok(()),
            }
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            if let Some(message) = self.flights.queued() {
                return Some(message);
            }
            let message = self.messages.recv().await?;
            if let Some(message) = self.flights.admit(message) {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.messages.close();
        Ok(())
    }
}
