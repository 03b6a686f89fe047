//! UDP flows: the datagrams between one peer and one destination.
//!
//! Rule: one task reads every datagram, of both IP versions, and puts it into the queue of its
//! flow. The datagram is dropped if this queue is full, or if all queues together have too many
//! bytes. The task therefore never waits for one flow while another flow has datagrams.

use std::{
    collections::HashMap,
    fmt, io,
    net::SocketAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use fullpipe::Refusal;
use fullpipe_host::{Runtime, tokio::UdpSocket};
use tokio::{sync::mpsc, task::JoinHandle, time::Instant};

use crate::{family::EachFamily, limits::FlowLimits};

/// Largest datagram in bytes.
const DATAGRAM_MAX: usize = 65_535;
/// Largest number of datagrams that wait in one flow.
const QUEUED: usize = 128;
/// Largest number of new flows that wait for [`UdpFlows::next`].
const NEW_FLOWS: usize = 256;

/// The two addresses of a flow: of its peer, and of the destination that the peer sends to.
type Ends = (SocketAddr, SocketAddr);

/// A datagram that waits in the queue of a flow. When it is dropped, its bytes no longer count as
/// waiting.
struct Queued {
    payload: Vec<u8>,
    shared: Arc<UdpShared>,
}

impl Drop for Queued {
    fn drop(&mut self) {
        let waiting = &self.shared.waiting_bytes;
        waiting.fetch_sub(self.payload.capacity(), Ordering::Relaxed);
    }
}

struct UdpShared {
    sockets: EachFamily<UdpSocket>,
    /// Keeps the stack running.
    _runtime: Arc<Runtime>,
    limits: FlowLimits,
    flows: Mutex<HashMap<Ends, mpsc::Sender<Queued>>>,
    waiting_bytes: AtomicUsize,
    dropped: AtomicU64,
}

impl UdpShared {
    fn flows(&self) -> MutexGuard<'_, HashMap<Ends, mpsc::Sender<Queued>>> {
        self.flows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the datagrams of `socket` and sorts them into their flows, until the stack stops.
    async fn sort(self: &Arc<Self>, socket: &UdpSocket, opened: &mpsc::Sender<UdpFlow>) {
        let mut buffer = vec![0; DATAGRAM_MAX];
        while let Ok((len, from, to)) = socket.recv_from_to(&mut buffer).await {
            if !self.deliver(&buffer[..len], (from, to), opened) {
                self.dropped.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Puts a datagram into the queue of its flow, and opens the flow if it is new. Returns false
    /// if the datagram was dropped.
    fn deliver(
        self: &Arc<Self>,
        payload: &[u8],
        ends: Ends,
        opened: &mpsc::Sender<UdpFlow>,
    ) -> bool {
        let waiting = self.waiting_bytes.load(Ordering::Relaxed);
        if waiting + payload.len() > self.limits.udp_bytes {
            return false;
        }
        let payload = payload.to_vec();
        self.waiting_bytes
            .fetch_add(payload.capacity(), Ordering::Relaxed);
        let datagram = Queued {
            payload,
            shared: Arc::clone(self),
        };
        let mut flows = self.flows();
        if let Some(flow) = flows.get(&ends) {
            return flow.try_send(datagram).is_ok();
        }
        if flows.len() >= self.limits.udp_flows {
            return false;
        }
        let Ok(place) = opened.try_reserve() else {
            return false;
        };
        let (sender, receiver) = mpsc::channel(QUEUED);
        let is_queued = sender.try_send(datagram).is_ok();
        flows.insert(ends, sender);
        drop(flows);
        place.send(UdpFlow {
            datagrams: receiver,
            sender: UdpSender {
                shared: Arc::clone(self),
                ends,
                last: Arc::new(Mutex::new(Instant::now())),
            },
        });
        is_queued
    }
}

/// The UDP flows of a netstack.
pub struct UdpFlows {
    opened: mpsc::Receiver<UdpFlow>,
    shared: Arc<UdpShared>,
    sorter: JoinHandle<()>,
}

impl fmt::Debug for UdpFlows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UdpFlows").finish_non_exhaustive()
    }
}

impl UdpFlows {
    pub(crate) fn start(runtime: Arc<Runtime>, limits: FlowLimits) -> io::Result<Self> {
        let shared = Arc::new(UdpShared {
            sockets: EachFamily::of(|every| UdpSocket::bind_all_ports(&runtime, every))?,
            _runtime: runtime,
            limits,
            flows: Mutex::default(),
            waiting_bytes: AtomicUsize::new(0),
            dropped: AtomicU64::new(0),
        });
        let (sender, opened) = mpsc::channel(NEW_FLOWS);
        let sorting = Arc::clone(&shared);
        let sorter = tokio::spawn(async move {
            let [v4, v6] = sorting.sockets.both();
            tokio::join!(sorting.sort(v4, &sender), sorting.sort(v6, &sender));
        });
        Ok(Self {
            opened,
            shared,
            sorter,
        })
    }

    /// Waits for the next flow, which the first datagram of a peer to a destination opens. Returns
    /// `None` if the stack stopped.
    pub async fn next(&mut self) -> Option<UdpFlow> {
        self.opened.recv().await
    }

    /// Returns the number of datagrams that were dropped because a queue was full or a limit of
    /// [`FlowLimits`] was reached.
    pub fn dropped(&self) -> u64 {
        self.shared.dropped.load(Ordering::Relaxed)
    }
}

impl Drop for UdpFlows {
    fn drop(&mut self) {
        self.sorter.abort();
    }
}

/// The datagrams between one peer and one destination. The flow ends when this value is dropped;
/// a later datagram begins a new flow.
pub struct UdpFlow {
    datagrams: mpsc::Receiver<Queued>,
    sender: UdpSender,
}

impl fmt::Debug for UdpFlow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.sender.fmt(f)
    }
}

impl UdpFlow {
    /// Returns the address and port of the peer.
    pub const fn peer(&self) -> SocketAddr {
        self.sender.ends.0
    }

    /// Returns the address and port that the peer sends to.
    pub const fn destination(&self) -> SocketAddr {
        self.sender.ends.1
    }

    /// Waits for the next datagram of the peer. Returns `None` if there was no datagram in either
    /// direction for [`FlowLimits::udp_idle`], or if the stack stopped.
    pub async fn recv(&mut self) -> Option<Vec<u8>> {
        let idle = self.sender.shared.limits.udp_idle;
        loop {
            let until = self.sender.last_moved() + idle;
            match tokio::time::timeout_at(until, self.datagrams.recv()).await {
                Ok(None) => return None,
                Ok(Some(mut queued)) => {
                    self.sender.note_moved();
                    let capacity = queued.payload.capacity();
                    let waiting = &queued.shared.waiting_bytes;
                    waiting.fetch_sub(capacity, Ordering::Relaxed);
                    return Some(std::mem::take(&mut queued.payload));
                }
                Err(_) if Instant::now() < self.sender.last_moved() + idle => {}
                Err(_) => return None,
            }
        }
    }

    /// Sends a datagram to the peer; its source address is the destination that the peer sends to.
    /// Waits while the stack's queue is full.
    ///
    /// # Errors
    /// Fails if the datagram is too long or the stack stopped.
    pub async fn send(&self, payload: &[u8]) -> io::Result<()> {
        self.sender.send(payload).await
    }

    /// Returns a handle with which another task can send datagrams to the peer.
    pub fn sender(&self) -> UdpSender {
        self.sender.clone()
    }

    /// Refuses the flow's last datagram with an ICMP error.
    pub fn refuse(&self, refusal: Refusal) {
        let (peer, destination) = self.sender.ends;
        let socket = self.sender.shared.sockets.of_address(destination);
        socket.refuse(peer, destination, refusal);
    }
}

impl Drop for UdpFlow {
    fn drop(&mut self) {
        self.sender.shared.flows().remove(&self.sender.ends);
    }
}

/// Sends the datagrams of a flow to its peer.
#[derive(Clone)]
pub struct UdpSender {
    shared: Arc<UdpShared>,
    ends: Ends,
    /// The time of the last datagram in either direction.
    last: Arc<Mutex<Instant>>,
}

impl fmt::Debug for UdpSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UdpFlow")
            .field("peer", &self.ends.0)
            .field("destination", &self.ends.1)
            .finish_non_exhaustive()
    }
}

impl UdpSender {
    /// Sends a datagram to the peer; see [`UdpFlow::send`].
    ///
    /// # Errors
    /// Fails if the datagram is too long or the stack stopped.
    pub async fn send(&self, payload: &[u8]) -> io::Result<()> {
        let (peer, destination) = self.ends;
        self.note_moved();
        let socket = self.shared.sockets.of_address(destination);
        let sent = socket.send_from(payload, destination, peer);
        sent.await.map(drop)
    }

    fn note_moved(&self) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    fn last_moved(&self) -> Instant {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
