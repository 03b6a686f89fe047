//! `cargo xtask screenshots`: pictures of the page, for the documentation.
//!
//! Rule: a picture shows a run of this tree and is made by this command; no picture is edited.
//! Each picture shows an experiment's page in a view that a link can address.
//!
//! A headless browser draws the page.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, anyhow, bail, ensure};
use fullpipe_lab::{RunOptions, catalogue, facts, run};

use xtask::repository;
use xtask::test::tools;

/// Write the pictures of the page into docs/images (needs Chromium).
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  cargo xtask screenshots")]
pub struct ScreenshotsArguments {}

/// Folder for the pictures.
const FOLDER: &str = "docs/images";
/// Virtual time that the browser gives the page to draw itself, in milliseconds.
const DRAWN_WITHIN_MS: u32 = 20_000;

struct Picture {
    file: &'static str,
    experiment: &'static str,
    settings: &'static [(&'static str, &'static str)],
    /// The part of the link after `#`; see `follow` in crates/report/page/page.js.
    view: &'static str,
    /// Width and height of the window in points.
    size: (u32, u32),
}

const PICTURES: [Picture; 6] = [
    Picture {
        file: "first-look.png",
        experiment: "linux-buffers-a",
        settings: &[],
        view: "a=1&from=0.865&until=1.085&bare",
        size: (800, 772),
    },
    Picture {
        file: "nuttx-tiny-pool.png",
        experiment: "nuttx",
        settings: &[("workload.duration", "3s")],
        view: "a=3&from=1.00&until=1.06&at=1.034&bare",
        size: (1200, 1160),
    },
    Picture {
        file: "nuttx-before-after.png",
        experiment: "nuttx",
        settings: &[("workload.duration", "3s")],
        view: "a=3&b=5&from=0&until=0.5&detrend&bare",
        size: (1200, 1562),
    },
    Picture {
        file: "nuttx-lossy.png",
        experiment: "nuttx",
        settings: &[("workload.duration", "3s"), ("link.loss", "1%")],
        view: "a=5&from=0&until=1.2&theme=dark&bare",
        size: (1200, 1160),
    },
    Picture {
        file: "linux-buffers-a.png",
        experiment: "linux-buffers-a",
        settings: &[],
        view: "a=1&b=3&from=0.8&until=2.8&bare",
        size: (1200, 1710),
    },
    Picture {
        file: "netburner-figures.png",
        experiment: "netburner",
        settings: &[],
        view: "table",
        size: (1200, 1350),
    },
];

/// Makes every picture.
///
/// # Errors
/// Fails if no browser is found, or if a run or a picture fails.
pub fn run_all(_: &ScreenshotsArguments) -> Result<()> {
    let missing = tools::prepare_browser();
    ensure!(missing.is_empty(), "{}", missing.join("; "));
    let folder = repository::root().join(FOLDER);
    fs::create_dir_all(&folder)?;
    for picture in &PICTURES {
        let file = folder.join(picture.file);
        make(picture, &file).with_context(|| picture.file)?;
        let size = fs::metadata(&file)?.len();
        println!("{FOLDER}/{}: {} KB", picture.file, size.div_ceil(1_000));
    }
    Ok(())
}

fn make(picture: &Picture, file: &Path) -> Result<()> {
    let found = catalogue::find(picture.experiment, &repository::root());
    let mut experiment = found
        .and_then(|found| found.parse())
        .map_err(|error| anyhow!("{error}"))?;
    for (name, value) in picture.settings {
        let set = experiment.set(name, value);
        set.map_err(|error| anyhow!("{name}={value}: {error}"))?;
    }
    let options = RunOptions {
        observe: true,
        ..RunOptions::plain(1)
    };
    let mut report = run(&experiment, &options)?;
    let scratch = std::env::temp_dir().join(format!("fullpipe-picture-{}", std::process::id()));
    fs::create_dir_all(&scratch)?;
    let page = scratch.join("page.html");
    let shot = fs::write(&page, fullpipe_report::page(&facts(&mut report)))
        .map_err(Into::into)
        .and_then(|()| shoot(&page, &scratch, picture, file));
    fs::remove_dir_all(&scratch)?;
    shot
}

fn shoot(page: &Path, scratch: &Path, picture: &Picture, file: &Path) -> Result<()> {
    let (width, height) = picture.size;
    let program = tools::find("chromium").context("no chromium")?;
    let status = Command::new(program)
        .args([
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            // Without this flag, a part of the page is sometimes missing in the picture.
            "--run-all-compositor-stages-before-draw",
        ])
        .arg(format!("--window-size={width},{height}"))
        .arg(format!(
            "--user-data-dir={}",
            scratch.join("profile").display()
        ))
        .arg(format!("--virtual-time-budget={DRAWN_WITHIN_MS}"))
        .arg(format!("--screenshot={}", file.display()))
        .arg(format!("file://{}#{}", page.display(), picture.view))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    if !status.success() || !file.exists() {
        bail!("the browser ended with {status}");
    }
    Ok(())
}
