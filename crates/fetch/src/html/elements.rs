//! The HTML elements that matter to the conversion, and how each one breaks lines: one table.

use html5ever::{LocalName, local_name};

/// How an element separates itself from what stands before and after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Flow {
    /// Part of the running text.
    Inline,
    /// Like inline, but never glued to its neighbours.
    Apart,
    /// Its own line.
    Line,
    /// Its own paragraph.
    Paragraph,
    /// Never part of the text: code, pictures, controls.
    Never,
}

macro_rules! elements {
    ($($variant:ident $name:tt $flow:ident,)*) => {
        /// An element by name. `Other` is inline; a custom element stands apart.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum Tag { $(#[doc = $name] $variant,)* #[doc = "x-y"] Custom, #[doc = "?"] Other }

        impl Tag {
            /// The tag of an HTML element's name (lower case). Names are interned numbers.
            pub(super) fn of(name: &LocalName) -> Self {
                match *name {
                    $(local_name!($name) => Self::$variant,)*
                    _ if name.contains('-') => Self::Custom,
                    _ => Self::Other,
                }
            }

            /// How it breaks lines.
            pub(super) fn flow(self) -> Flow {
                match self {
                    $(Self::$variant => Flow::$flow,)*
                    Self::Custom => Flow::Apart,
                    Self::Other => Flow::Inline,
                }
            }
        }

        #[cfg(test)]
        const NAMES: &[&str] = &[$($name),*];
    };
}

elements! {
    A "a" Inline,
    Address "address" Line,
    Annotation "annotation" Inline,
    Article "article" Line,
    Aside "aside" Line,
    Audio "audio" Never,
    B "b" Inline,
    Base "base" Never,
    Blockquote "blockquote" Paragraph,
    Body "body" Line,
    Br "br" Inline,
    Button "button" Never,
    Canvas "canvas" Never,
    Caption "caption" Paragraph,
    Center "center" Line,
    Code "code" Inline,
    Datalist "datalist" Never,
    Dd "dd" Line,
    Del "del" Inline,
    Details "details" Paragraph,
    Dialog "dialog" Never,
    Div "div" Line,
    Dl "dl" Paragraph,
    Dt "dt" Line,
    Em "em" Inline,
    Embed "embed" Never,
    Fieldset "fieldset" Line,
    Figcaption "figcaption" Line,
    Figure "figure" Paragraph,
    Footer "footer" Line,
    Form "form" Line,
    Frame "frame" Never,
    Frameset "frameset" Line,
    H1 "h1" Paragraph,
    H2 "h2" Paragraph,
    H3 "h3" Paragraph,
    H4 "h4" Paragraph,
    H5 "h5" Paragraph,
    H6 "h6" Paragraph,
    Head "head" Never,
    Header "header" Line,
    Hgroup "hgroup" Line,
    Hr "hr" Paragraph,
    Html "html" Line,
    I "i" Inline,
    Iframe "iframe" Never,
    Img "img" Inline,
    Input "input" Never,
    Kbd "kbd" Inline,
    Label "label" Apart,
    Legend "legend" Line,
    Li "li" Line,
    Link "link" Never,
    Main "main" Line,
    Map "map" Never,
    Math "math" Inline,
    Menu "menu" Paragraph,
    Meta "meta" Never,
    Meter "meter" Never,
    Nav "nav" Line,
    Noframes "noframes" Never,
    Noscript "noscript" Never,
    Object "object" Never,
    Ol "ol" Paragraph,
    Optgroup "optgroup" Never,
    Option "option" Never,
    P "p" Paragraph,
    Pre "pre" Paragraph,
    Progress "progress" Never,
    Q "q" Inline,
    Rp "rp" Never,
    Rt "rt" Inline,
    Samp "samp" Inline,
    Script "script" Never,
    Search "search" Line,
    Section "section" Line,
    Select "select" Never,
    Span "span" Inline,
    Strong "strong" Inline,
    Style "style" Never,
    Summary "summary" Line,
    Sup "sup" Inline,
    Svg "svg" Never,
    Table "table" Paragraph,
    Tbody "tbody" Line,
    Td "td" Apart,
    Template "template" Never,
    Textarea "textarea" Never,
    Tfoot "tfoot" Line,
    Th "th" Apart,
    Thead "thead" Line,
    Time "time" Apart,
    Title "title" Never,
    Tr "tr" Line,
    Tt "tt" Inline,
    Ul "ul" Paragraph,
    Video "video" Never,
}

impl Tag {
    /// 1 to 6 for a heading.
    pub(super) fn heading(self) -> Option<u8> {
        match self {
            Self::H1 => Some(1),
            Self::H2 => Some(2),
            Self::H3 => Some(3),
            Self::H4 => Some(4),
            Self::H5 => Some(5),
            Self::H6 => Some(6),
            _ => None,
        }
    }

    /// Elements without an end tag: they never open a level.
    pub(super) fn is_void(self) -> bool {
        matches!(
            self,
            Self::Base
                | Self::Br
                | Self::Embed
                | Self::Frame
                | Self::Hr
                | Self::Img
                | Self::Input
                | Self::Link
                | Self::Meta
        )
    }

    /// Elements whose content the tokenizer reads as raw text: their tags must reach the parser.
    pub(super) fn is_raw(self) -> bool {
        matches!(
            self,
            Self::Script
                | Self::Style
                | Self::Textarea
                | Self::Title
                | Self::Iframe
                | Self::Noframes
                | Self::Noscript
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_unique_and_found_by_name() {
        assert!(NAMES.is_sorted_by(|a, b| a < b));
        for name in NAMES {
            assert_ne!(Tag::of(&LocalName::from(*name)), Tag::Other, "{name}");
        }
        assert_eq!(Tag::of(&LocalName::from("blink")), Tag::Other);
        assert_eq!(Tag::of(&LocalName::from("x-card")), Tag::Custom);
    }
}
