//! How a client is set up.

use std::fmt;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::OnceCell;
use zeroize::Zeroizing;

use super::retry::RetryPolicy;
use super::transport::{ReqwestTransport, Transport};
use super::{Client, Prefer, Shared};
use crate::error::{Error, Result};
use crate::hash::OriginFingerprint;
use crate::input::read;
use crate::trust_root_chain::TrustRootChain;

/// How long one try may take. The service answers within its own limits, which are shorter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Reads, verification, traces.
    pub read: Duration,
    /// A write that is no batch. A longer `Prefer: wait=` prolongs it.
    pub write: Duration,
    /// Batches, to create or to verify.
    pub batch: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { read: Duration::from_secs(10), write: Duration::from_secs(10), batch: Duration::from_secs(25) }
    }
}

/// Sets up a [`Client`].
pub struct ClientBuilder {
    endpoints: Vec<String>,
    api_key: Option<Zeroizing<String>>,
    origin_fingerprint: Option<Result<OriginFingerprint>>,
    trust_root: Option<TrustRootChain>,
    retry: RetryPolicy,
    timeouts: Timeouts,
    transport: Option<Arc<dyn Transport>>,
    tls_roots_pem: Option<Vec<u8>>,
    allows_plain_http: bool,
}

impl fmt::Debug for ClientBuilder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ClientBuilder").field("endpoints", &self.endpoints).finish_non_exhaustive()
    }
}

impl ClientBuilder {
    pub(super) fn new() -> Self {
        Self {
            endpoints: Vec::new(),
            api_key: None,
            origin_fingerprint: None,
            trust_root: None,
            retry: RetryPolicy::default(),
            timeouts: Timeouts::default(),
            transport: None,
            tls_roots_pem: None,
            allows_plain_http: false,
        }
    }

    /// Adds the base address of a node, or of a gateway before several. Of several endpoints, the next one is asked
    /// when one does not answer.
    #[must_use]
    pub fn endpoint(mut self, endpoint: impl Into<String>) -> Self {
        self.endpoints.push(endpoint.into());
        self
    }

    /// The access key. Health, readiness, limits and the trust root can be read without one.
    #[must_use]
    pub fn api_key(mut self, api_key: impl Into<String>) -> Self {
        self.api_key = Some(Zeroizing::new(api_key.into()));
        self
    }

    /// The origin to write to. Without it, it is read from `/healthz` of the first node that answers, on first use, and
    /// pinned for the life of the client.
    #[must_use]
    pub fn origin_fingerprint<H>(mut self, origin_fingerprint: H) -> Self
    where
        H: TryInto<OriginFingerprint>,
        Error: From<H::Error>,
    {
        self.origin_fingerprint = Some(read("origin_fingerprint", origin_fingerprint));
        self
    }

    /// Verifies every receipt of an answer before you see it, and that it records what was sent. The chain is continued
    /// when the service has a newer trust root; it is never replaced.
    #[must_use]
    pub fn trust_root(mut self, trust_root: TrustRootChain) -> Self {
        self.trust_root = Some(trust_root);
        self
    }

    /// When requests are sent again.
    #[must_use]
    pub fn retry(mut self, retry: RetryPolicy) -> Self {
        self.retry = retry;
        self
    }

    /// How long one try may take.
    #[must_use]
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = timeouts;
        self
    }

    /// Carries requests by something else than reqwest.
    #[must_use]
    pub fn transport(mut self, transport: Arc<dyn Transport>) -> Self {
        self.transport = Some(transport);
        self
    }

    /// Believes certificates of these roots (PEM) alone, instead of those that the platform believes.
    #[must_use]
    pub fn tls_roots_pem(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.tls_roots_pem = Some(pem.into());
        self
    }

    /// Allows `http://` to other hosts than this one. Anyone on the path can then read the API key, and use it.
    #[must_use]
    pub fn allow_plain_http(mut self) -> Self {
        self.allows_plain_http = true;
        self
    }

    /// The client. Nothing is sent.
    ///
    /// # Errors
    /// `invalid_input`, naming the setting.
    pub fn build(self) -> Result<Client> {
        if self.endpoints.is_empty() {
            return Err(Error::invalid_input("endpoint", "there is none"));
        }
        let read = |endpoint: &String| read_endpoint(endpoint, self.allows_plain_http);
        let endpoints = self.endpoints.iter().map(read).collect::<Result<Vec<_>>>()?;
        let is_legal = |key: &String| !key.is_empty() && key.bytes().all(|byte| (0x21..=0x7e).contains(&byte));
        if self.api_key.as_deref().is_some_and(|key| !is_legal(key)) {
            return Err(Error::invalid_input("api_key", "it holds a character that no key has"));
        }
        let transport = match self.transport {
            Some(transport) => transport,
            None => Arc::new(ReqwestTransport::new(self.tls_roots_pem.as_deref())?),
        };
        Ok(Client {
            shared: Arc::new(Shared {
                endpoints,
                preferred: AtomicUsize::new(0),
                api_key: self.api_key,
                origin_fingerprint: OnceCell::new_with(self.origin_fingerprint.transpose()?),
                trust_root: Mutex::new(self.trust_root),
                retry: self.retry,
                timeouts: self.timeouts,
                transport,
            }),
            prefer: Prefer::default(),
        })
    }
}

/// A base address without its trailing slash.
fn read_endpoint(endpoint: &str, allows_plain_http: bool) -> Result<String> {
    let invalid = |message: &str| Err(Error::invalid_input("endpoint", message));
    let Some((scheme, rest)) = endpoint.split_once("://") else {
        return invalid("expected http:// or https://");
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.is_empty() || authority.contains('@') || rest.contains(['?', '#']) {
        return invalid("expected a host, without user, query or fragment");
    }
    if endpoint.bytes().any(|byte| !(0x21..=0x7e).contains(&byte)) {
        return invalid("it holds a character that no address has");
    }
    match scheme {
        "https" => {}
        "http" if allows_plain_http || is_this_host(authority) => {}
        "http" => return invalid("plain http to another host would show the API key: see allow_plain_http"),
        _ => return invalid("expected http:// or https://"),
    }
    Ok(endpoint.trim_end_matches('/').to_owned())
}

fn is_this_host(authority: &str) -> bool {
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::read_endpoint;

    #[test]
    fn endpoints() {
        for (given, read) in [
            ("https://anchor.example", "https://anchor.example"),
            ("https://anchor.example/base/", "https://anchor.example/base"),
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
            ("http://[::1]:8080/", "http://[::1]:8080"),
            ("http://localhost", "http://localhost"),
        ] {
            assert_eq!(read_endpoint(given, false).unwrap(), read);
        }
        for bad in [
            "",
            "anchor.example",
            "ftp://anchor.example",
            "http://anchor.example",
            "http://localhost.example",
            "http://127.0.0.1.example",
            "https://",
            "https:///path",
            "https://user:secret@anchor.example",
            "https://anchor.example/?a=b",
            "https://anchor.example#x",
            "https://anchor.example/a b",
            "https://anchör.example",
        ] {
            let error = read_endpoint(bad, false).unwrap_err();
            assert_eq!(error.field(), Some("endpoint"), "{bad}");
        }
        assert!(read_endpoint("http://anchor.example", true).is_ok());
    }
}
