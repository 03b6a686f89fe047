//! The program's decision about each SYN of a deferred listener (`ListenOptions::deferred`).
//!
//! Rule: requests are kept in the stack, and nothing is kept here. A request without a decision
//! ends after the time of the knob (setting) `stack.request_timeout`.

use std::{
    io,
    task::{Context, Poll},
};

use fullpipe::{Instant, Refusal, RequestId, Stack, TcpError, TcpRequest};

use super::{TcpListener, tcp_error};
use crate::{
    wait::{Wait, poll_once},
    wakers::{Interest, WaiterKey},
};

/// The next SYN, or the reason that the listener has ended.
pub(crate) type Asked = Result<TcpRequest, TcpError>;

impl TcpListener {
    /// Waits for the next SYN of a deferred listener.
    ///
    /// # Errors
    /// Returns `WouldBlock` after the timeout.
    pub fn next_request(&self) -> io::Result<TcpRequest> {
        self.asking().block(self.timeout.get())?.map_err(tcp_error)
    }

    /// Becomes ready with the next SYN of a deferred listener. This call and
    /// [`poll_accept`](Self::poll_accept) share one waker: a later call of either replaces it.
    ///
    /// # Errors
    /// Fails if the runtime was stopped.
    pub fn poll_request(&self, context: &mut Context<'_>) -> Poll<io::Result<TcpRequest>> {
        let on = (self.handle(), Interest::Read);
        let mut key = Some(WaiterKey::POLLED);
        let attempt = |stack: &mut Stack, now| stack.tcp_next_request(self.id, now).transpose();
        poll_once(&self.driver, on, &mut key, context.waker(), attempt)
            .map(|asked| asked?.map_err(tcp_error))
    }

    /// Creates the wait for the next SYN.
    pub(crate) fn asking(
        &self,
    ) -> Wait<'_, impl FnMut(&mut Stack, Instant) -> Option<Asked> + Unpin> {
        let attempt = |stack: &mut Stack, now| stack.tcp_next_request(self.id, now).transpose();
        Wait::new(&self.driver, self.handle(), Interest::Read, attempt)
    }

    /// Answers a SYN with a SYN-ACK; [`accept`](Self::accept) returns the connection when its
    /// handshake is complete.
    ///
    /// # Errors
    /// Fails if the request has ended: the peer gave up, or the decision took too long.
    pub fn admit(&self, request: RequestId) -> io::Result<()> {
        self.driver
            .call(|stack, now| stack.tcp_admit(request, now))
            .map_err(tcp_error)
    }

    /// Refuses a SYN.
    ///
    /// # Errors
    /// Fails if the request has ended.
    pub fn refuse(&self, request: RequestId, refusal: Refusal) -> io::Result<()> {
        self.driver
            .call(|stack, now| stack.tcp_refuse(request, refusal, now))
            .map_err(tcp_error)
    }
}
