//! Counts the instructions of one unit of work with `valgrind --tool=callgrind`.
//!
//! Rule: the program runs itself twice, with a small and a large number of units. The difference of
//! the instructions is divided by the difference of the units. Work that is done once per run, such
//! as allocation, the handshake and slow start, thus does not count.

use std::{
    collections::BTreeMap,
    env, fs,
    path::PathBuf,
    process::{self, Child, Command, Stdio},
};

use anyhow::{Context, Result, ensure};

use crate::{cases::Case, stacks::StackName};

/// Numbers of units of the small and of the large run. At the end of the small run, slow start is
/// over and every table that only grows has its final size.
fn units(case: Case) -> [u64; 2] {
    match case {
        Case::Bulk16k | Case::Bulk64k | Case::Bulk256k => [4_000, 8_000],
        Case::Bulk4m => [24_000, 36_000],
        Case::Rr => [1_000, 4_000],
        Case::Crr => [600, 1_600],
        Case::Udp1472 | Case::Udp64 => [1_000, 4_000],
    }
}

/// Settings of glibc. Without ERMS and FSRM, `memcpy` and `memset` use no `rep movsb` and `rep
/// stosb`, for which callgrind counts one instruction for each byte. Without the other features,
/// glibc uses only SSE2, so that every x86-64 processor runs the same code. The portable checksums
/// also use only SSE2.
const TUNABLES: &str = if cfg!(feature = "simd") {
    "glibc.cpu.hwcaps=-ERMS,-FSRM"
} else {
    "glibc.cpu.hwcaps=-ERMS,-FSRM,-AVX_Fast_Unaligned_Load,-AVX2,-AVX,-BMI2,-MOVBE,\
     -SSE4_1,-SSE4_2,-SSSE3,-Fast_Unaligned_Copy,-Fast_Copy_Backward,-Slow_BSF"
};

/// A run under callgrind that has not ended yet.
struct Running {
    file: PathBuf,
    child: Child,
}

impl Running {
    fn start(stack: StackName, case: Case, units: u64) -> Result<Self> {
        let name = format!("fullpipe-bench-{}-{units}.callgrind", process::id());
        let file = env::temp_dir().join(name);
        let program = env::current_exe().context("finding this program")?;
        let child = Command::new("valgrind")
            .env("GLIBC_TUNABLES", TUNABLES)
            .args(["--quiet", "--tool=callgrind"])
            .arg(format!("--callgrind-out-file={}", file.display()))
            .arg(program)
            .args(["run", stack.name(), &case.name(), &units.to_string()])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context("starting valgrind (Debian package valgrind)")?;
        Ok(Self { file, child })
    }

    fn finish(self) -> Result<Recording> {
        let output = self.child.wait_with_output().context("running valgrind")?;
        ensure!(
            output.status.success(),
            "valgrind ended with {}: {}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        );
        let done = String::from_utf8_lossy(&output.stdout);
        Ok(Recording {
            file: self.file,
            units: done
                .trim()
                .parse()
                .context("reading the number of units that the run printed")?,
        })
    }
}

/// The recording of a finished run under callgrind.
struct Recording {
    file: PathBuf,
    /// Units of work that the run did.
    units: f64,
}

impl Recording {
    /// Instructions of the whole run.
    fn total(&self) -> Result<u64> {
        let text = fs::read_to_string(&self.file)
            .with_context(|| format!("reading {}", self.file.display()))?;
        let total = text
            .lines()
            .filter_map(|line| line.strip_prefix("totals: "))
            .find_map(|count| count.trim().parse().ok());
        total.context("callgrind wrote no `totals:` line")
    }

    /// Returns the instructions of each function. The instructions of called functions are
    /// included if `inclusive` is true.
    fn functions(&self, inclusive: bool) -> Result<BTreeMap<String, u64>> {
        let inclusive = if inclusive { "yes" } else { "no" };
        let output = Command::new("callgrind_annotate")
            .args(["--threshold=100", "--auto=no", "--show-percs=no"])
            .arg(format!("--inclusive={inclusive}"))
            .arg(&self.file)
            .output()
            .context("starting callgrind_annotate (Debian package valgrind)")?;
        ensure!(output.status.success(), "callgrind_annotate failed");
        Ok(parse_functions(&String::from_utf8_lossy(&output.stdout)))
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        // Ignore an error: the file may not exist.
        let _ = fs::remove_file(&self.file);
    }
}

/// Parses the list that `callgrind_annotate` prints: `12,345  file:function [object]`. A function
/// has one line for each file from which code was inlined into it.
fn parse_functions(annotated: &str) -> BTreeMap<String, u64> {
    let mut functions = BTreeMap::new();
    for line in annotated.lines() {
        let Some((count, place)) = line.trim_start().split_once("  ") else {
            continue;
        };
        let Ok(count) = count.replace(',', "").parse::<u64>() else {
            continue;
        };
        let place = place.split(" [").next().unwrap_or(place);
        let name = match place.split_once(':') {
            Some((_, function)) if !function.starts_with(':') => function,
            Some(_) | None => place,
        };
        *functions.entry(name.to_owned()).or_default() += count;
    }
    functions
}

/// The small and the large run of a case.
struct Pair {
    small: Recording,
    large: Recording,
}

impl Pair {
    fn record(stack: StackName, case: Case) -> Result<Self> {
        let [small, large] = units(case);
        // Start both runs at once: running in parallel does not change the counts.
        let small = Running::start(stack, case, small)?;
        let large = Running::start(stack, case, large)?;
        Ok(Self {
            small: small.finish()?,
            large: large.finish()?,
        })
    }

    /// Returns the cost of one unit, from the instructions of the two runs.
    fn per_unit(&self, small: u64, large: u64) -> f64 {
        (large as f64 - small as f64) / (self.large.units - self.small.units)
    }

    /// Returns the instructions of each function for one unit.
    fn functions(&self, inclusive: bool) -> Result<BTreeMap<String, f64>> {
        let small = self.small.functions(inclusive)?;
        let large = self.large.functions(inclusive)?;
        let cost = |(name, count): (String, u64)| {
            let before = small.get(&name).copied().unwrap_or(0);
            (name, self.per_unit(before, count))
        };
        Ok(large.into_iter().map(cost).collect())
    }
}

/// Returns the instructions that `stack` needs for one unit of `case`.
///
/// # Errors
/// Fails if valgrind is missing or the run fails.
pub fn instructions(stack: StackName, case: Case) -> Result<f64> {
    let pair = Pair::record(stack, case)?;
    Ok(pair.per_unit(pair.small.total()?, pair.large.total()?))
}

/// Instructions of a function for one unit of work.
pub struct FunctionCost {
    /// Path of the function.
    pub name: String,
    /// Instructions without those of called functions.
    pub own: f64,
    /// Instructions including those of called functions.
    pub inclusive: f64,
}

/// Returns the functions of `stack` in `case`, the most expensive one first.
///
/// # Errors
/// Fails if valgrind is missing or the run fails.
pub fn profile(stack: StackName, case: Case) -> Result<Vec<FunctionCost>> {
    let pair = Pair::record(stack, case)?;
    let (own, inclusive) = (pair.functions(false)?, pair.functions(true)?);
    let mut functions: Vec<FunctionCost> = own
        .into_iter()
        .map(|(name, own)| FunctionCost {
            inclusive: inclusive.get(&name).copied().unwrap_or(own),
            own,
            name,
        })
        .collect();
    functions.sort_by(|a, b| b.own.total_cmp(&a.own));
    Ok(functions)
}
