//! Reads a candidate once and notes everything the score depends on.

use std::ops::Range;

use super::beginnings::{Beginnings, Stretch};
use super::definition::{Definitions, Fit};
use super::fold::{fold, fold_into};
use super::forms::{Form, Forms};
use super::glance::Glance;
use super::lines::{Lines, Parts};
use super::names::covered;
use super::nearness::closeness;
use super::passage::Passage;
use super::porter::{base, stem};
use super::query::{Request, Term, TermKind};
use super::sketch::Sketch;
use super::tokens::{Run, Splitter, is_cjk, pairs, runs};
use crate::store::ChunkText;

/// What was seen of one term.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SeenTerm {
    /// Places in the text, weighted by form.
    pub(super) places: f64,
    /// The best form in the text, in the title, in the path: 0 to 1.
    pub(super) in_body: f64,
    /// See `in_body`.
    pub(super) in_title: f64,
    /// See `in_body`.
    pub(super) in_path: f64,
    /// It stands there exactly as asked.
    pub(super) surface: f64,
}

/// What was seen in one chunk.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "observations, each independent of the others")]
pub(super) struct Features {
    /// By term of the request.
    pub(super) terms: Vec<SeenTerm>,
    /// Length relative to an average chunk.
    pub(super) length: f64,
    /// Number of terms found over the shortest stretch that has them all; `None` for fewer than two.
    pub(super) closeness: Option<f64>,
    /// The most rarity that stands on one line.
    pub(super) line: f64,
    /// The rarity of terms that stand there exactly as asked.
    pub(super) surface: f64,
    /// The whole query stands there.
    pub(super) whole: bool,
    /// How many quoted phrases stand there.
    pub(super) phrases: usize,
    /// How many identifier-like words stand there as typed.
    pub(super) exact: usize,
    /// A path in the query is part of the path.
    pub(super) path_named: bool,
    /// The query is the path or the end of it.
    pub(super) path_is_query: bool,
    /// It is the first chunk of its document.
    pub(super) begins_document: bool,
    /// The most rarity of the query that makes up the name of something defined.
    pub(super) named: f64,
    /// A word of the query is defined there.
    pub(super) defines_word: bool,
    /// How well a definition fits an identifier asked for.
    pub(super) defines: Fit,
}

/// What a word is worth that is only derived from the one asked for: `replacement` for `replaces`.
const DERIVED: f64 = 0.75;
const INFLECTED: f64 = 0.5;

/// A token of a text that is a form of a term.
struct Token {
    /// Its place among all tokens.
    place: u32,
    /// The byte its word starts at.
    at: usize,
    /// The term, by its place in the request.
    term: usize,
    /// The weight of the form.
    weight: f64,
    /// It stands there as asked: 1, inflected: a half, derived: 0.
    surface: f64,
}

/// Title and path of the chunk read last, and what was seen of the terms there.
#[derive(Default)]
struct Around {
    title: String,
    path: String,
    seen: Vec<SeenTerm>,
}

/// Reads chunks for one request.
pub(super) struct Reader<'q> {
    request: &'q Request,
    forms: Forms<'q>,
    lines: Lines,
    parts: Parts<'q>,
    exact: Vec<Passage<'q>>,
    whole: Option<Passage<'q>>,
    phrases: Vec<Passage<'q>>,
    definitions: Definitions<'q>,
    average_tokens: f64,
    cjk: bool,
    splitter: Splitter,
    beginnings: Beginnings,
    around: Around,
    stemmed: Vec<u8>,
    based: Vec<u8>,
    lower: String,
    places: Vec<(u32, usize)>,
    within: Vec<u32>,
    names: Vec<Range<usize>>,
}

impl<'q> Reader<'q> {
    pub(super) fn new(request: &'q Request, average_bytes: f64) -> Self {
        let whole = &request.whole;
        let telling = whole.len() >= 4
            && (whole.contains(' ') || whole.chars().any(is_cjk) || !request.exact.is_empty());
        Reader {
            request,
            forms: Forms::new(request),
            lines: Lines::default(),
            parts: Parts::new(request),
            exact: request.exact.iter().map(|word| Passage::new(word)).collect(),
            whole: telling.then(|| Passage::new(whole)),
            phrases: request.phrases.iter().map(|text| Passage::new(text)).collect(),
            definitions: Definitions::new(request),
            average_tokens: (average_bytes / 5.5).max(1.0),
            cjk: request.terms.iter().any(|term| term.kind == TermKind::Cjk),
            splitter: Splitter::default(),
            beginnings: Beginnings::default(),
            around: Around::default(),
            stemmed: Vec::new(),
            based: Vec::new(),
            lower: String::new(),
            places: Vec::new(),
            within: Vec::new(),
            names: Vec::new(),
        }
    }

    /// Calls `each` with every token of a text that is a form of a term.
    fn tokens(&mut self, text: &str, beginnings: &Beginnings, each: &mut dyn FnMut(&Token)) {
        let Reader { request, forms, splitter, stemmed, based, cjk, definitions, names, .. } = self;
        names.clear();
        let mut from = 0;
        loop {
            let awaited = definitions.await_word();
            let wanted = |beginning| awaited || forms.may_begin(beginning);
            let Some(stretch) = beginnings.next(from, wanted) else { return };
            let Stretch { start, first, end, telling } = stretch;
            from = end;
            let mut runs = runs(text.get(start..).unwrap_or_default());
            let Some((_, run)) = runs.next() else { continue };
            let mut place = first as u32;
            let mut meet = |token: &str, is_pair: bool| {
                place += 1;
                if token.is_empty() || !forms.begin_like(token.as_bytes()) {
                    return;
                }
                let stem = if is_pair { token } else { stem(token, stemmed) };
                for Form { term, weight, base: wanted } in forms.of(stem) {
                    let surface = request.terms.get(*term).is_some_and(|term| term.text == token);
                    let derived =
                        !surface && wanted.is_some_and(|wanted| base(token, based) != wanted);
                    let weight = if derived { weight * DERIVED } else { *weight };
                    let surface = if surface {
                        1.0
                    } else if derived {
                        0.0
                    } else {
                        INFLECTED
                    };
                    each(&Token { place, at: start, term: *term, weight, surface });
                }
            };
            match run {
                Run::Word(word) => {
                    if (awaited || telling) && definitions.meet(text, start, word) {
                        names.push(start..start + word.len());
                    }
                    if !runs.was_plain(word) {
                        let wanted = |part: &[u8]| forms.begin_like(part);
                        splitter.compound(word, &wanted, &mut |token| meet(token, false));
                    } else if forms.begin_like(word.as_bytes()) {
                        splitter.word(word, &mut |token| meet(token, false));
                    }
                }
                Run::Cjk(run) if *cjk => pairs(run, &mut |pair| meet(pair, true)),
                Run::Cjk(_) => {}
            }
        }
    }

    /// Looks at a title and a text: much quicker than reading them.
    pub(super) fn glance(&mut self, title: &str, body: &str) -> Glance<'_, 'q> {
        self.lower.clear();
        fold_into(title, &mut self.lower);
        let title_end = self.lower.len();
        fold_into(body, &mut self.lower);
        let Reader { forms, whole, phrases, exact, lower, .. } = self;
        let (title, body) = lower.split_at(title_end);
        Glance { forms, whole: whole.as_ref(), passages: [phrases, exact], title, body }
    }

    /// The rarity of what a text may hold of which only the sketch is there.
    pub(super) fn promise_of(&self, sketch: &Sketch) -> f64 {
        self.forms.promise_of(sketch)
    }

    /// Whether something quoted, or a name as it was typed, may stand there.
    pub(super) fn may_quote(&self, sketch: &Sketch) -> bool {
        self.phrases.iter().chain(&self.exact).any(|passage| passage.may_be_within(sketch))
    }

    /// Reads one chunk, of a document with this path; `is_data`: of a document whose keys are names.
    pub(super) fn read(&mut self, chunk: &ChunkText, path: &str, is_data: bool) -> Features {
        let (title, body, beginnings) = (chunk.title(), chunk.body(), chunk.beginnings());
        let mut terms = vec![SeenTerm::default(); self.request.terms.len()];
        self.around(title, path, &mut terms);
        let mut places = std::mem::take(&mut self.places);
        places.clear();
        self.definitions.start(is_data);
        let mut lines = std::mem::take(&mut self.lines);
        lines.start();
        self.tokens(body, beginnings, &mut |token| {
            let seen = &mut terms[token.term];
            seen.places += token.weight;
            seen.in_body = seen.in_body.max(token.weight);
            seen.surface = seen.surface.max(token.surface);
            places.push((token.place, token.term));
            lines.mark(body, token.at, token.term, token.weight);
        });
        let names = std::mem::take(&mut self.names);
        let named = names
            .iter()
            .filter_map(|name| body.get(name.clone()))
            .map(|name| covered(name, self.request, &self.forms, &mut self.stemmed))
            .fold(0.0, f64::max);
        self.names = names;
        let mut lower = std::mem::take(&mut self.lower);
        lower.clear();
        fold_into(body, &mut lower);
        let folded_path = fold(path);
        let asked =
            |(at, _): &(usize, &SeenTerm)| self.request.terms.get(*at).is_some_and(Term::counts);
        let surface = terms
            .iter()
            .enumerate()
            .filter(asked)
            .map(|(at, seen)| self.rarity(at) * seen.surface)
            .sum();
        let line = lines.best(&lower, self.request, &self.parts);
        self.lines = lines;
        let features = Features {
            length: beginnings.tokens() as f64 / self.average_tokens,
            closeness: closeness(&places, self.request, &mut self.within),
            line,
            surface,
            whole: self.whole.as_ref().is_some_and(|text| text.within(&lower)),
            phrases: self.phrases.iter().filter(|text| text.within(&lower)).count(),
            exact: self.exact.iter().filter(|word| word.within(&lower)).count(),
            path_named: self
                .request
                .exact
                .iter()
                .any(|word| word.contains('/') && folded_path.contains(word.as_str())),
            begins_document: false,
            path_is_query: self.request.path.as_ref().is_some_and(|wanted| {
                folded_path
                    .strip_suffix(fold(wanted).as_str())
                    .is_some_and(|before| before.is_empty() || before.ends_with('/'))
            }),
            defines_word: self.definitions.word_found(),
            defines: self.definitions.fit(),
            named,
            terms,
        };
        self.places = places;
        self.lower = lower;
        features
    }

    /// Notes the terms in title and path. Those of the chunk before are often the same.
    fn around(&mut self, title: &str, path: &str, terms: &mut [SeenTerm]) {
        let Around { title: last_title, path: last_path, seen } = &self.around;
        if seen.len() == terms.len() && last_title == title && last_path == path {
            terms.copy_from_slice(seen);
            return;
        }
        let mut beginnings = std::mem::take(&mut self.beginnings);
        beginnings.note(path, &mut self.splitter);
        self.tokens(path, &beginnings, &mut |token| {
            let seen = &mut terms[token.term];
            seen.in_path = seen.in_path.max(token.weight);
        });
        beginnings.note(title, &mut self.splitter);
        self.tokens(title, &beginnings, &mut |token| {
            let seen = &mut terms[token.term];
            seen.in_title = seen.in_title.max(token.weight);
            seen.surface = seen.surface.max(token.surface);
        });
        self.beginnings = beginnings;
        let Around { title: last_title, path: last_path, seen } = &mut self.around;
        title.clone_into(last_title);
        path.clone_into(last_path);
        seen.clear();
        seen.extend_from_slice(terms);
    }

    fn rarity(&self, term: usize) -> f64 {
        self.request.terms.get(term).map_or(0.0, |term| term.rarity)
    }

    /// What a line is worth showing for, from 0: the share of the query it holds (squared, so that
    /// one line with all of it beats many with a little), the query or a quoted part word by word, a
    /// definition of what is asked for. `lower` is the line, folded.
    pub(super) fn line_worth(&mut self, line: &str, lower: &str) -> f64 {
        let passages = self.whole.iter().chain(&self.phrases);
        let verbatim = passages.filter(|passage| passage.within(lower)).count() as f64;
        // Most lines have nothing of the query.
        if verbatim <= 0.0 && self.forms.promise([lower]) <= 0.0 {
            return 0.0;
        }
        self.definitions.start(false);
        let mut lines = std::mem::take(&mut self.lines);
        lines.start();
        let mut beginnings = std::mem::take(&mut self.beginnings);
        beginnings.note(line, &mut self.splitter);
        self.tokens(line, &beginnings, &mut |token| {
            lines.mark(line, token.at, token.term, token.weight);
        });
        self.beginnings = beginnings;
        let held = lines.best(lower, self.request, &self.parts);
        self.lines = lines;
        let asked: f64 = self.request.asked().map(|term| term.rarity).sum();
        let share = if asked > 0.0 { held / asked } else { 0.0 };
        let defines = self.definitions.word_found() || self.definitions.fit() > Fit::None;
        share * share + verbatim + f64::from(u8::from(defines))
    }
}
