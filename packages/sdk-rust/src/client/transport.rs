//! What carries requests: reqwest by default, anything else by a trait.

use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use crate::error::{Error, Result};
use crate::signer::BoxFuture;

/// An answer is read up to this many bytes: the largest that the API gives is far smaller.
const BODY_BYTES_MAX: usize = 64 * 1024 * 1024;
/// A node that does not even accept a connection is given up for the next one.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// One HTTP request.
#[derive(Clone)]
#[non_exhaustive]
pub struct HttpRequest {
    /// `GET` or `POST`.
    pub method: &'static str,
    /// Absolute.
    pub url: String,
    /// Names in lower case. One of them is the API key: do not log them.
    pub headers: Vec<(&'static str, String)>,
    /// JSON, if there is one.
    pub body: Option<Vec<u8>>,
    /// An answer that comes later is not waited for.
    pub timeout: Duration,
}

impl fmt::Debug for HttpRequest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| *name).collect();
        let bytes = self.body.as_ref().map(Vec::len);
        write!(formatter, "{} {} (headers {}, body of {bytes:?} bytes)", self.method, self.url, names.join(", "))
    }
}

/// One HTTP answer.
#[derive(Clone, Debug, Default)]
pub struct HttpResponse {
    /// The status.
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// All of it.
    pub body: Vec<u8>,
}

impl HttpResponse {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }
}

/// How far a request came that has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransportStage {
    /// Nothing was sent: no connection.
    NotSent,
    /// It was sent, or may have been, and no answer came in time.
    TimedOut,
    /// It was sent, or may have been, and the connection was lost.
    Lost,
    /// An answer came that is beyond all limits: asking again makes no sense.
    TooLarge,
}

/// Why there is no answer.
#[derive(Debug)]
pub struct TransportFailure {
    /// How far it came. If in doubt, not [`NotSent`](TransportStage::NotSent).
    pub stage: TransportStage,
    /// The cause.
    pub source: Box<dyn StdError + Send + Sync>,
}

/// An answer that is read as it comes. Dropping it closes the connection.
pub struct HttpStream {
    /// The status.
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// Its bytes.
    pub body: Box<dyn HttpBody>,
}

/// The bytes of an answer that is read as it comes.
pub trait HttpBody: Send + Sync {
    /// Those that come next; `None`: it has ended. It may be dropped before it is ready, and called again.
    fn next_chunk(&mut self) -> BoxFuture<'_, Result<Option<Vec<u8>>, TransportFailure>>;
}

/// What carries requests. For tests, proxies and runtimes of your own; the default is reqwest with rustls.
///
/// It must not follow redirects: the API has none, and the request carries the API key.
pub trait Transport: Send + Sync {
    /// Sends one request, once.
    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, TransportFailure>>;

    /// Sends one request whose answer has no end; time is kept by the caller. Without it heads cannot be followed.
    fn open(&self, _request: HttpRequest) -> BoxFuture<'_, Result<HttpStream, TransportFailure>> {
        let source = "this transport cannot follow heads".into();
        Box::pin(std::future::ready(Err(TransportFailure { stage: TransportStage::NotSent, source })))
    }
}

/// reqwest over rustls with ring, certificates judged by the platform or by the roots that are given.
pub(super) struct ReqwestTransport(reqwest::Client);

impl ReqwestTransport {
    pub(super) fn new(roots_pem: Option<&[u8]>) -> Result<Self> {
        let invalid = |cause: Box<dyn StdError + Send + Sync>| {
            Error::invalid_input("tls_roots_pem", "TLS cannot be set up").with_source(cause)
        };
        let tls = tls_config(roots_pem).map_err(invalid)?;
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT_TIMEOUT)
            .user_agent(concat!("event-anchoring-rust/", env!("CARGO_PKG_VERSION")))
            .build();
        client.map(Self).map_err(|cause| invalid(cause.into()))
    }
}

fn tls_config(roots_pem: Option<&[u8]>) -> Result<rustls::ClientConfig, Box<dyn StdError + Send + Sync>> {
    use rustls::pki_types::{pem::PemObject as _, CertificateDer};
    use rustls_platform_verifier::BuilderVerifierExt as _;
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let Some(pem) = roots_pem else { return Ok(builder.with_platform_verifier()?.with_no_client_auth()) };
    let mut roots = rustls::RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        roots.add(certificate?)?;
    }
    if roots.is_empty() {
        return Err("there is no certificate in it".into());
    }
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

/// reqwest's errors carry the URL, which may name an anchor: it is not repeated.
fn transport_error(error: reqwest::Error) -> TransportFailure {
    let stage = if error.is_connect() || error.is_builder() {
        TransportStage::NotSent
    } else if error.is_timeout() {
        TransportStage::TimedOut
    } else {
        TransportStage::Lost
    };
    TransportFailure { stage, source: Box::new(error.without_url()) }
}

impl ReqwestTransport {
    fn builder(&self, request: HttpRequest) -> Result<reqwest::RequestBuilder, TransportFailure> {
        let HttpRequest { method, url, headers, body, .. } = request;
        let method = if method == "POST" { reqwest::Method::POST } else { reqwest::Method::GET };
        let mut builder = self.0.request(method, url);
        for (name, value) in headers {
            let mut value = reqwest::header::HeaderValue::from_str(&value)
                .map_err(|cause| TransportFailure { stage: TransportStage::NotSent, source: cause.into() })?;
            value.set_sensitive(name == "authorization");
            builder = builder.header(name, value);
        }
        Ok(match body {
            Some(body) => builder.body(body),
            None => builder,
        })
    }
}

fn headers_of(response: &reqwest::Response) -> Vec<(String, String)> {
    let headers = response.headers().iter();
    headers.filter_map(|(name, value)| Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))).collect()
}

impl Transport for ReqwestTransport {
    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, TransportFailure>> {
        Box::pin(async move {
            let timeout = request.timeout;
            let mut response = self.builder(request)?.timeout(timeout).send().await.map_err(transport_error)?;
            let (status, headers) = (response.status().as_u16(), headers_of(&response));
            let mut body = Vec::new();
            while let Some(chunk) = response.chunk().await.map_err(transport_error)? {
                if body.len() + chunk.len() > BODY_BYTES_MAX {
                    return Err(TransportFailure {
                        stage: TransportStage::TooLarge,
                        source: "the answer is too large".into(),
                    });
                }
                body.extend_from_slice(&chunk);
            }
            Ok(HttpResponse { status, headers, body })
        })
    }

    fn open(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpStream, TransportFailure>> {
        Box::pin(async move {
            let response = self.builder(request)?.send().await.map_err(transport_error)?;
            let (status, headers) = (response.status().as_u16(), headers_of(&response));
            Ok(HttpStream { status, headers, body: Box::new(response) })
        })
    }
}

impl HttpBody for reqwest::Response {
    fn next_chunk(&mut self) -> BoxFuture<'_, Result<Option<Vec<u8>>, TransportFailure>> {
        Box::pin(async { Ok(self.chunk().await.map_err(transport_error)?.map(Into::into)) })
    }
}
