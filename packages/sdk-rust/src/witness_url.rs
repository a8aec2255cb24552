//! Where a witness takes checkpoints: a small part of RFC 3986, so that every language reads it alike.

use crate::bytes::parse_decimal;

const LENGTH_MAX: usize = 256;
const PORT_MAX: u64 = 65_535;
/// Hosts that need no TLS: nothing leaves the machine.
const LOOPBACK_HOSTS: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// `https://<host>[:<port>][<path>]`, or `http://` to a loopback host; at most 256 ASCII characters, the host in lower
/// case, no user, query or fragment.
pub(crate) fn is_witness_url(url: &str) -> bool {
    if url.len() > LENGTH_MAX {
        return false;
    }
    let Some((scheme, rest)) = url.split_once("://") else { return false };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let Some((host, port)) = split_port(authority) else { return false };
    let is_secure = scheme == "https" || (scheme == "http" && LOOPBACK_HOSTS.contains(&host));
    is_secure && is_host(host) && port.is_none_or(is_port) && path.bytes().all(is_path_byte)
}

/// Host and port, if there is one. The colons inside of brackets are the host's.
fn split_port(authority: &str) -> Option<(&str, Option<&str>)> {
    let host_length = match authority.find(']') {
        Some(at) if authority.starts_with('[') => at + 1,
        _ => authority.find(':').unwrap_or(authority.len()),
    };
    let (host, rest) = authority.split_at(host_length);
    match rest.strip_prefix(':') {
        Some(port) => Some((host, Some(port))),
        None => rest.is_empty().then_some((host, None)),
    }
}

fn is_host(host: &str) -> bool {
    match host.strip_prefix('[') {
        Some(rest) => rest.strip_suffix(']').is_some_and(is_address),
        None => host.split('.').all(is_label),
    }
}

fn is_address(address: &str) -> bool {
    (2..=45).contains(&address.len())
        && address.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f' | b':' | b'.'))
}

fn is_label(label: &str) -> bool {
    let is_inner = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
    (1..=63).contains(&label.len()) && !label.starts_with('-') && !label.ends_with('-') && label.bytes().all(is_inner)
}

fn is_port(port: &str) -> bool {
    parse_decimal(port).is_some_and(|number| (1..=PORT_MAX).contains(&number))
}

fn is_path_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"._~!$&'()*+,;=:@%/-".contains(&byte)
}
