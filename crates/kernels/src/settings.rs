//! Translates a host's settings for the kernel: sysctls, socket options, properties of the device.
//!
//! Rule: every setting of the host is applied or reported. A knob (a setting of fullpipe's stack)
//! with the value of the preset `linux` needs no setting of the kernel, because that preset
//! describes the kernel. Buffers, congestion control, Nagle's algorithm and the probing for the path
//! MTU are always set, because the machine's defaults may differ.

use std::time::Duration;

use fullpipe::{
    config::Config,
    presets::{
        self,
        alias::{self, ALIASES, SetBy},
    },
};
use fullpipe_host::kernel::FirstWindows;
use fullpipe_scenario::HostPlan;

/// Prefix of the sysctls that each network namespace has separately.
const OWN_SYSCTLS: &str = "net.ipv4";
/// Name of the preset that describes the kernel.
const LINUX: &str = "linux";
/// Knobs that [`KernelSettings::of`] applies itself.
const APPLIED: [&str; 13] = [
    "tcp.send_buffer",
    "tcp.send_buffer_max",
    "tcp.send_buffer_limit",
    "tcp.receive_buffer",
    "tcp.receive_buffer_max",
    "tcp.receive_buffer_limit",
    "tcp.nagle",
    "tcp.congestion",
    "tcp.mss_max",
    "tcp.user_timeout",
    "tcp.pacing_rate_max",
    "tcp.initial_window",
    "tcp.initial_receive_window",
];
/// Sysctls that a namespace has, but that have no effect by themselves: `tcp_adv_win_scale` has no
/// effect since Linux 6.6, and the keepalive sysctls also need a socket option.
const WITHOUT_EFFECT: [&str; 4] = [
    "tcp_adv_win_scale",
    "tcp_keepalive_time",
    "tcp_keepalive_intvl",
    "tcp_keepalive_probes",
];

/// Knobs that are always set, because the preset `linux` has another value than a new namespace: the
/// preset probes for the path MTU after a black hole (`tcp_mtu_probing` = 1), a namespace does not.
const ALWAYS_SET: [&str; 1] = ["tcp.mtu_probing"];

/// Options of a host's sockets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SocketSettings {
    /// Value of `SO_SNDBUF`; `None` leaves the buffer to autotuning.
    pub send_buffer: Option<u32>,
    /// Value of `SO_RCVBUF`; `None` leaves the buffer to autotuning.
    pub receive_buffer: Option<u32>,
    /// `TCP_NODELAY`.
    pub no_delay: bool,
    /// `TCP_CONGESTION`.
    pub congestion: String,
    /// `TCP_MAXSEG`; `None` keeps the kernel's value.
    pub mss: Option<u32>,
    /// `SO_MAX_PACING_RATE` in bytes per second; `None` keeps the kernel's value.
    pub pacing_rate: Option<u32>,
    /// `TCP_USER_TIMEOUT`; `None` keeps the kernel's value.
    pub user_timeout: Option<Duration>,
}

/// Settings of one host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelSettings {
    /// Paths below `/proc/sys/net` and their values.
    pub sysctls: Vec<(String, String)>,
    /// Options of the host's sockets.
    pub socket: SocketSettings,
    /// First windows of the host's connections; 0 keeps the kernel's value.
    pub first_windows: FirstWindows,
    /// Settings that are not applied, each with its value.
    pub not_applied: Vec<String>,
}

impl KernelSettings {
    /// Translates the settings of `host`.
    pub fn of(host: &HostPlan) -> Self {
        let mut settings = Self::default();
        let linux = presets::find(LINUX).expect("the preset is there").config();
        settings.socket = socket_settings(host, &linux);
        settings.set_buffers(&host.config);
        settings.first_windows = first_windows(&host.config, &linux);
        settings.set_others(host, &linux);
        settings.note_device(host);
        settings
    }

    /// Sets the bounds of autotuning.
    fn set_buffers(&mut self, config: &Config) {
        for name in ["tcp_wmem", "tcp_rmem"] {
            let row = alias::find(name).expect("the alias is there");
            if let Some(value) = row.present(config) {
                self.sysctls.push((format!("ipv4/{name}"), value));
            }
        }
    }

    /// Applies or reports every other knob that differs from the kernel's value.
    fn set_others(&mut self, host: &HostPlan, linux: &Config) {
        let own = host.preset.config();
        let mut of_preset = 0;
        for row in Config::rows() {
            let name = row.name.as_str();
            let value = host.get(name);
            let is_usual = value == linux.get(name) && !ALWAYS_SET.contains(&name);
            if is_usual || APPLIED.contains(&name) {
                continue;
            }
            let Some(value) = value else { continue };
            if let Some(sysctl) = sysctl(host, name, &value) {
                self.sysctls.push(sysctl);
            } else if own.get(name).as_ref() == Some(&value) {
                of_preset += 1;
            } else {
                self.not_applied
                    .push(format!("{}.{name} = {value}", host.name));
            }
        }
        if of_preset > 0 {
            let preset = host.preset.name;
            self.not_applied.push(format!(
                "{}: {of_preset} knobs that the preset {preset} sets",
                host.name
            ));
        }
    }

    /// Reports the device properties that a TAP device does not have.
    fn note_device(&mut self, host: &HostPlan) {
        let device = &host.device;
        let mut note = |field: &str, value: String| {
            let name = &host.name;
            self.not_applied
                .push(format!("{name}.device.{field} = {value}"));
        };
        if device.super_segment > 0 {
            note("super_segment", device.super_segment.to_string());
        }
        if device.reports_sent {
            note("reports_sent", "true".to_string());
        }
        if device.rx_descriptors > 0 {
            note("rx_descriptors", device.rx_descriptors.to_string());
        }
        if !device.merge_quiet.is_zero() {
            note("merge_quiet", device.merge_quiet.to_string());
        }
    }
}

fn socket_settings(host: &HostPlan, linux: &Config) -> SocketSettings {
    let tcp = &host.config.tcp;
    // Halve the size: the kernel doubles the option's value, and the knob contains the doubled
    // value.
    let set = |size: u32, most: u32, cap: u32| (most <= size).then(|| size.min(cap) / 2);
    let congestion = alias::find("tcp_congestion_control").expect("the alias is there");
    SocketSettings {
        send_buffer: set(tcp.send_buffer, tcp.send_buffer_max, tcp.send_buffer_limit),
        receive_buffer: set(
            tcp.receive_buffer,
            tcp.receive_buffer_max,
            tcp.receive_buffer_limit,
        ),
        no_delay: !tcp.nagle,
        congestion: congestion.present(&host.config).unwrap_or_default(),
        mss: (tcp.mss_max != linux.tcp.mss_max).then_some(tcp.mss_max),
        pacing_rate: (tcp.pacing_rate_max != linux.tcp.pacing_rate_max)
            .then_some(tcp.pacing_rate_max),
        user_timeout: (tcp.user_timeout != linux.tcp.user_timeout).then(|| tcp.user_timeout.into()),
    }
}

fn first_windows(config: &Config, linux: &Config) -> FirstWindows {
    let changed = |own: u32, usual: u32| if own == usual { 0 } else { own };
    FirstWindows {
        congestion: changed(config.tcp.initial_window, linux.tcp.initial_window),
        receive: changed(
            config.tcp.initial_receive_window,
            linux.tcp.initial_receive_window,
        ),
    }
}

/// The sysctl of a network namespace that sets the knob `name` to `value`.
fn sysctl(host: &HostPlan, name: &str, value: &str) -> Option<(String, String)> {
    if name == "tcp.rto_min" {
        let time: fullpipe_pool::Duration = value.parse().ok()?;
        let micros = time.as_micros().to_string();
        return Some(("ipv4/tcp_rto_min_us".to_string(), micros));
    }
    let of_namespace =
        |set_by: SetBy| matches!(set_by, SetBy::Sysctl(prefix) if prefix == OWN_SYSCTLS);
    let row = ALIASES.iter().find(|row| {
        row.preset == LINUX
            && row.knob == name
            && of_namespace(row.set_by)
            && !WITHOUT_EFFECT.contains(&row.name)
    })?;
    let value = row.value_for(&host.config, value)?;
    Some((format!("ipv4/{}", row.name), value))
}
