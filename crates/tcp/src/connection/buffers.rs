//! The sizes of the two buffers, where they follow what the connection needs.
//!
//! Rule: what is needed is said by congestion control and by the application's
//! reading; whether it can be had, by packet memory. What a peer was promised
//! stays promised: a smaller buffer takes effect as text is acknowledged or read.

use fullpipe_pool::Stream;

use super::{Connection, Env};
use crate::{receive::fair_share, send::send_goal};

impl Connection {
    /// The congestion window may have changed.
    pub(super) fn size_send_buffer(&mut self, env: &Env<'_>) {
        if self.send_size.is_tuned() {
            let goal = send_goal(self.congestion.cwnd());
            let fair = fair(&self.send.stream, env);
            self.send_size.follow(goal, env.pool.pressure(), fair);
        }
    }

    /// The application has read `bytes`.
    pub(super) fn size_receive_buffer(&mut self, bytes: usize, env: &Env<'_>) {
        if !self.receive_size.is_tuned() {
            return;
        }
        let (full, min_rtt) = (self.full_segment(), self.rtt.min_rtt());
        let goal = self
            .receive
            .sizing
            .on_read(bytes as u32, env.now, min_rtt, full);
        // A slow peer may be fast again before the next round trip is over.
        let goal = goal.unwrap_or(0).max(self.receive_size.get());
        let fair = fair(&self.receive.stream, env);
        self.receive_size.follow(goal, env.pool.pressure(), fair);
    }
}

/// What a buffer may have under pressure, in bytes.
fn fair(stream: &Stream, env: &Env<'_>) -> u32 {
    fair_share(stream, env.config.window_share, env.pool).min(u32::MAX.into()) as u32
}
