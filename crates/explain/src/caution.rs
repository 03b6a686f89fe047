//! Cautions of an advice: risks of a setting, and caps that prevent its effect.
//!
//! Rule: a caution is a sentence about the value to set. It follows from the host's other settings
//! and from published recommendations, not from a run.

#[cfg(test)]
mod tests;

use fullpipe::presets::alias;
use fullpipe_pool::Duration;
use fullpipe_scenario::{experiment::HostPlan, units::grouped};

/// Largest initial window, in segments, that is not risky.
const RISKY_WINDOW: u64 = 32;
/// Smallest retransmission timeout that is not risky: the one of Linux.
const USUAL_TIMEOUT: Duration = Duration::from_millis(200);
/// Buffers of at least this many bytes are large for one connection.
const LARGE_BUFFER: u64 = 16 << 20;

/// Returns the cautions about setting `knob` of `host` to `wanted`.
pub fn of(host: &HostPlan, knob: &str, wanted: &str) -> Vec<String> {
    if knob == "tcp.rto_min" {
        return early(wanted).into_iter().collect();
    }
    let Ok(wanted) = wanted.parse::<u64>() else {
        return Vec::new();
    };
    match knob {
        "tcp.initial_window" if wanted > RISKY_WINDOW => vec![format!(
            "Risky: RFC 6928 recommends 10 segments; {} segments at once may overflow a queue on the path.",
            grouped(wanted)
        )],
        "tcp.initial_receive_window" if wanted > RISKY_WINDOW => vec![format!(
            "Risky: the peer may send {} segments in its first flight, and memory for them is reserved for each new connection.",
            grouped(wanted)
        )],
        "pool.blocks" => {
            let bytes = wanted * u64::from(host.config.pool.block_size);
            vec![format!(
                "The packet memory changes from {} to {} bytes.",
                grouped(host.pool_bytes()),
                grouped(bytes)
            )]
        }
        _ => Vec::new(),
    }
}

/// Returns the caution about `wanted`, a smallest retransmission timeout below [`USUAL_TIMEOUT`].
fn early(wanted: &str) -> Option<String> {
    let timeout: Duration = wanted.parse().ok()?;
    (timeout < USUAL_TIMEOUT).then(|| {
        "Risky: with less than 200 ms, spurious timeouts are likelier on a path with jitter."
            .to_string()
    })
}

/// Returns the caution about a buffer, `knob` of `host`, whose size is above the present cap on what
/// an application may set. `after` is the host with the whole advice, which may raise the cap. A
/// buffer with autotuning has no such cap.
pub fn capped(host: &HostPlan, after: &HostPlan, knob: &str) -> Option<String> {
    let [before, tcp] = [host, after].map(|host| &host.config.tcp);
    let (limit, caps, size, most) = match knob {
        "tcp.send_buffer" => (
            "tcp.send_buffer_limit",
            [before.send_buffer_limit, tcp.send_buffer_limit],
            tcp.send_buffer,
            tcp.send_buffer_max,
        ),
        "tcp.receive_buffer" => (
            "tcp.receive_buffer_limit",
            [before.receive_buffer_limit, tcp.receive_buffer_limit],
            tcp.receive_buffer,
            tcp.receive_buffer_max,
        ),
        _ => return None,
    };
    let [cap, cap_after] = caps;
    if size <= cap || most > size {
        return None;
    }
    let names = alias::of_knob(host.preset.name, limit);
    let own = names.first().and_then(|name| alias::find(name));
    let named = |host: &HostPlan, cap: u32| {
        let own = own.and_then(|alias| Some((alias.name, alias.present(&host.config)?)));
        own.unwrap_or((limit, cap.to_string()))
    };
    let (name, present) = named(host, cap);
    Some(match (cap_after > cap, cap_after < size) {
        (true, false) => format!(
            "{name} = {present} caps this buffer at a smaller size. The advice therefore also \
             raises {name}."
        ),
        (true, true) => format!(
            "{name} = {present} caps this buffer at a smaller size. The advice raises {name} only \
             to {}, and the predicted result is the result with this size.",
            named(after, cap_after).1
        ),
        (false, _) => format!(
            "{name} = {present} caps this buffer at a smaller size. The predicted result is the \
             result with the smaller size. The advised size also needs a higher {name}."
        ),
    })
}

/// Returns the caution about a buffer, `knob` of `host`, that is large for one connection.
pub fn large(host: &HostPlan, knob: &str) -> Option<String> {
    let tcp = &host.config.tcp;
    let bytes = match knob {
        "tcp.send_buffer" => tcp.send_buffer,
        "tcp.send_buffer_max" => tcp.send_buffer_max,
        "tcp.receive_buffer" => tcp.receive_buffer,
        "tcp.receive_buffer_max" => tcp.receive_buffer_max,
        _ => return None,
    };
    let bytes = u64::from(bytes);
    let pool = host.pool_bytes();
    if bytes > pool {
        return Some(format!(
            "Risky: the buffer is larger than the host's packet memory of {} bytes.",
            grouped(pool)
        ));
    }
    (bytes >= LARGE_BUFFER).then(|| {
        format!(
            "Risky: each connection may use {} bytes of memory.",
            grouped(bytes)
        )
    })
}
