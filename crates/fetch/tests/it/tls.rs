//! TLS against a server with a certificate of the test's own authority.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use hyper::{Request, Response, body::Incoming, server::conn::http2, service::service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo};

use quietcontext_fetch::{FetchConfig, FetchError, Fetcher, Outcome};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use tokio::{io::AsyncWriteExt as _, net::TcpListener};
use tokio_rustls::TlsAcceptor;

use super::server::{Names, Server, answer_tls, config, fetch, ok, response};

/// Who vouches for the servers of a test.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pub(crate) der: Vec<u8>,
}

/// A new one.
pub(crate) fn authority() -> Authority {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let der = params.self_signed(&key).unwrap().der().to_vec();
    Authority { issuer: Issuer::new(params, key), der }
}

/// A server's side of TLS for `name`.
fn acceptor(authority: &Authority, name: &str, protocols: &[&str]) -> TlsAcceptor {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &authority.issuer).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut tls = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
        )
        .unwrap();
    tls.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
    TlsAcceptor::from(Arc::new(tls))
}

/// A server for `name` that answers every request with `bytes`; gives its port.
pub(crate) async fn serve(authority: &Authority, name: &str, bytes: Vec<u8>) -> u16 {
    let acceptor = acceptor(authority, name, &[]);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            if let Ok(stream) = acceptor.accept(stream).await {
                answer_tls(stream, &bytes).await;
            }
        }
    });
    port
}

fn fetcher(roots: &[&Authority], names: &[String]) -> Fetcher {
    let allow: Vec<&str> = names.iter().map(String::as_str).collect();
    let extra_roots = roots.iter().map(|authority| authority.der.clone()).collect();
    let config = FetchConfig { extra_roots, ..config(&allow) };
    let loopback: &[&[&str]] = &[&["127.0.0.1"]];
    Fetcher::new(config, Names::new(&[("docs.test", loopback), ("other.test", loopback)]))
}

#[tokio::test]
async fn certificates_are_checked_against_the_name_that_was_asked_for() {
    let own = authority();
    let port = serve(&own, "docs.test", ok("text/plain", "over TLS")).await;
    let names = [format!("docs.test:{port}"), format!("other.test:{port}")];
    let good = fetch(&fetcher(&[&own], &names), &format!("https://docs.test:{port}/")).await;
    assert!(matches!(&good, Ok(Outcome::Page(page)) if page.text == "over TLS"), "{good:?}");

    let other = fetch(&fetcher(&[&own], &names), &format!("https://other.test:{port}/")).await;
    let error = other.unwrap_err();
    let line = error.to_string();
    assert!(line.ends_with("failed: the certificate is for another name"), "{error:?}");

    let stranger = fetch(&fetcher(&[], &names), &format!("https://docs.test:{port}/")).await;
    assert!(matches!(stranger, Err(FetchError::Tls { .. })), "{stranger:?}");
    let line = stranger.unwrap_err().to_string();
    assert!(line.ends_with("failed: the certificate's issuer is not trusted"), "{line}");
}

#[tokio::test]
async fn a_plain_port_and_a_step_down_to_http_are_refused() {
    let own = authority();
    let plain = Server::start(|_, _| super::server::Reply::Bytes(ok("text/plain", "plain"))).await;
    let down = response(&format!("302 Found\nLocation: {}", plain.url("/")), "");
    let port = serve(&own, "docs.test", down).await;
    let names = [format!("docs.test:{port}"), plain.name()];
    let fetcher = fetcher(&[&own], &names);
    let line =
        fetch(&fetcher, &format!("https://docs.test:{port}/")).await.unwrap_err().to_string();
    assert_eq!(line, "redirect not followed: it leads from https to http");
    assert_eq!(plain.hits(), 0);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let name = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            drop(stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await);
        }
    });
    let names = [name.clone()];
    let error = fetch(&self::fetcher(&[], &names), &format!("https://{name}/")).await.unwrap_err();
    assert!(
        error.to_string().ends_with("failed: the server does not speak TLS on this port"),
        "{error:?}"
    );
}

#[tokio::test]
async fn http2_is_spoken_where_the_server_does() {
    let own = authority();
    let acceptor = acceptor(&own, "docs.test", &["h2", "http/1.1"]);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let connections = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&connections);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            counter.fetch_add(1, Ordering::SeqCst);
            let stream = acceptor.accept(stream).await.unwrap();
            let service = service_fn(|request: Request<Incoming>| async move {
                let body = format!("{:?} {}", request.version(), request.uri().path());
                Response::builder().header("content-type", "text/plain").body(body)
            });
            tokio::spawn(
                http2::Builder::new(TokioExecutor::new())
                    .serve_connection(TokioIo::new(stream), service),
            );
        }
    });
    let fetcher = fetcher(&[&own], &[format!("docs.test:{port}")]);
    for path in ["/one", "/two"] {
        let outcome = fetch(&fetcher, &format!("https://docs.test:{port}{path}")).await;
        let Ok(Outcome::Page(page)) = outcome else { panic!("{outcome:?}") };
        assert_eq!(page.text, format!("HTTP/2.0 {path}"));
    }
    assert_eq!(connections.load(Ordering::SeqCst), 1, "pages of one host share a connection");
}
