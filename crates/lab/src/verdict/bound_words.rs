//! Words of a bound: the rate that it allows, and the thing that it belongs to.
//!
//! Rule: a rate and a name, from the setup and the bound alone. Bounds are computed
//! elsewhere.

use fullpipe_tcp::CongestionAlgorithm;

use super::{bounds::Bound, cause::Cause, processor};
use crate::{
    experiment::{HostPlan, Setup},
    path::Path,
    units::{rate_text, three_digits},
};

/// A rate and its origin: `95.6 Mbit/s (the path)`.
pub fn rate(setup: &Setup, segment: f64, bound: Bound) -> String {
    let origin = match bound.cause {
        Cause::Cpu => {
            let host = processor::slower_end(setup, segment);
            let is_writer = host.name == setup.hosts[setup.flow().from].name;
            let calls = if is_writer && !host.cpu.call.is_zero() {
                " with the present send buffer"
            } else {
                ""
            };
            format!("{}{calls}", processor_of(host))
        }
        Cause::Loss => response_function(setup, segment),
        other => other.words().to_string(),
    };
    format!("{} ({origin})", rate_text(bound.bps))
}

/// The limit after a change, to be read after "limited by", and its rate.
pub fn then(setup: &Setup, segment: f64, bound: Bound) -> String {
    let rate = rate_text(bound.bps);
    match bound.cause {
        Cause::Cpu => {
            let host = processor::slower_end(setup, segment);
            format!("{}, which allows at most {rate}", processor_of(host))
        }
        Cause::Loss => {
            let function = response_function(setup, segment);
            format!("losses: {function} gives {rate} in the long run")
        }
        Cause::Path => format!("the path, which carries at most {rate} of payload"),
        Cause::Application => format!("the sending application, which writes at most {rate}"),
        Cause::SlowReader => format!("the receiving application, which reads at most {rate}"),
        other => format!("{}, which allows at most {rate}", other.words()),
    }
}

fn processor_of(host: &HostPlan) -> String {
    format!("the processor of `{}`", host.name)
}

/// The function by which a rate follows from random losses.
fn response_function(setup: &Setup, segment: f64) -> String {
    let algorithm = match setup.hosts[setup.flow().from].config.tcp.congestion {
        CongestionAlgorithm::NewReno => "newreno",
        CongestionAlgorithm::Cubic => "cubic",
        CongestionAlgorithm::Bbr => "bbr",
    };
    let loss = Path::of(setup, segment as u64).loss * 100.0;
    format!(
        "{algorithm}'s response function at {} % loss",
        three_digits(loss)
    )
}
