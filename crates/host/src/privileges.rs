//! Gives up the privileges of this process after its devices are open.
//!
//! Rule: the change is complete, or the call fails. It cannot be undone. Users' names are searched only
//! in `/etc/passwd`.

use std::{fs, io};

use crate::errno::{DeviceError, check};

/// Gives every thread of this process the user and the group of `user`, a name of
/// `/etc/passwd` or a number. The process then belongs to no other group.
///
/// # Errors
/// Fails if there is no such user, or this process may not switch to that user. The process should
/// then end, because a part of the change may have been made.
pub fn become_user(user: &str) -> Result<(), DeviceError> {
    let what = || format!("cannot become the user {user}");
    let (uid, gid) = ids_of(user).map_err(|source| DeviceError::new(what(), source))?;
    let privileged = |source| DeviceError::privileged(what(), "CAP_SETUID and CAP_SETGID", source);
    // SAFETY: the call takes a length and a pointer that it does not read if the length is 0.
    check(unsafe { libc::setgroups(0, std::ptr::null()) }).map_err(privileged)?;
    // SAFETY: the call takes numbers.
    check(unsafe { libc::setresgid(gid, gid, gid) }).map_err(privileged)?;
    // SAFETY: the call takes numbers.
    check(unsafe { libc::setresuid(uid, uid, uid) }).map_err(privileged)?;
    Ok(())
}

/// Returns the numbers of a user and its group.
fn ids_of(user: &str) -> io::Result<(u32, u32)> {
    let passwd = fs::read_to_string("/etc/passwd")?;
    let entry = passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        let (name, _, uid, gid) = (
            fields.next()?,
            fields.next()?,
            fields.next()?,
            fields.next()?,
        );
        (name == user || uid == user).then_some((uid.parse().ok()?, gid.parse().ok()?))
    });
    let number = || user.parse().ok().map(|id| (id, id));
    entry
        .or_else(number)
        .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "/etc/passwd has no such user"))
}
