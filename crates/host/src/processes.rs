//! The processes that have a socket open, from `/proc`.
//!
//! Rule: processes that this user may not read are left out and counted. Nothing is cached. A scan
//! reads the descriptors of all processes, so callers should scan rarely.

#[cfg(test)]
mod tests;

use std::{collections::HashMap, fs, io};

/// A process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessName {
    /// Number of the process.
    pub pid: u32,
    /// Name of the process, as in `/proc/PID/comm`.
    pub name: String,
}

/// The processes of sockets.
#[derive(Clone, Debug, Default)]
pub struct SocketOwners {
    /// For each socket, by its inode, the process with the lowest number that has it open.
    pub by_inode: HashMap<u32, ProcessName>,
    /// Number of processes whose descriptors this user may not read.
    pub hidden: usize,
}

/// Scans every process.
///
/// # Errors
/// Fails if `/proc` cannot be read.
pub fn socket_owners() -> io::Result<SocketOwners> {
    let mut owners = SocketOwners::default();
    let mut pids: Vec<u32> = fs::read_dir("/proc")?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    pids.sort_unstable();
    for pid in pids {
        match sockets_of(pid) {
            Ok(inodes) if !inodes.is_empty() => {
                let process = ProcessName {
                    pid,
                    name: name_of(pid),
                };
                for inode in inodes {
                    owners
                        .by_inode
                        .entry(inode)
                        .or_insert_with(|| process.clone());
                }
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => owners.hidden += 1,
            // Skip a process that has ended meanwhile.
            Err(_) => {}
        }
    }
    Ok(owners)
}

/// Inodes of the sockets that process `pid` has open.
///
/// # Errors
/// Returns `NotFound` if there is no such process, `PermissionDenied` if it belongs to another
/// user.
pub fn sockets_of(pid: u32) -> io::Result<Vec<u32>> {
    let descriptors = fs::read_dir(format!("/proc/{pid}/fd"))?;
    let inode = |entry: io::Result<fs::DirEntry>| -> Option<u32> {
        let target = fs::read_link(entry.ok()?.path()).ok()?;
        let number = target
            .to_str()?
            .strip_prefix("socket:[")?
            .strip_suffix(']')?;
        number.parse().ok()
    };
    Ok(descriptors.filter_map(inode).collect())
}

/// The name of process `pid`; empty if it has ended.
pub fn name_of(pid: u32) -> String {
    fs::read_to_string(format!("/proc/{pid}/comm"))
        .map(|name| name.trim_end().to_string())
        .unwrap_or_default()
}
