//! Connections at rest: a connection without anything in flight, unsent or owed, or one that has
//! ended, as a short record.
//!
//! Rule: the record has every value that the connection has, so a connection that rested behaves
//! exactly like one that did not. A record is only read again by the host that wrote it. The owner
//! stores the records, and decides when a connection rests.

use fullpipe_pool::record::{Record, RecordReader, RecordWriter};

use super::{Connection, TcpState, Tuning, settings::Settings};
use crate::TcpConfig;

/// Numbers that most connections of a host have in common: the settings that follow from the
/// host's knobs.
#[derive(Clone, Copy, Debug)]
pub struct UsualNumbers([u32; Settings::NUMBERS + 6]);

impl UsualNumbers {
    /// Returns the numbers of a host with these knobs. Records can only be read with the numbers
    /// with which they were written.
    pub fn new(config: &TcpConfig) -> Self {
        let tuning = Tuning::from_config(config);
        let settings = Settings::new(&tuning, config.congestion.into());
        let sizes = [settings.send_size(config), settings.receive_size(config)];
        let mut all = [0; Settings::NUMBERS + 6];
        let sizes = sizes.iter().flat_map(|size| size.numbers());
        for (usual, number) in all
            .iter_mut()
            .zip(settings.numbers().into_iter().chain(sizes))
        {
            *usual = number;
        }
        Self(all)
    }
}

impl Connection {
    /// Writes the connection into `record`, if it rests and its record fits. Returns the length of
    /// the record. The owner may then forget the connection without releasing it, and read it
    /// [`from_record`](Self::from_record) before the next call.
    pub fn to_record(&self, record: &mut [u8], usual: &UsualNumbers) -> Option<usize> {
        if !self.is_at_rest() {
            return None;
        }
        let mut writer = RecordWriter::new(record, &usual.0);
        self.pack(&mut writer);
        writer.finish()
    }

    /// Reads the connection that [`to_record`](Self::to_record) wrote.
    pub fn from_record(record: &[u8], usual: &UsualNumbers) -> Self {
        Self::unpack(&mut RecordReader::new(record, &usual.0))
    }

    /// Returns true if only the peer, the application, or a timer of a long time will change the
    /// connection, or if it has ended and has no reset to send.
    pub fn is_at_rest(&self) -> bool {
        let owes_nothing = match self.state {
            TcpState::Established | TcpState::CloseWait | TcpState::FinWait2 => {
                !self.pending.is_any() && self.send.is_idle()
            }
            TcpState::Closed => self.pending.reset.is_none(),
            TcpState::SynSent
            | TcpState::SynReceived
            | TcpState::FinWait1
            | TcpState::Closing
            | TcpState::LastAck
            | TcpState::TimeWait => false,
        };
        owes_nothing
            && !self.wants_output
            && !self.events.any()
            && self.recovery.board().is_empty()
            && self.receive.ranges() == 0
            && self.small_queue.held() == 0
            && self.timers.are_at_rest()
            && self.congestion.has_record()
            && !self.waits_for_memory()
    }
}
