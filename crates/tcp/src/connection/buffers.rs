//! Autotuning of the two buffers.
//!
//! Rule: congestion control and the application's reads ask for a size; packet memory
//! decides how much of it is granted. The advertised window is never withdrawn: a
//! smaller buffer takes effect as payload is acknowledged or read.

use fullpipe_pool::Stream;

use super::{Connection, Env};
use crate::{receive::fair_share, send::send_goal};

impl Connection {
    /// Adjusts the send buffer after a change of the congestion window.
    pub(super) fn size_send_buffer(&mut self, env: &Env<'_>) {
        if self.send_size.is_tuned() {
            let goal = send_goal(self.congestion.cwnd());
            let fair = fair(&self.send.stream, env);
            self.send_size.follow(goal, env.pool.pressure(), fair);
            self.update_mss(env);
        }
    }

    /// Adjusts the receive buffer after a read of `bytes`.
    pub(super) fn size_receive_buffer(&mut self, bytes: usize, env: &Env<'_>) {
        if !self.receive_size.is_tuned() {
            return;
        }
        let (full, min_rtt) = (self.full_segment(), self.rtt.min_rtt());
        let goal = self
            .receive
            .sizing
            .on_read(bytes as u32, env.now, min_rtt, full);
        // Do not shrink the buffer here, because a slow peer may be fast again before the next
        // round trip ends.
        let goal = goal.unwrap_or(0).max(self.receive_size.get());
        let fair = fair(&self.receive.stream, env);
        self.receive_size.follow(goal, env.pool.pressure(), fair);
    }
}

/// Returns a buffer's fair share under pressure, in bytes.
fn fair(stream: &Stream, env: &Env<'_>) -> u32 {
    fair_share(stream, env.config.window_share, env.pool).min(u32::MAX.into()) as u32
}
