//! TCP flows: each SYN is a request, and an admitted request becomes a stream.
//!
//! Rule: the stack has the requests and the connections. This file finds the connection of an
//! admitted request by its two addresses. A request that is dropped without a decision is refused
//! with a reset.

use std::{
    collections::HashMap,
    fmt, io,
    net::SocketAddr,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
};

use fullpipe::{ConnectionId, Info, ListenOptions, Refusal, RequestId};
use fullpipe_host::{
    Runtime,
    tokio::{TcpListener, TcpStream},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    sync::oneshot,
    task::JoinHandle,
};

use crate::{family::EachFamily, limits::FlowLimits};

/// The two addresses of a flow: of its peer, and of the destination that the peer wants to reach.
type Ends = (SocketAddr, SocketAddr);

/// The state that requests and flows share.
pub(crate) struct TcpShared {
    listeners: EachFamily<TcpListener>,
    runtime: Arc<Runtime>,
    limits: FlowLimits,
    /// Admitted requests whose handshake is not complete, each with a sender to the task that waits
    /// for the connection.
    admitted: Mutex<HashMap<Ends, oneshot::Sender<TcpStream>>>,
}

impl TcpShared {
    pub(crate) fn new(runtime: Arc<Runtime>, limits: FlowLimits) -> io::Result<Arc<Self>> {
        let options = ListenOptions {
            all_ports: true,
            deferred: true,
            ..ListenOptions::default()
        };
        let listen = |every| {
            let every = SocketAddr::new(every, 0);
            TcpListener::bind_with(&runtime, every, options)
        };
        Ok(Arc::new(Self {
            listeners: EachFamily::of(listen)?,
            runtime,
            limits,
            admitted: Mutex::default(),
        }))
    }

    fn admitted(&self) -> MutexGuard<'_, HashMap<Ends, oneshot::Sender<TcpStream>>> {
        self.admitted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands each connection whose handshake is complete to the task that admitted it.
    async fn accept(&self, listener: &TcpListener) {
        while let Ok((stream, peer)) = listener.accept().await {
            let ends = (peer, stream.local_addr());
            let waiting = self.admitted().remove(&ends);
            // If the task has stopped waiting, reset the connection.
            let refused = match waiting {
                Some(waiting) => waiting.send(stream).err(),
                None => Some(stream),
            };
            if let Some(stream) = refused {
                stream.abort();
            }
        }
    }
}

/// The TCP flows of a netstack.
pub struct TcpFlows {
    shared: Arc<TcpShared>,
    acceptor: JoinHandle<()>,
}

impl fmt::Debug for TcpFlows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TcpFlows").finish_non_exhaustive()
    }
}

impl TcpFlows {
    pub(crate) fn start(shared: Arc<TcpShared>) -> Self {
        let accepting = Arc::clone(&shared);
        let acceptor = tokio::spawn(async move {
            let [v4, v6] = accepting.listeners.both();
            tokio::join!(accepting.accept(v4), accepting.accept(v6));
        });
        Self { shared, acceptor }
    }

    /// Waits for the next SYN. The program must decide within the time that the stack's setting
    /// `stack.request_timeout` allows; the peer waits for the decision.
    ///
    /// # Errors
    /// Fails if the device is gone.
    pub async fn next(&mut self) -> io::Result<TcpRequest> {
        let [v4, v6] = self.shared.listeners.both();
        let request = tokio::select! {
            request = v4.next_request() => request?,
            request = v6.next_request() => request?,
        };
        Ok(TcpRequest {
            shared: Arc::clone(&self.shared),
            id: Some(request.id),
            peer: request.remote,
            destination: request.local,
        })
    }

    /// Returns the runtime of the stack, for its counters and the limits of connections.
    pub fn runtime(&self) -> Arc<Runtime> {
        Arc::clone(&self.shared.runtime)
    }

    /// Returns how many packets the stack discarded for each reason.
    pub fn discards(&self) -> Vec<(&'static str, u64)> {
        self.shared.runtime.with_stack(|stack, _| {
            let discards = stack.counters().discards();
            discards.filter(|(_, count)| *count > 0).collect()
        })
    }
}

impl Drop for TcpFlows {
    fn drop(&mut self) {
        self.acceptor.abort();
    }
}

/// A SYN about which the program decides. Dropping it refuses the SYN with a reset.
pub struct TcpRequest {
    shared: Arc<TcpShared>,
    id: Option<RequestId>,
    peer: SocketAddr,
    destination: SocketAddr,
}

impl fmt::Debug for TcpRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TcpRequest")
            .field("peer", &self.peer)
            .field("destination", &self.destination)
            .finish_non_exhaustive()
    }
}

impl TcpRequest {
    fn listener(&self) -> &TcpListener {
        self.shared.listeners.of_address(self.destination)
    }

    /// Returns the address and port of the peer.
    pub const fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// Returns the address and port that the peer wants to reach.
    pub const fn destination(&self) -> SocketAddr {
        self.destination
    }

    /// Completes the handshake and returns the flow.
    ///
    /// # Errors
    /// Fails if the peer gave up or the decision took too long; with `TimedOut` if the peer does
    /// not complete the handshake within [`FlowLimits::admit_timeout`].
    pub async fn admit(mut self) -> io::Result<TcpFlow> {
        let id = self.id.take().expect("a request is decided once");
        let ends = (self.peer, self.destination);
        let (sender, receiver) = oneshot::channel();
        self.shared.admitted().insert(ends, sender);
        let _forget = Forget(&self.shared, ends);
        self.listener().admit(id)?;
        let waited = tokio::time::timeout(self.shared.limits.admit_timeout, receiver).await;
        let stream = waited.map_err(|_| io::ErrorKind::TimedOut)?;
        Ok(TcpFlow {
            stream: stream.map_err(|_| io::ErrorKind::NotConnected)?,
            _shared: Arc::clone(&self.shared),
        })
    }

    /// Refuses the SYN.
    ///
    /// # Errors
    /// Fails if the peer has already given up.
    pub fn refuse(mut self, refusal: Refusal) -> io::Result<()> {
        let id = self.id.take().expect("a request is decided once");
        self.listener().refuse(id, refusal)
    }
}

impl Drop for TcpRequest {
    fn drop(&mut self) {
        if let Some(id) = self.id.take() {
            // The refusal fails only if the peer gave up; then there is nothing to refuse.
            let _ = self.listener().refuse(id, Refusal::Port);
        }
    }
}

/// Removes an admitted request from [`TcpShared::admitted`] when its task no longer waits, even if
/// the task's future is dropped.
struct Forget<'a>(&'a TcpShared, Ends);

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        self.0.admitted().remove(&self.1);
    }
}

/// A TCP flow: the connection of a peer to a destination. Dropping the flow closes the connection;
/// written payload is still delivered.
pub struct TcpFlow {
    stream: TcpStream,
    /// Keeps the stack running.
    _shared: Arc<TcpShared>,
}

impl fmt::Debug for TcpFlow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.stream.fmt(f)
    }
}

impl TcpFlow {
    /// Returns the address and port of the peer.
    pub const fn peer(&self) -> SocketAddr {
        self.stream.peer_addr()
    }

    /// Returns the address and port that the peer wanted to reach.
    pub const fn destination(&self) -> SocketAddr {
        self.stream.local_addr()
    }

    /// Returns the connection's id in the stack, for `Runtime::with_stack`.
    pub const fn id(&self) -> ConnectionId {
        self.stream.id()
    }

    /// Returns the connection's state, counters, and the time charged to each limit.
    ///
    /// # Errors
    /// Fails if the connection no longer exists.
    pub fn info(&self) -> io::Result<Info> {
        self.stream.info()
    }

    /// Ends the flow with a reset.
    pub fn abort(&self) {
        self.stream.abort();
    }
}

impl AsyncRead for TcpFlow {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for TcpFlow {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
