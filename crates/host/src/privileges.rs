//! Gives up the privileges of this process after its devices are open.
//!
//! Rule: the change is complete, or the call fails. It cannot be undone. Users' names are searched only
//! in `/etc/passwd`.

use std::{fs, io};

use crate::errno::{DeviceError, check};

/// Forbids this thread, and every thread and program that it starts later, to gain privileges by
/// executing a file, such as a set-user-ID program (`PR_SET_NO_NEW_PRIVS`).
///
/// # Errors
/// Fails if the kernel is older than Linux 3.5.
pub fn forbid_new_privileges() -> Result<(), DeviceError> {
    let [on, unused]: [libc::c_ulong; 2] = [1, 0];
    // SAFETY: the call takes numbers.
    let set = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, on, unused, unused, unused) };
    let what = || "cannot forbid new privileges".to_string();
    check(set).map_err(|source| DeviceError::new(what(), source))?;
    Ok(())
}

/// Gives every thread of this process the user and the group of `user`, a name of
/// `/etc/passwd` or a number. The process then belongs to no other group. Calls
/// [`forbid_new_privileges`] for the calling thread; for the other threads, the caller does so
/// before it starts them.
///
/// # Errors
/// Fails if there is no such user, or this process may not switch to that user. The process should
/// then end, because a part of the change may have been made.
pub fn become_user(user: &str) -> Result<(), DeviceError> {
    let what = || format!("cannot become the user {user}");
    let (uid, gid) = ids_of(user).map_err(|source| DeviceError::new(what(), source))?;
    forbid_new_privileges()?;
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
