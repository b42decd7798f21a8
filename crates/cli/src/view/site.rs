//! One request: which page is asked for, and how it is sent.

use std::sync::Arc;

use http_body_util::Full;
use hyper::{
    HeaderMap, Method, Request, Response, StatusCode,
    body::{Bytes, Incoming},
    header::{CONTENT_TYPE, HeaderName, HeaderValue},
};

use super::{
    calls, document,
    door::{self, Token},
    html::Html,
    overview, search, sources,
};
use crate::wire::Wired;

const STYLE: &str = include_str!("style.css");
const ICON: &str = include_str!("icon.svg");

/// What a browser may do with a page: show it with its style sheet and icon, send its search form.
/// Nothing is loaded from anywhere else and no program runs.
const HEADERS: [(&str, &str); 7] = [
    (
        "content-security-policy",
        "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; \
         frame-ancestors 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cache-control", "no-store"),
];

/// The pages of one root.
pub(crate) struct Site {
    pub(super) wired: Wired,
    token: Token,
}

/// What the query of an address says.
#[derive(Debug, Default)]
pub(super) struct Asked(Vec<(String, String)>);

impl Asked {
    fn parse(query: &str) -> Self {
        Self(url::form_urlencoded::parse(query.as_bytes()).into_owned().collect())
    }

    /// A value; empty when it is not there.
    pub(super) fn text(&self, name: &str) -> &str {
        self.0.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value.trim())
    }

    /// Which page of a long list, from 0.
    pub(super) fn page(&self) -> usize {
        self.number("page").unwrap_or(0).min(1_000_000) as usize
    }

    /// A number, if it is one.
    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.text(name).parse().ok()
    }
}

/// A page: its title, which of the menu it belongs to, its content.
pub(super) struct Page {
    pub(super) title: String,
    pub(super) menu: &'static str,
    pub(super) status: StatusCode,
    pub(super) content: Html,
}

impl Page {
    pub(super) fn new(title: impl Into<String>, menu: &'static str, content: Html) -> Self {
        Self { title: title.into(), menu, status: StatusCode::OK, content }
    }

    /// A page that says what went wrong.
    pub(super) fn problem(status: StatusCode, text: &str) -> Self {
        let mut content = Html::default();
        content.raw("<h1>").show(status).raw("</h1><p>").text(text).raw("</p>");
        Self { title: status.to_string(), menu: "", status, content }
    }
}

/// Makes a page; reads the disk.
type Make = fn(&Site, &Asked) -> anyhow::Result<Page>;

/// The pages by their paths behind the token; a search is made by the tools and not here.
const PAGES: [(&str, Make); 4] = [
    ("", overview::page),
    ("calls", calls::page),
    ("document", document::page),
    ("sources", sources::page),
];

/// The menu: where each entry leads and how it is called.
const MENU: [(&str, &str); 4] =
    [("./", "Overview"), ("sources", "Sources"), ("search", "Search"), ("calls", "Calls")];

impl Site {
    pub(super) fn new(wired: Wired, token: Token) -> Self {
        Self { wired, token }
    }

    /// Answers a request; whatever it is, there is an answer.
    pub(super) async fn answer(
        self: Arc<Self>,
        request: Request<Incoming>,
    ) -> Response<Full<Bytes>> {
        let (head, _body) = request.into_parts();
        let path = match door::admit(&head.method, &head.uri, &head.headers, &self.token) {
            Ok(path) => path.to_owned(),
            Err((status, line)) => return send(status, "text/plain; charset=utf-8", line.into()),
        };
        let asked = Asked::parse(head.uri.query().unwrap_or_default());
        let mut response = match path.as_str() {
            "style.css" => send(StatusCode::OK, "text/css; charset=utf-8", STYLE.into()),
            "icon.svg" => send(StatusCode::OK, "image/svg+xml", ICON.into()),
            _ => {
                let page = self.page(&path, asked).await;
                let status = page.status;
                send(status, "text/html; charset=utf-8", self.frame(page))
            }
        };
        if head.method == Method::HEAD {
            *response.body_mut() = Full::default();
        }
        response
    }

    async fn page(self: &Arc<Self>, path: &str, asked: Asked) -> Page {
        let made = if path == "search" {
            Ok(search::page(Arc::clone(self), asked).await)
        } else {
            let Some((_, make)) = PAGES.iter().find(|(known, _)| *known == path) else {
                return Page::problem(StatusCode::NOT_FOUND, "There is no such page.");
            };
            let site = Arc::clone(self);
            // Pages read the disk.
            tokio::task::spawn_blocking(move || make(&site, &asked)).await
        };
        match made {
            Ok(Ok(page)) => page,
            Ok(Err(error)) => {
                Page::problem(StatusCode::INTERNAL_SERVER_ERROR, &format!("{error:#}"))
            }
            Err(error) => {
                tracing::error!(%error, "a page failed");
                Page::problem(
                    StatusCode::INTERNAL_SERVER_ERROR,
                    "This page failed inside the program.",
                )
            }
        }
    }

    /// The page with what is around it on each.
    fn frame(&self, page: Page) -> String {
        let mut html = Html::default();
        html.raw("<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>");
        html.text(&page.title).raw(" · QuietContext</title>");
        html.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">");
        html.raw("<meta name=\"color-scheme\" content=\"light dark\">");
        html.raw("<link rel=\"icon\" href=\"icon.svg\" type=\"image/svg+xml\">");
        html.raw("<link rel=\"stylesheet\" href=\"style.css\"></head><body>");
        html.raw("<a class=\"skip\" href=\"#content\">To the content</a>");
        html.raw("<header><div class=\"bar\"><a class=\"brand\" href=\"./\">");
        html.raw("<img src=\"icon.svg\" alt=\"\" width=\"20\" height=\"20\">QuietContext</a><nav>");
        for (link, name) in MENU {
            html.raw("<a href=\"").text(link).raw("\"");
            if link == page.menu {
                html.raw(" aria-current=\"page\"");
            }
            html.raw(">").text(name).raw("</a>");
        }
        html.raw("</nav></div><p class=\"root\">").text(&self.root()).raw("</p></header>");
        html.raw("<main id=\"content\">").part(page.content);
        html.raw("</main></body></html>");
        html.finish()
    }

    /// The root as it is shown.
    pub(super) fn root(&self) -> String {
        self.wired.root.path.display().to_string()
    }
}

fn send(status: StatusCode, kind: &'static str, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    let headers: &mut HeaderMap = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    for (name, value) in HEADERS {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    response
}
