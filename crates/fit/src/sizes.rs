//! Origin of the size of a Linux buffer: an option of the program, or the cap of autotuning.
//!
//! Rule: a recording of the socket shows the origin. Without a recording, the window scale may show
//! the origin for the receiver, because Linux derives the shift from the largest window that it may
//! ever advertise. A capture never shows the origin for the sender. An unknown origin is
//! [`SizedBy::Either`], and the advice then names both settings.

use fullpipe_diagnose::observe::WindowScale;

use crate::{
    evidence::{Evidence, SizedBy},
    plan::Plan,
};

/// Largest shift that shows that the program set the buffer. If the program did not set it, the
/// usual `rmem_max` of 212,992 bytes makes the shift at least 2.
const PROGRAM_SHIFT: u8 = 1;
/// Bytes of the largest window with a shift of 0, plus one.
const UNSCALED: u64 = 1 << 16;

/// Returns the origin of the size of a receive buffer. The largest window has `largest` bytes.
///
/// A receiver without `SO_RCVBUF` takes its shift from the larger one of `tcp_rmem[2]` and
/// `rmem_max`; a receiver with `SO_RCVBUF` takes its shift from the window of that buffer. A shift
/// of `s` means that the size from which it was taken is 2^(15+s) to 2^(16+s) bytes.
pub fn of_receive_buffer(evidence: &Evidence<'_>, largest: u64) -> SizedBy {
    let receiver = evidence.observed.sender.other();
    let scale = evidence.observed.directions[receiver.index()].window_scale;
    let unrecorded = match scale {
        WindowScale::Seen(shift) if shift <= PROGRAM_SHIFT => SizedBy::Program,
        WindowScale::Seen(shift) if largest >= UNSCALED << shift => SizedBy::Program,
        WindowScale::Seen(shift) if largest < (UNSCALED / 2) << shift => SizedBy::Autotuning,
        WindowScale::Seen(_) | WindowScale::Inferred(_) | WindowScale::Unknown => SizedBy::Either,
    };
    evidence.recorded.receive.unwrap_or(unrecorded)
}

/// Returns the note for an advice about a buffer whose size may come from two settings. The note
/// names the setting that the advice does not change, and the command that shows which setting
/// applies. `knob` is the advised setting and `wanted` its new value. Returns `None` if `knob` is
/// no buffer setting, or if the origin is known.
pub fn other_setting(plan: &Plan, knob: &str, wanted: &str) -> Option<String> {
    let (host, option, sysctl, usual) = match knob {
        "SO_SNDBUF" | "tcp_wmem" => ("sender", "SO_SNDBUF", "tcp_wmem", "4096 16384 4194304"),
        "SO_RCVBUF" | "tcp_rmem" => ("receiver", "SO_RCVBUF", "tcp_rmem", "4096 131072 6291456"),
        _ => return None,
    };
    let present = [option, sysctl].map(|name| plan.get(&format!("{host}.{name}")));
    let present = present
        .into_iter()
        .flatten()
        .find(|value| value.is_either)?;
    let is_option = present.set.ends_with(option);
    let bytes: u64 = present.to.rsplit(' ').next()?.parse().ok()?;
    let most = if is_option { 2 * bytes } else { bytes };
    let raised = match wanted.parse::<u64>() {
        Ok(bytes) => {
            let (first, _) = usual.rsplit_once(' ')?;
            format!("{first} {}", 2 * bytes)
        }
        Err(_) => usual.to_string(),
    };
    let tell = format!(
        "The present size comes from {option} in the program or from the third value of {sysctl}. \
         `sysctl net.ipv4.{sysctl}` on `{host}` prints that value. If it is much larger than \
         {most}, the program sets {option}"
    );
    Some(match is_option {
        true => format!(
            "{tell}. If it is near {most}, raise {sysctl} instead: \
             `sysctl -w net.ipv4.{sysctl}=\"{raised}\"`."
        ),
        false => format!("{tell}: in this case, remove {option} from the program instead."),
    })
}
