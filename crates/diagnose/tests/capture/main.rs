//! Tests with captures of every format and link type: complete, cut and damaged.

mod conversation;
mod damaged;
mod formats;
mod links;
mod odd_packets;
mod unreadable;
mod written;

use std::io::Cursor;

use fullpipe_diagnose::capture::{
    BytesRead, CaptureCounters, CaptureError, CaptureReader, Ending, FlowKey, Segment,
};

/// Everything that a capture contains.
struct Everything {
    segments: Vec<(FlowKey, Segment)>,
    counters: CaptureCounters,
    /// [`Ending`] in its debug form.
    ending: String,
}

/// Reads a capture to its end.
fn read(bytes: &[u8]) -> Result<Everything, CaptureError> {
    let mut reader = CaptureReader::open(Cursor::new(bytes.to_vec()), BytesRead::default())?;
    let segments = reader.by_ref().collect();
    let ending = reader.ending().expect("it has ended");
    Ok(Everything {
        segments,
        counters: reader.counters(),
        ending: format!("{ending:?}"),
    })
}

/// Reads a capture that is complete.
fn whole(bytes: &[u8]) -> Everything {
    let everything = read(bytes).expect("a capture");
    assert_eq!(everything.ending, format!("{:?}", Ending::Complete));
    everything
}
