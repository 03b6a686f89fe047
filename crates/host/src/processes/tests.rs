//! Tests of the owners of sockets, with sockets of this process.

use std::os::fd::AsRawFd;

use super::*;

#[test]
fn the_owner_of_a_socket_of_this_process_is_this_process() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let link = format!("/proc/self/fd/{}", listener.as_raw_fd());
    let target = fs::read_link(link).unwrap();
    let digits = |letter: char| !letter.is_ascii_digit();
    let inode: u32 = target
        .to_str()
        .unwrap()
        .trim_matches(digits)
        .parse()
        .unwrap();
    let owners = socket_owners().unwrap();
    assert_eq!(owners.by_inode[&inode].pid, std::process::id());
    assert!(sockets_of(std::process::id()).unwrap().contains(&inode));
}
