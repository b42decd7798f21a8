//! `search`: questions answered by result lines, and stored text read back by reference.

mod questions;
mod read;

use crate::args::search::Request;
use crate::call::Answer;
use crate::context::Context;
use crate::error::ToolError;

pub(crate) use questions::{Checked, fresh, hit_lines, query_line, stored_list, verdict_line};
pub(crate) use read::unresolved;

/// Answers `search`.
pub(crate) fn search(context: &Context, request: Request) -> Result<Answer, ToolError> {
    match request {
        Request::Queries(args) => questions::answer(context, &args),
        Request::Refs { refs, max_bytes } => read::answer(context, refs, max_bytes),
    }
}
