//! Compares the features of the stack in the firmware with those that its manifest asks for.
//!
//! The one rule: the firmware has no other features. Cargo gives a crate the features of all its
//! dependents together, so a crate that the firmware uses can add some.

use anyhow::Result;
use serde_json::Value;

use super::edges::{elements, metadata, text};
use super::finding::Finding;

/// The firmware's manifest.
const MANIFEST: &str = "firmware/Cargo.toml";

/// Compares the features.
///
/// # Errors
/// Fails if cargo can't describe the firmware.
pub fn check() -> Result<Vec<Finding>> {
    let metadata = metadata(&["--locked", "--manifest-path", MANIFEST])?;
    Ok(judge(&metadata))
}

/// Returns the findings in cargo's metadata, which is given as parsed JSON.
pub fn judge(metadata: &Value) -> Vec<Finding> {
    let is = |name: &'static str| move |value: &&Value| text(value, "name") == name;
    let firmware = elements(metadata, "packages").find(is("fullpipe-firmware"));
    let stack = elements(metadata, "packages").find(is("fullpipe"));
    let (Some(firmware), Some(stack)) = (firmware, stack) else {
        return vec![Finding::new(MANIFEST, 1, "does not use the stack")];
    };
    let asked = elements(firmware, "dependencies").find(is("fullpipe"));
    let asked: Vec<_> = asked
        .iter()
        .flat_map(|it| elements(it, "features"))
        .collect();
    let resolved = elements(&metadata["resolve"], "nodes");
    let resolved = resolved.filter(|node| text(node, "id") == text(stack, "id"));
    let features = resolved.flat_map(|node| elements(node, "features"));
    let added = features.filter(|feature| !asked.contains(feature));
    added
        .map(|feature| {
            let says = format!(
                "the stack has the feature {feature}, which this manifest does not list: a crate that the firmware uses asks for it"
            );
            Finding::new(MANIFEST, 1, says)
        })
        .collect()
}
