//! Live sockets of a Linux kernel: the limits of each socket, and the time by limit.
//!
//! [`SocketObservation`] parses the kernel's answer to a [`SocketFilter::request`]. A
//! [`SocketTable`] compares successive answers and keeps a [`SocketAccount`] of each socket: time
//! and bytes by [`Limit`](fullpipe_tcp::Limit), the same limits as those of fullpipe's own stack.
//! [`socket_verdict`] names the main limit, its figures and the settings that change it.
//! [`SocketWriter`] writes observations to a file, and [`SocketRecording`] reads such a file;
//! [`Replay`] computes accounts from such a file, and [`AccountsBeside`] compares an account with a
//! capture.
//!
//! Rule: nothing here asks a kernel or reads a clock. Bytes, settings and times are arguments, so
//! an old kernel's answer can be analysed on any machine.

mod account;
mod beside;
mod follow;
mod limit;
mod observation;
mod recording;
mod replay;
mod request;
mod ss;
mod tcp_info;
mod verdict;

#[cfg(test)]
mod tests;

pub use account::{LimitTimes, SocketAccount, is_send_buffer_full};
pub use beside::{AccountDifference, AccountsBeside, LimitBeside};
pub use follow::{FollowedSocket, LimitSums, SocketChange, SocketEvent, SocketPeaks, SocketTable};
pub use limit::{LimitNow, SocketMemo, limit_at, receive_limit_at};
pub use observation::{
    CongestionModel, CongestionName, DiagFamily, SocketId, SocketMemory, SocketObservation,
    SocketState, SocketTimer,
};
pub use recording::{RecordError, RecordedRound, SocketRecording, SocketWriter};
pub use replay::{Replay, ReplayedSocket, SocketBand};
pub use request::{EndFilter, REQUEST_ONE_LEN, SocketFilter, request_one};
pub use ss::{SsFields, ss_line};
pub use tcp_info::{INFINITE_SSTHRESH, TcpInfo};
pub use verdict::{
    BufferOrigin, HostSettings, KernelNote, SocketStep, SocketVerdict, buffer_origins,
    socket_verdict,
};
