//! A connection's bounds as lines of text.
//!
//! Rule: each line names a bound, its present value and its knob. Nothing is
//! decided here.

use core::{fmt, net::SocketAddr};

use fullpipe_pool::Pool;
use fullpipe_tcp::{Info, TcpConfig};

/// Bounds of a connection, for printing. Returned by
/// [`Stack::describe`](crate::Stack::describe).
#[derive(Clone, Debug)]
pub struct Description {
    local: SocketAddr,
    remote: SocketAddr,
    info: Info,
    mss_max: u32,
    /// Blocks in the pool, free blocks, and bytes of a block.
    pool: (u32, u32, u32),
}

impl Description {
    pub(crate) fn new(
        local: SocketAddr,
        remote: SocketAddr,
        info: Info,
        config: &TcpConfig,
        pool: &Pool,
    ) -> Self {
        let blocks = (pool.block_count(), pool.free_blocks(), pool.block_size());
        Self {
            local,
            remote,
            info,
            mss_max: config.mss_max,
            pool: blocks,
        }
    }

    fn write_bounds(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "  segments: {} bytes (peer's MSS {}; tcp.mss_max = {})",
            self.info.mss, self.info.agreed.peer_mss, self.mss_max
        )?;
        writeln!(
            f,
            "  send buffer: {} of {} bytes used (tcp.send_buffer), {} not sent yet",
            self.info.send_queue, self.info.send_buffer, self.info.unsent
        )?;
        writeln!(
            f,
            "  peer's receive window: {} bytes, largest {}",
            self.info.snd_wnd, self.info.max_snd_wnd
        )?;
        writeln!(f, "  congestion window: {} bytes", self.info.cwnd)?;
        writeln!(
            f,
            "  receive window: {} of {} bytes (tcp.receive_buffer), {} received and not read",
            self.info.rcv_wnd, self.info.receive_buffer, self.info.receive_queue
        )?;
        let (blocks, free, size) = self.pool;
        writeln!(
            f,
            "  packet memory: {} + {} of {blocks} blocks of {size} bytes (send + receive), {free} \
             free (pool.blocks, pool.block_size)",
            self.info.send_blocks, self.info.receive_blocks
        )
    }

    fn write_limits(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.info.at;
        let now = (
            self.info.limit.current().name(),
            self.info.receive_limit.current().name(),
        );
        write!(f, "  limited by {} now; time by limit:", now.0)?;
        for (limit, time, _) in self
            .info
            .limit
            .shares(at)
            .filter(|share| !share.1.is_zero())
        {
            write!(f, " {} {time}", limit.name())?;
        }
        write!(
            f,
            "\n  as receiver, limits the peer by {} now; time by limit:",
            now.1
        )?;
        let shares = self.info.receive_limit.shares(at);
        for (limit, time, _) in shares.filter(|share| !share.1.is_zero()) {
            write!(f, " {} {time}", limit.name())?;
        }
        Ok(())
    }
}

impl fmt::Display for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (local, remote) = (self.local, self.remote);
        let (state, age) = (self.info.state.name(), self.info.age());
        writeln!(
            f,
            "{local} - {remote} {state}, {age} old, round trip {}",
            self.info.srtt
        )?;
        self.write_bounds(f)?;
        self.write_limits(f)
    }
}
