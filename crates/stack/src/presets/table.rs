//! The presets and their rows.
//!
//! Rule: this file is data; it does not apply the rows.

use alloc::string::{String, ToString};
use core::fmt;

use fullpipe_pool::knobs::nearest;

/// A named set of knob values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preset {
    /// Name for `--preset`.
    pub name: &'static str,
    /// The system or device that the preset resembles, in a sentence.
    pub doc: &'static str,
    /// Knobs that differ from their defaults, and their values.
    pub rows: &'static [(&'static str, &'static str)],
}

/// Every preset.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "default",
        doc: "Every knob at its default.",
        rows: &[],
    },
    Preset {
        name: "nuttx",
        doc: "A small device with 36 buffers of 196 bytes for all packets.",
        rows: &[
            ("pool.blocks", "36"),
            ("pool.block_size", "196"),
            ("pool.ranges", "12"),
            ("pool.send_floor", "1"),
            ("pool.receive_floor", "1"),
            // tcp_appsend of NuttX sets PSH in every segment with payload.
            ("tcp.push", "every"),
            ("stack.connections", "8"),
            ("stack.listeners", "4"),
            ("stack.half_open", "4"),
            ("stack.backlog", "8"),
            ("stack.time_wait_entries", "4"),
            ("stack.reset_queue", "2"),
            ("stack.resets_per_second", "40"),
            ("stack.cookie_queue", "2"),
            ("stack.turn_budget", "8"),
            ("stack.sent_ranges", "16"),
            ("ip.routes", "2"),
            ("ip.reassembly_datagrams", "0"),
            ("ip.reassembly_bytes", "0"),
            ("ip.reassembly_largest", "8"),
            ("arp.entries", "8"),
            ("arp.queue_packets", "1"),
            ("arp.replies", "4"),
            ("icmp.echo_replies", "2"),
            ("icmp.echo_bytes", "1500"),
            ("icmp.errors", "2"),
            ("icmp.errors_per_second", "4"),
            ("udp.sockets", "8"),
            ("udp.receive_queue", "8"),
            ("udp.receive_buffer", "3528"),
            ("udp.send_queue", "4"),
            ("udp.send_buffer", "3528"),
        ],
    },
    Preset {
        name: "unet3",
        doc: "An RTOS stack with default settings: windows of 1,024 bytes, and a receive queue of one datagram.",
        rows: &[
            ("tcp.send_buffer", "1024"),
            ("tcp.receive_buffer", "1024"),
            ("tcp.fit_segments", "0"),
            ("tcp.window_scaling", "false"),
            ("tcp.timestamps", "false"),
            ("tcp.sack", "false"),
            ("tcp.congestion", "newreno"),
            ("tcp.pacing", "false"),
            ("udp.receive_queue", "1"),
        ],
    },
    Preset {
        name: "netburner",
        doc: "256 buffers of 1,500 bytes for all packets; each queue of a socket may use five of them.",
        rows: &[
            ("pool.blocks", "256"),
            ("pool.block_size", "1500"),
            ("pool.cells", "1"),
            ("tcp.send_buffer", "7500"),
            ("tcp.receive_buffer", "7500"),
            ("tcp.unacknowledged", "7500"),
            ("tcp.out_of_order", "7500"),
            ("tcp.fit_segments", "0"),
            ("tcp.cork_timeout", "0s"),
            ("tcp.window_scaling", "false"),
            ("tcp.timestamps", "false"),
            ("tcp.sack", "false"),
            ("tcp.congestion", "newreno"),
            ("tcp.pacing", "false"),
        ],
    },
    Preset {
        name: "linux",
        doc: "A host with 64 MiB of packet memory and autotuned buffers, within the default limits of a Linux kernel.",
        rows: &[
            ("pool.blocks", "32768"),
            ("pool.ranges", "65536"),
            ("stack.connections", "4096"),
            ("stack.half_open", "4096"),
            ("stack.half_open_per_source", "4096"),
            ("stack.backlog", "4096"),
            ("stack.time_wait_entries", "32768"),
            ("stack.sent_ranges", "65536"),
            ("stack.sent_ranges_each", "65536"),
            ("tcp.send_buffer", "16384"),
            ("tcp.send_buffer_max", "4194304"),
            ("tcp.receive_buffer", "131072"),
            ("tcp.receive_buffer_max", "6291456"),
            // Linux doubles net.core.wmem_max and rmem_max, which are 212,992.
            ("tcp.send_buffer_limit", "425984"),
            ("tcp.receive_buffer_limit", "425984"),
            // Linux's default net.ipv4.tcp_adv_win_scale = 1: half of a buffer becomes window.
            ("tcp.receive_payload_share", "50"),
            // Linux does not make segments shorter when a buffer holds only a few segments.
            ("tcp.fit_segments", "0"),
            ("tcp.use_up_window", "true"),
            ("tcp.holes", "65536"),
            // No row for tcp.syn_retries: the default of 7 (255 s) meets the three minutes of
            // RFC 9293 §3.8.3. Linux retries 6 times, and gives up after 127 s.
            ("tcp.synack_retries", "5"),
            ("udp.receive_buffer", "212992"),
            ("udp.send_buffer", "212992"),
        ],
    },
];

/// The error of a name that no preset has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownPreset {
    /// The name as given.
    pub name: String,
    /// The preset with the most similar name, if one is similar enough.
    pub nearest: Option<&'static str>,
}

impl fmt::Display for UnknownPreset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no preset is called `{}`; ", self.name)?;
        if let Some(nearest) = self.nearest {
            return write!(f, "did you mean `{nearest}`?");
        }
        f.write_str("there are")?;
        for (position, preset) in PRESETS.iter().enumerate() {
            write!(
                f,
                "{} {}",
                if position == 0 { "" } else { "," },
                preset.name
            )?;
        }
        Ok(())
    }
}

impl core::error::Error for UnknownPreset {}

/// Returns the preset called `name`.
///
/// # Errors
/// Returns an error, with the most similar name, if no preset is called `name`.
pub fn find(name: &str) -> Result<&'static Preset, UnknownPreset> {
    PRESETS
        .iter()
        .find(|preset| preset.name == name)
        .ok_or_else(|| UnknownPreset {
            name: name.to_string(),
            nearest: nearest(name, PRESETS.iter().map(|preset| preset.name)).and_then(|near| {
                PRESETS
                    .iter()
                    .map(|preset| preset.name)
                    .find(|known| *known == near)
            }),
        })
}
