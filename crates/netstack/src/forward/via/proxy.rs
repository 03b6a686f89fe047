//! The address of a proxy, and the name and password with which it is used.
//!
//! Rule: a password is never printed.

use std::{
    fmt,
    net::{SocketAddr, ToSocketAddrs},
    sync::Arc,
};

use base64::{Engine, prelude::BASE64_STANDARD};
use percent_encoding::percent_decode_str;

use super::error::ViaError;

/// Longest name and longest password that SOCKS5 can carry, in bytes. RFC 1929 §2.
const LOGIN_MAX: usize = 255;

/// A proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proxy {
    /// Address and port.
    pub address: SocketAddr,
    /// Name and password of the user, if the proxy wants them.
    pub login: Option<Login>,
}

impl From<SocketAddr> for Proxy {
    /// Returns the proxy at `address` without a password.
    fn from(address: SocketAddr) -> Self {
        Self {
            address,
            login: None,
        }
    }
}

impl Proxy {
    /// Reads `HOST:PORT` or `USER:PASSWORD@HOST:PORT`. A name of a host is looked up once. Of its
    /// addresses, the first IPv4 address is taken; without one, the first IPv6 address.
    pub(super) fn parse(text: &str) -> Result<Self, ViaError> {
        let (login, host) = match text.rsplit_once('@') {
            Some((login, host)) => (Some(Login::parse(login)?), host),
            None => (None, text),
        };
        let found = host.to_socket_addrs();
        let found: Vec<_> = found
            .map_err(|error| ViaError(format!("{host}: {error}")))?
            .collect();
        let first = found.iter().find(|address| address.is_ipv4());
        let address = first.or(found.first()).copied();
        let address = address.ok_or_else(|| ViaError(format!("{host} has no address")))?;
        Ok(Self { address, login })
    }
}

/// Name and password of a user. Copies share the memory.
#[derive(Clone, PartialEq, Eq)]
pub struct Login {
    user: Arc<str>,
    password: Arc<str>,
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login")
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}

impl Login {
    /// Reads `USER:PASSWORD`. Characters may be percent-encoded, as in a URI (RFC 3986 §2.1).
    fn parse(text: &str) -> Result<Self, ViaError> {
        let (user, password) = text.split_once(':').unwrap_or((text, ""));
        let decoded = |part: &str| {
            let text = percent_decode_str(part).decode_utf8();
            let text = text.ok().filter(|text| text.len() <= LOGIN_MAX);
            text.map(|text| Arc::from(&*text)).ok_or_else(|| {
                ViaError(format!(
                    "the proxy's user name or password is longer than {LOGIN_MAX} bytes or not UTF-8"
                ))
            })
        };
        Ok(Self {
            user: decoded(user)?,
            password: decoded(password)?,
        })
    }

    /// Returns the request of SOCKS5 that carries this login. RFC 1929 §2.
    pub(super) fn socks_request(&self) -> Vec<u8> {
        let mut request = vec![1];
        for part in [&self.user, &self.password] {
            // The length is at most `LOGIN_MAX`.
            request.push(part.len() as u8);
            request.extend(part.as_bytes());
        }
        request
    }

    /// Returns the header field of HTTP that carries this login, with its line end. RFC 7617 §2.
    pub(super) fn http_field(&self) -> String {
        let login = BASE64_STANDARD.encode(format!("{}:{}", self.user, self.password));
        format!("Proxy-Authorization: Basic {login}\r\n")
    }
}
