//! Runs the checks of the fuzz target `stack_stateful` without a fuzzer, with random bytes as
//! input. Each seed gives one input.
//!
//! `cargo run --release --no-default-features --example stateful_seeds -- 1 1000` runs the seeds
//! from 1 to 1000, and prints each seed whose input fails a check, with the panic. With a folder as
//! third argument, it only writes the inputs to that folder, where a fuzzer can start from them.
//! With a file as the only argument, it runs the input in that file, for example one on which a
//! fuzzer failed.

use std::panic::catch_unwind;
use std::process::ExitCode;

use fullpipe_fuzz::stateful;

fn main() -> ExitCode {
    if let (2, Some(file)) = (std::env::args().len(), std::env::args().nth(1)) {
        stateful::live(&std::fs::read(file).expect("the file is read"));
        return ExitCode::SUCCESS;
    }
    let mut numbers = std::env::args().skip(1).map(|text| text.parse::<u64>());
    let (Some(Ok(first)), Some(Ok(last))) = (numbers.next(), numbers.next()) else {
        eprintln!("usage: stateful_seeds FIRST LAST [FOLDER], or stateful_seeds FILE");
        return ExitCode::from(2);
    };
    if let Some(folder) = std::env::args().nth(3) {
        for seed in first..=last {
            let file = std::path::Path::new(&folder).join(format!("seed-{seed}"));
            std::fs::write(file, stateful::script_of(seed)).expect("the folder exists");
        }
        return ExitCode::SUCCESS;
    }
    let mut broken = 0_u64;
    for seed in first..=last {
        let script = stateful::script_of(seed);
        if catch_unwind(|| stateful::live(&script)).is_err() {
            eprintln!("seed {seed} fails a check, as printed above");
            broken += 1;
        }
    }
    println!("{broken} of {} seeds fail a check", last + 1 - first);
    match broken {
        0 => ExitCode::SUCCESS,
        1.. => ExitCode::FAILURE,
    }
}
