//! `exec-file`: a program over one file, or over text that is stored already.

use std::fs::File;
use std::io::{self, Seek as _, Write as _};
use std::path::PathBuf;

use quietcontext_exec::{Input, Program, RunRequest, Streams};
use quietcontext_store::Location;

use crate::args::exec_file::Request;
use crate::call::Answer;
use crate::context::Context;
use crate::error::ToolError;
use crate::execute::{self, Answering, accept};
use crate::open::Named;
use crate::reference::Reference;
use crate::render::short;
use crate::root::check_root;
use crate::search::unresolved;

/// Answers `exec-file`.
pub(crate) fn exec_file(context: &Context, request: Request) -> Result<Answer, ToolError> {
    let root = &context.root.path;
    check_root(root, context.shared.config.home.as_deref())?;
    let (file, path) = input(context, &request.path)?;
    let (script, reference) = accept(context, request.script)?;
    let run = context.root.policy.authorize(
        &context.shared.executor,
        RunRequest {
            program: Program::Code { language: script.language, code: script.code },
            root: root.clone(),
            cwd: root.clone(),
            input: Input::File { file, path },
            deadline: Some(context.deadline),
            streams: Streams::Separate,
            view: context.view(),
        },
    )?;
    let run = execute::run(context, &run)?;
    let answering = Answering {
        family: "exec-file",
        max_bytes: request.max_bytes,
        intent: request.intent,
        reference,
        timeout: request.timeout,
    };
    answering.conclude(context, &run)
}

/// The file behind `path`: an existing file wins over a label; a reference needs its `r:`.
fn input(context: &Context, path: &str) -> Result<(File, PathBuf), ToolError> {
    let bare = path.trim().trim_start_matches('[');
    if bare.get(..2).is_some_and(|prefix| prefix.eq_ignore_ascii_case("r:")) {
        return stored_range(context, path);
    }
    let refused = match context.open(path) {
        Ok(Named::File(opened)) => return Ok((opened.file, opened.path)),
        Ok(Named::Directory { .. }) => {
            return Err(ToolError::argument(
                "path",
                format!("{} is a directory; name a regular file", short(path)),
            ));
        }
        // What is denied is not handed out as stored text of that name either.
        Err(error @ ToolError::Refused(_)) => return Err(error),
        Err(error) => error,
    };
    match context.root.store.by_label(path) {
        Ok(Some(document)) => {
            let mut raw = context.root.store.raw(document.id).map_err(store_failed)?;
            spooled(context, &mut raw)
        }
        _ => Err(refused),
    }
}

/// Stored bytes behind `r:…`: the raw bytes of a whole document, the text of a part of one.
fn stored_range(context: &Context, path: &str) -> Result<(File, PathBuf), ToolError> {
    let reference = Reference::parse(path).map_err(|error| ToolError::argument("path", error))?;
    let store = &context.root.store;
    let (document, first, skip, last) =
        match store.locate(&reference.span()).map_err(store_failed)? {
            Location::Live { document, first, skip, last } => (document, first, skip, last),
            other => {
                return Err(ToolError::argument("path", unresolved(reference, &other)));
            }
        };
    let whole =
        document.range.is_some_and(|range| range.first == first && range.last == last && skip == 0);
    if whole {
        let mut raw = store.raw(document.id).map_err(store_failed)?;
        return spooled(context, &mut raw);
    }
    let mut spool = spool(context)?;
    let mut next = first;
    let mut skip = skip as usize;
    while next <= last {
        let chunks = store.chunks(next, last, 1 << 20).map_err(store_failed)?;
        let Some(end) = chunks.last().map(|chunk| chunk.id) else { break };
        for chunk in &chunks {
            let text = chunk.text.get(skip..).unwrap_or_default();
            skip = 0;
            spool.write_all(text.as_bytes()).map_err(spool_failed)?;
        }
        next = quietcontext_store::ChunkId(end.0 + 1);
        context.check_cancelled()?;
    }
    rewound(spool)
}

/// Copies stored bytes into a file without a name; the program gets it as standard input.
fn spooled(context: &Context, bytes: &mut dyn io::Read) -> Result<(File, PathBuf), ToolError> {
    let mut spool = spool(context)?;
    let mut buffer = vec![0; 256 << 10];
    loop {
        context.check_cancelled()?;
        let read = bytes.read(&mut buffer).map_err(spool_failed)?;
        if read == 0 {
            return rewound(spool);
        }
        spool.write_all(buffer.get(..read).unwrap_or_default()).map_err(spool_failed)?;
    }
}

fn spool(context: &Context) -> Result<File, ToolError> {
    context.shared.executor.scratch_file().map_err(spool_failed)
}

fn rewound(mut spool: File) -> Result<(File, PathBuf), ToolError> {
    spool.rewind().map_err(spool_failed)?;
    // A file without a name is reached through the program's own standard input.
    Ok((spool, PathBuf::from("/dev/stdin")))
}

fn spool_failed(error: io::Error) -> ToolError {
    ToolError::Failed(format!("the stored text could not be handed to the program: {error}"))
}

fn store_failed(error: quietcontext_store::StoreError) -> ToolError {
    ToolError::Failed(error.to_string())
}
