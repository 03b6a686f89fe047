//! Random bytes of the kernel's generator.
//!
//! Rule: each value is drawn from the kernel; none is derived from another.

use std::{fs::File, io};

use fullpipe::MacAddress;

/// Draws 16 bytes that no peer can guess, for [`fullpipe::Stack::new`].
///
/// # Errors
/// Fails if the kernel's generator cannot be read.
pub fn secret() -> io::Result<[u8; 16]> {
    use std::io::Read;
    let mut secret = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut secret)?;
    Ok(secret)
}

/// Draws a MAC address: unicast, locally administered.
///
/// # Errors
/// Fails if the kernel's generator cannot be read.
pub fn station_address() -> io::Result<MacAddress> {
    let random = secret()?;
    let mut address = [0; 6];
    address.copy_from_slice(&random[..6]);
    // Set the bit for locally administered addresses, and clear the bit for group addresses.
    address[0] = (address[0] & 0xfc) | 0x02;
    Ok(MacAddress(address))
}
