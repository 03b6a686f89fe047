//! Lets worlds of random scripts live, without a fuzzer: a seed names a world.
//!
//! `cargo run --release --no-default-features --example stateful_seeds -- 1 1000` runs the
//! seeds from 1 to 1000 and prints each that breaks a rule, with its panic. With a folder as
//! third argument it writes their scripts into that folder instead, for a fuzzer to begin
//! with. With one argument it replays the script of that file, as a fuzzer leaves it.

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
        eprintln!("usage: stateful_seeds FIRST LAST [FOLDER], or FILE");
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
            eprintln!("seed {seed} breaks a rule");
            broken += 1;
        }
    }
    println!("{broken} of {} seeds break a rule", last + 1 - first);
    match broken {
        0 => ExitCode::SUCCESS,
        1.. => ExitCode::FAILURE,
    }
}
