//! Reads a candidate once and notes everything the score depends on.

use std::ops::Range;

use memchr::memmem;

use super::definition::{Definitions, Fit};
use super::fold::{fold, fold_into};
use super::forms::Forms;
use super::passage::Passage;
use super::porter::stem;
use super::query::{Request, Term, TermKind};
use super::stop::is_stop;
use super::tokens::{Run, Splitter, is_cjk, is_plain, pairs, parts, runs};

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
    surface: bool,
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
    /// The largest share of the query (by rarity) that is the whole name of something defined.
    pub(super) named: f64,
    /// The share of the query that is the whole of the last heading.
    pub(super) titled: f64,
    /// A word of the query is defined there.
    pub(super) defines_word: bool,
    /// How well a definition fits an identifier asked for.
    pub(super) defines: Fit,
}

/// Reads chunks for one request.
pub(super) struct Reader<'q> {
    request: &'q Request,
    forms: Forms<'q>,
    finders: Vec<memmem::Finder<'q>>,
    exact: Vec<memmem::Finder<'q>>,
    whole: Option<Passage<'q>>,
    phrases: Vec<Passage<'q>>,
    definitions: Definitions<'q>,
    average_tokens: f64,
    cjk: bool,
    splitter: Splitter,
    stemmed: Vec<u8>,
    lower: String,
    places: Vec<(u32, usize)>,
    names: Vec<Range<usize>>,
    line_ends: Vec<usize>,
    line_terms: Vec<(usize, f64)>,
}

impl<'q> Reader<'q> {
    pub(super) fn new(request: &'q Request, average_bytes: f64) -> Self {
        let whole = &request.whole;
        let telling = whole.len() >= 4
            && (whole.contains(' ') || whole.chars().any(is_cjk) || !request.exact.is_empty());
        Reader {
            request,
            forms: Forms::new(request),
            finders: request.terms.iter().map(|term| memmem::Finder::new(&term.text)).collect(),
            exact: request.exact.iter().map(memmem::Finder::new).collect(),
            whole: telling.then(|| Passage::new(whole)),
            phrases: request.phrases.iter().map(|text| Passage::new(text)).collect(),
            definitions: Definitions::new(request),
            average_tokens: (average_bytes / 5.5).max(1.0),
            cjk: request.terms.iter().any(|term| term.kind == TermKind::Cjk),
            splitter: Splitter::default(),
            stemmed: Vec::new(),
            lower: String::new(),
            places: Vec::new(),
            names: Vec::new(),
            line_ends: Vec::new(),
            line_terms: Vec::new(),
        }
    }

    /// Calls `each` with every token of a text that is a form of a term: its place, the term, the
    /// weight of the form, and whether it stands there as asked. Answers the number of tokens.
    fn tokens(&mut self, text: &str, each: &mut dyn FnMut(u32, usize, f64, bool)) -> u32 {
        let Reader { request, forms, splitter, stemmed, cjk, definitions, names, .. } = self;
        names.clear();
        let mut place = 0;
        let mut meet = |token: &str, is_pair: bool| {
            place += 1;
            if !forms.begin_like(token) {
                return;
            }
            let stem = if is_pair { token } else { stem(token, stemmed) };
            for (term, weight) in forms.of(stem) {
                let surface = request.terms.get(*term).is_some_and(|term| term.text == token);
                each(place, *term, *weight, surface);
            }
        };
        for (start, run) in runs(text) {
            match run {
                Run::Word(word) => {
                    if definitions.meet(text, start, word) {
                        names.push(start..start + word.len());
                    }
                    // Most words are no part of the query, and a look at two letters shows it.
                    if is_plain(word) && word.len() < 64 && !forms.begin_like(word) {
                        meet("", true);
                        continue;
                    }
                    splitter.word(word, &mut |token| meet(token, false));
                }
                Run::Cjk(run) if *cjk => pairs(run, &mut |pair| meet(pair, true)),
                Run::Cjk(run) => place_pairs(run, &mut meet),
            }
        }
        place
    }

    /// The rarity of what a chunk may hold: a quick look before a thorough one.
    pub(super) fn promise(&mut self, title: &str, body: &str) -> f64 {
        self.lower.clear();
        fold_into(title, &mut self.lower);
        self.lower.push('\n');
        fold_into(body, &mut self.lower);
        self.forms.promise(&self.lower)
    }

    /// Reads one chunk; `is_data`: of a document whose keys are names.
    pub(super) fn read(&mut self, title: &str, path: &str, body: &str, is_data: bool) -> Features {
        let mut terms = vec![SeenTerm::default(); self.request.terms.len()];
        self.tokens(path, &mut |_, term, weight, _| {
            terms[term].in_path = terms[term].in_path.max(weight);
        });
        self.tokens(title, &mut |_, term, weight, surface| {
            let seen = &mut terms[term];
            seen.in_title = seen.in_title.max(weight);
            seen.surface |= surface;
        });
        let mut places = std::mem::take(&mut self.places);
        places.clear();
        let titled = self.covered(title.rsplit(" > ").next().unwrap_or(title));
        self.definitions.start(is_data);
        let tokens = self.tokens(body, &mut |place, term, weight, surface| {
            let seen = &mut terms[term];
            seen.places += weight;
            seen.in_body = seen.in_body.max(weight);
            seen.surface |= surface;
            places.push((place, term));
        });
        let names = std::mem::take(&mut self.names);
        let named = names
            .iter()
            .filter_map(|name| body.get(name.clone()))
            .map(|name| self.covered(name))
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
            .filter(|(_, seen)| seen.surface)
            .map(|(at, _)| self.rarity(at))
            .sum();
        let line = self.best_line(&lower);
        let features = Features {
            length: f64::from(tokens) / self.average_tokens,
            closeness: self.closeness(&places),
            line,
            surface,
            whole: self.whole.as_ref().is_some_and(|text| text.within(&lower)),
            phrases: self.phrases.iter().filter(|text| text.within(&lower)).count(),
            exact: self.exact.iter().filter(|word| word.find(lower.as_bytes()).is_some()).count(),
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
            titled,
            terms,
        };
        self.places = places;
        self.lower = lower;
        features
    }

    /// The rarity of the terms that make up a whole name or heading, if they do: all its words are
    /// asked for, and at least two.
    fn covered(&mut self, name: &str) -> f64 {
        let mut rarity = 0.0;
        let mut words = 0;
        let mut seen: Option<usize> = None;
        for (_, run) in runs(name) {
            let Run::Word(run) = run else { return 0.0 };
            for part in parts(run) {
                let part = fold(part);
                if is_stop(&part) {
                    continue;
                }
                let stem = stem(&part, &mut self.stemmed);
                let Some((term, weight)) = self
                    .forms
                    .of(stem)
                    .iter()
                    .find(|(term, _)| self.request.terms.get(*term).is_some_and(Term::counts))
                else {
                    return 0.0;
                };
                if seen != Some(*term) {
                    rarity +=
                        weight * self.request.terms.get(*term).map_or(0.0, |term| term.rarity);
                    words += 1;
                }
                seen = Some(*term);
            }
        }
        if words >= 2 { rarity } else { 0.0 }
    }

    fn rarity(&self, term: usize) -> f64 {
        self.request.terms.get(term).map_or(0.0, |term| term.rarity)
    }

    /// Terms found over the shortest stretch of tokens that has them all.
    fn closeness(&self, places: &[(u32, usize)]) -> Option<f64> {
        let counts = |term: usize| self.request.terms.get(term).is_some_and(Term::counts);
        let mut within = vec![0u32; self.request.terms.len()];
        for (_, term) in places.iter().filter(|(_, term)| counts(*term)) {
            within[*term] = 1;
        }
        let wanted = within.iter().filter(|count| **count > 0).count();
        if wanted < 2 {
            return None;
        }
        within.fill(0);
        let (mut have, mut shortest) = (0, u32::MAX);
        let mut left = places.iter().filter(|(_, term)| counts(*term)).peekable();
        for (place, term) in places.iter().filter(|(_, term)| counts(*term)) {
            within[*term] += 1;
            have += usize::from(within[*term] == 1);
            while have == wanted
                && let Some((start, first)) = left.next()
            {
                shortest = shortest.min(place - start + 1);
                within[*first] -= 1;
                have -= usize::from(within[*first] == 0);
            }
        }
        Some((wanted as f64 / f64::from(shortest.max(1))).min(1.0))
    }

    /// The most rarity of asked terms that stand on one line, as parts of words, too.
    fn best_line(&mut self, lower: &str) -> f64 {
        self.line_ends.clear();
        self.line_ends.extend(memchr::memchr_iter(b'\n', lower.as_bytes()));
        self.line_terms.clear();
        self.line_terms.resize(self.line_ends.len() + 1, (0, 0.0));
        let mut best = 0f64;
        for (at, (term, finder)) in self.request.terms.iter().zip(&self.finders).enumerate() {
            if !term.counts() {
                continue;
            }
            let mut from = 0;
            while let Some(rest) = lower.as_bytes().get(from..)
                && let Some(found) = finder.find(rest)
            {
                let line = self.line_ends.partition_point(|end| *end < from + found);
                let (last, rarity) = &mut self.line_terms[line];
                if *last != at + 1 {
                    (*last, *rarity) = (at + 1, *rarity + term.rarity);
                    best = best.max(*rarity);
                }
                from = self.line_ends.get(line).map_or(lower.len(), |end| end + 1);
            }
        }
        best
    }

    /// What a line is worth showing for, from 0: the share of the query it holds (squared, so that
    /// one line with all of it beats many with a little), the query or a quoted part word by word, a
    /// definition of what is asked for.
    pub(super) fn line_worth(&mut self, line: &str) -> f64 {
        let lower = fold(line);
        let terms = self.request.terms.iter().zip(&self.finders);
        let held: f64 = terms
            .filter(|(term, finder)| term.counts() && finder.find(lower.as_bytes()).is_some())
            .map(|(term, _)| term.rarity)
            .sum();
        let asked: f64 = self.request.asked().map(|term| term.rarity).sum();
        let share = if asked > 0.0 { held / asked } else { 0.0 };
        let passages = self.whole.iter().chain(&self.phrases);
        let verbatim = passages.filter(|passage| passage.within(&lower)).count() as f64;
        self.definitions.start(false);
        for (start, run) in runs(line) {
            if let Run::Word(word) = run {
                self.definitions.meet(line, start, word);
            }
        }
        let defines = self.definitions.word_found() || self.definitions.fit() > Fit::None;
        share * share + verbatim + f64::from(u8::from(defines))
    }
}

/// Counts the places of a run nobody asks about.
fn place_pairs(run: &str, meet: &mut dyn FnMut(&str, bool)) {
    for _ in run.chars() {
        meet("", true);
    }
}
