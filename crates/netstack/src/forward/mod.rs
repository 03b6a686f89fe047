//! A forwarder: carries every flow of a netstack through kernel sockets or through a proxy.
//!
//! Rule: a TCP flow is admitted only after its target was reached, so the peer gets the target's
//! own error. The forwarder buffers no payload besides the pieces that its relays hold.

mod datagrams;
mod echo;
mod table;
mod via;

use std::{io, sync::Arc, time::Duration};

use fullpipe::Refusal;

pub use echo::EchoSockets;
pub use table::{DirectionReport, FlowReport, FlowTable, FlowTotals, Protocol, WaitSide};
pub use via::{Login, Proxy, Via, ViaError};

use crate::{
    relay,
    tcp::{TcpFlows, TcpRequest},
    udp::UdpFlows,
};
use table::Entry;

/// The settings of a forwarder.
#[derive(Clone, Debug)]
pub struct Forwarder {
    /// Kernel sockets or a proxy, through which targets are reached.
    pub via: Via,
    /// Interface to which the kernel's sockets are bound, so that their packets do not return to
    /// the device that the flows come from.
    pub bind_device: Option<String>,
    /// Longest time to reach a target.
    pub connect_timeout: Duration,
    /// Time without a byte in either direction after which a TCP flow ends.
    pub tcp_idle: Duration,
}

impl Forwarder {
    /// Returns a forwarder that waits at most 30 s for a target, and ends a TCP flow after an hour
    /// without a byte.
    pub const fn new(via: Via) -> Self {
        Self {
            via,
            bind_device: None,
            connect_timeout: Duration::from_secs(30),
            tcp_idle: Duration::from_secs(3_600),
        }
    }

    /// Carries flows until the device is gone. `table` lists the flows that are open.
    ///
    /// # Errors
    /// Returns the error of the device.
    pub async fn run(
        self,
        mut tcp: TcpFlows,
        mut udp: UdpFlows,
        table: Arc<FlowTable>,
    ) -> io::Result<()> {
        let forwarder = Arc::new(self);
        table.set_runtime(tcp.runtime());
        loop {
            let (forwarder, table) = (Arc::clone(&forwarder), Arc::clone(&table));
            tokio::select! {
                request = tcp.next() => {
                    let request = request?;
                    tokio::spawn(async move { forwarder.carry(request, &table).await });
                }
                flow = udp.next() => {
                    let flow = flow.ok_or(io::ErrorKind::NotConnected)?;
                    tokio::spawn(async move { forwarder.carry_datagrams(flow, &table).await });
                }
            }
        }
    }

    /// Carries one TCP flow.
    async fn carry(&self, request: TcpRequest, table: &Arc<FlowTable>) {
        let destination = request.destination();
        let connecting = self.via.connect(destination, self.bind_device.as_deref());
        let connected = match tokio::time::timeout(self.connect_timeout, connecting).await {
            Ok(connected) => connected,
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        };
        let mut target = match connected {
            Ok(target) => target,
            Err(error) => {
                table.count_refused();
                // The refusal fails only if the peer gave up; then there is nothing to refuse.
                let _ = request.refuse(refusal_of(&error));
                return;
            }
        };
        let Ok(mut flow) = request.admit().await else {
            return;
        };
        let entry = Entry::tcp(table, flow.peer(), destination, flow.id());
        let relayed = relay(&mut flow, &mut target, self.tcp_idle, &entry.clock).await;
        if relayed.is_err() {
            flow.abort();
        }
    }
}

/// Returns the refusal that reports to the peer why the target was not reached. If the reason is
/// this process, which has no file descriptor or memory left, the peer gets no answer and tries
/// again.
fn refusal_of(error: &io::Error) -> Refusal {
    if is_exhausted(error) {
        return Refusal::Silent;
    }
    match error.kind() {
        io::ErrorKind::HostUnreachable => Refusal::Host,
        io::ErrorKind::NetworkUnreachable => Refusal::Network,
        io::ErrorKind::TimedOut => Refusal::Silent,
        _ => Refusal::Port,
    }
}

/// Returns true if the kernel had no file descriptor, port or memory left for a socket.
fn is_exhausted(error: &io::Error) -> bool {
    use libc::{EADDRNOTAVAIL, EMFILE, ENFILE, ENOBUFS, ENOMEM};
    let codes = [EADDRNOTAVAIL, EMFILE, ENFILE, ENOBUFS, ENOMEM];
    error
        .raw_os_error()
        .is_some_and(|code| codes.contains(&code))
}
