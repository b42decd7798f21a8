//! HTML in the making: tags are constants of the program, everything else is escaped.

use std::fmt::Display;

use crate::terminal::text::steers;

/// A page, or a part of one.
#[derive(Debug, Default)]
pub(crate) struct Html(String);

impl Html {
    /// Links to the newer and the older part of a list: `link` as markup up to the filter's value.
    pub(super) fn pager(&mut self, link: &'static str, filter: &str, page: usize, older: bool) {
        self.raw("<p class=\"pages\">");
        if page > 0 {
            self.raw("<a rel=\"prev\" href=\"").raw(link).query(filter);
            self.raw("&amp;page=").show(page - 1).raw("\">← newer</a> ");
        }
        if older {
            self.raw("<a rel=\"next\" href=\"").raw(link).query(filter);
            self.raw("&amp;page=").show(page + 1).raw("\">older →</a>");
        }
        self.raw("</p>");
    }

    /// Markup of our own. That it is `'static` keeps stored text out of it.
    pub(crate) fn raw(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// Text from anywhere, for content and for attributes in double quotes.
    ///
    /// What would reorder or hide text is shown by its number: whoever looks here wants to see it.
    pub(crate) fn text(&mut self, text: &str) -> &mut Self {
        for c in text.chars() {
            match c {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                '\n' | '\t' => self.0.push(c),
                '\r' => {}
                c if steers(c) => {
                    self.0.push_str(&format!("\u{27e8}U+{:04X}\u{27e9}", u32::from(c)));
                }
                c => self.0.push(c),
            }
        }
        self
    }

    /// A number, or what else displays as harmless text.
    pub(crate) fn show(&mut self, value: impl Display) -> &mut Self {
        self.text(&value.to_string())
    }

    /// Text with the words set off that begin with one of `words`, which are in lower case.
    pub(crate) fn marked(&mut self, text: &str, words: &[String]) -> &mut Self {
        let mut rest = text;
        while let Some(begin) = rest.find(is_word) {
            let (between, behind) = rest.split_at(begin);
            let end = behind.find(|c| !is_word(c)).unwrap_or(behind.len());
            let (word, behind) = behind.split_at(end);
            self.text(between);
            let lower = word.to_lowercase();
            if words.iter().any(|wanted| lower.starts_with(wanted.as_str())) {
                self.raw("<mark>").text(word).raw("</mark>");
            } else {
                self.text(word);
            }
            rest = behind;
        }
        self.text(rest)
    }

    /// Another part.
    pub(crate) fn part(&mut self, part: Self) -> &mut Self {
        self.0.push_str(&part.0);
        self
    }

    /// A value inside a query of a link.
    pub(crate) fn query(&mut self, value: &str) -> &mut Self {
        let encoded: String = url::form_urlencoded::byte_serialize(value.as_bytes()).collect();
        self.text(&encoded)
    }

    /// All of it.
    pub(crate) fn finish(self) -> String {
        self.0
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_from_elsewhere_becomes_markup() {
        let mut html = Html::default();
        html.raw("<p title=\"").text("\" onload='x'").raw("\">");
        html.text("<script>alert(1)</script>&amp;\u{202e}\u{1b}[31m\r\n").raw("</p>");
        html.query("a b&c=\"d\"");
        assert_eq!(
            html.finish(),
            "<p title=\"&quot; onload=&#39;x&#39;\">&lt;script&gt;alert(1)&lt;/script&gt;&amp;amp;\
             ⟨U+202E⟩⟨U+001B⟩[31m\n</p>a+b%26c%3D%22d%22"
        );
    }

    #[test]
    fn words_are_set_off_whole() {
        let mut html = Html::default();
        html.marked("Tokens <b> are token_x", &["token".to_owned()]);
        assert_eq!(html.finish(), "<mark>Tokens</mark> &lt;b&gt; are <mark>token_x</mark>");
    }
}
