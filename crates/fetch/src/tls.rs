//! TLS for the client: the `ring` provider, the system's trust store, nothing installed globally.

use std::sync::Arc;

use rustls::{
    CertificateError, ClientConfig, RootCertStore, crypto::CryptoProvider,
    pki_types::CertificateDer,
};
use rustls_platform_verifier::Verifier;

/// Negotiated in this order.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// A configuration that trusts the system's authorities and `extra` ones (DER). Reads the trust
/// store from disk, so it belongs on a blocking thread.
pub(crate) fn system(extra: &[Vec<u8>]) -> Result<ClientConfig, rustls::Error> {
    let provider = provider();
    let extra = extra.iter().map(|der| CertificateDer::from(der.clone()));
    let verifier = Arc::new(Verifier::new_with_extra_roots(extra, Arc::clone(&provider))?);
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    config.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).to_vec();
    Ok(config)
}

/// A configuration that trusts nobody, for plain http: it costs no look at the trust store.
pub(crate) fn none() -> Result<ClientConfig, rustls::Error> {
    Ok(ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()?
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth())
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// What went wrong, for a person.
pub(crate) fn what(error: &rustls::Error) -> &'static str {
    match error {
        rustls::Error::InvalidCertificate(error) => match error {
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                "the certificate has expired"
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                "the certificate is not valid yet"
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                "the certificate is for another name"
            }
            CertificateError::UnknownIssuer => "the certificate's issuer is not trusted",
            CertificateError::Revoked => "the certificate is revoked",
            _ => "the certificate is not valid",
        },
        rustls::Error::InvalidMessage(_) => "the server does not speak TLS on this port",
        _ => "the handshake failed",
    }
}
