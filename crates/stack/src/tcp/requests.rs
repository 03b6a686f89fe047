//! SYNs of deferred listeners, about which the application decides.
//!
//! Rule: a request is a handshake whose SYN has no answer yet. `syn_cache` keeps the requests; this
//! file returns them to the application and carries out the application's decisions.

use fullpipe_tcp::SeqNum;

use super::{Decision, FourTuple, HostContext, TcpLayer};
use crate::{link::Station, slab::Key};

impl TcpLayer {
    /// Removes and returns the oldest request of `listener` that the application has not taken.
    pub(crate) fn take_request(
        &mut self,
        listener: Key,
        host: &mut HostContext<'_>,
    ) -> Option<(Key, FourTuple)> {
        while let Some(index) = self.syn_cache.take_request(listener.index) {
            let handshake = self.syn_cache.at(index);
            if handshake.listener == listener {
                let request = (self.syn_cache.key(index), handshake.tuple);
                return Some(request);
            }
            // The request belongs to an earlier listener of the same slot, which was closed.
            self.host_state.counters.attempt_fails += 1;
            self.forget_handshake(index, host);
        }
        None
    }

    /// Carries out the decision about the SYN `key`: makes the answer due. If `decision` is
    /// [`Decision::Pending`] (refused without a TCP segment) or the listener is closed, forgets the
    /// SYN. Returns the tuple, the sequence number of the SYN and its sender;
    /// `None` if the request has ended or the listener is closed.
    pub(crate) fn decide(
        &mut self,
        key: Key,
        decision: Decision,
        host: &mut HostContext<'_>,
    ) -> Option<(FourTuple, SeqNum, Station)> {
        let handshake = self.syn_cache.pending(key)?;
        let request = (handshake.tuple, handshake.half_open.irs, handshake.station);
        let listens = self.listeners.get(handshake.listener).is_some();
        match decision {
            Decision::Accept | Decision::Reset if listens => {
                self.syn_cache.decide(key.index, decision);
                Some(request)
            }
            Decision::Accept | Decision::Reset | Decision::Pending => {
                self.host_state.counters.attempt_fails += 1;
                self.forget_handshake(key.index, host);
                listens.then_some(request)
            }
        }
    }
}
