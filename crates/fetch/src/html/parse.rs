//! Parsing inside limits: levels, nodes and time are bounded before the tree builder sees a tag.
//!
//! The tree builder looks through its stack of open elements for almost every tag, so a page of
//! two million nested `<div>` would take hours and not merely a deep tree.

use std::cell::Cell;

use html5ever::{
    TokenizerResult,
    buffer_queue::BufferQueue,
    interface::TreeSink as _,
    tendril::StrTendril,
    tokenizer::{Tag as Token, TagKind, Token as Piece, TokenSink, TokenSinkResult, Tokenizer},
    tree_builder::{TreeBuilder, TreeBuilderOpts},
};

use super::{
    Budget,
    elements::Tag,
    sink::Sink,
    tree::{Id, Tree},
};

/// Elements nested deeper stay text of the level above. Browsers stop at 512 as well.
const MAX_DEPTH: u32 = 512;

/// Nodes of one page; what follows is left out, and said to be.
const MAX_NODES: usize = 1_000_000;

/// How much is parsed between two looks at the clock.
const PIECE_BYTES: usize = 16 << 10;

/// A parsed page.
#[derive(Debug)]
pub(super) struct Parsed {
    pub(super) tree: Tree,
    /// A limit was reached; the end of the page is missing.
    pub(super) cut: bool,
}

pub(super) fn parse(html: &str, budget: &Budget) -> Parsed {
    let options = TreeBuilderOpts { scripting_enabled: false, ..TreeBuilderOpts::default() };
    let builder = TreeBuilder::new(Sink::new(), options);
    let limiter = Limiter { builder, dropped: Cell::new(0), cut: Cell::new(false) };
    let tokenizer = Tokenizer::new(limiter, html5ever::tokenizer::TokenizerOpts::default());
    let queue = BufferQueue::default();
    let mut rest = html;
    while !rest.is_empty() {
        if tokenizer.sink.cut.get() || budget.is_spent() {
            tokenizer.sink.cut.set(true);
            break;
        }
        let mut end = rest.len().min(PIECE_BYTES);
        while !rest.is_char_boundary(end) {
            end -= 1;
        }
        let (piece, after) = rest.split_at(end);
        rest = after;
        queue.push_back(StrTendril::from_slice(piece));
        // Anything but `Done` is a pause for a script to run; here none runs.
        while !matches!(tokenizer.feed(&queue), TokenizerResult::Done) {}
    }
    tokenizer.end();
    let cut = tokenizer.sink.cut.get();
    Parsed { tree: tokenizer.sink.builder.sink.finish(), cut }
}

/// Stands between tokenizer and tree builder.
struct Limiter {
    builder: TreeBuilder<Id, Sink>,
    /// Start tags withheld whose end tags are still to come.
    dropped: Cell<u32>,
    cut: Cell<bool>,
}

impl Limiter {
    fn admits(&self, tag: &Token) -> bool {
        let dropped = self.dropped.get();
        if dropped == 0 && self.builder.sink.depth.get() < MAX_DEPTH {
            return true;
        }
        let known = Tag::of(&tag.name);
        if known.is_void() || known.is_raw() {
            return true;
        }
        match tag.kind {
            TagKind::StartTag if self.builder.sink.depth.get() >= MAX_DEPTH => {
                self.dropped.set(dropped.saturating_add(u32::from(!tag.self_closing)));
                false
            }
            TagKind::EndTag if dropped > 0 => {
                self.dropped.set(dropped - 1);
                false
            }
            _ => true,
        }
    }
}

impl TokenSink for Limiter {
    type Handle = Id;

    fn process_token(&self, token: Piece, line: u64) -> TokenSinkResult<Id> {
        if self.builder.sink.len() >= MAX_NODES && !matches!(token, Piece::EOFToken) {
            self.cut.set(true);
            return TokenSinkResult::Continue;
        }
        match &token {
            Piece::ParseError(_) | Piece::CommentToken(_) => TokenSinkResult::Continue,
            Piece::TagToken(tag) if !self.admits(tag) => TokenSinkResult::Continue,
            _ => self.builder.process_token(token, line),
        }
    }

    fn end(&self) {
        self.builder.end();
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
        self.builder.adjusted_current_node_present_but_not_in_html_namespace()
    }
}
