//! lwIP, compiled from source. `lwip/glue.c` contains the calls and `lwip/lwipopts.h` the options.
//!
//! lwIP has one set of global variables, so only one [`Lwip`] exists at a time, and both ends are
//! network interfaces of the same lwIP. A lookup for one end therefore also searches the other
//! end's connections; in the cases of this benchmark, that is one more connection.

use std::{ffi::c_void, ptr, time::Duration};

use crate::{
    link::Link,
    stack::{End, Read, Setup, Stack},
};

/// A connection. Its memory belongs to `glue.c`.
#[repr(C)]
pub struct Opaque {
    _private: [u8; 0],
}

unsafe extern "C" {
    fn bench_start(links: *mut c_void, buffer: u32);
    fn bench_connect() -> *mut Opaque;
    fn bench_accept() -> *mut Opaque;
    fn bench_write(stream: *mut Opaque, payload: *const u8, len: usize) -> usize;
    fn bench_read(stream: *mut Opaque, out: *mut u8, len: usize) -> isize;
    fn bench_close(stream: *mut Opaque);
    fn bench_send_datagram(payload: *const u8, len: usize) -> i32;
    fn bench_receive_datagram(out: *mut u8, len: usize) -> isize;
    fn bench_input(end: i32, frame: *const u8, len: usize);
    fn bench_timers(now_ms: u32);
    fn bench_sleep_ms() -> u32;
}

/// Frames that leave each end, and the number of frames sent since the last turn.
struct Links {
    from: [Link; 2],
    sent: usize,
}

/// Lends memory for a frame from `end`; returns null if the queue is full.
#[unsafe(no_mangle)]
extern "C" fn bench_lend(links: *mut c_void, end: i32, len: usize) -> *mut u8 {
    // SAFETY: `links` is the pointer of `Lwip::new`, and nothing else uses the links
    // during a call of lwIP.
    let links = unsafe { &mut *links.cast::<Links>() };
    let frame = links.from[end as usize].lend(len);
    frame.map_or(ptr::null_mut(), <[u8]>::as_mut_ptr)
}

/// Sends the frame whose memory was lent last.
#[unsafe(no_mangle)]
extern "C" fn bench_send(links: *mut c_void, end: i32, len: usize) {
    // SAFETY: as in `bench_lend`.
    let links = unsafe { &mut *links.cast::<Links>() };
    links.from[end as usize].send(len);
    links.sent += 1;
}

/// Two hosts with lwIP.
pub struct Lwip {
    /// Memory of a `Box`, to which lwIP also has a pointer.
    links: *mut Links,
    now: Duration,
}

impl Drop for Lwip {
    fn drop(&mut self) {
        // SAFETY: the memory is that of `Box::into_raw`, and the next `bench_start` gives
        // lwIP other links before it sends anything.
        drop(unsafe { Box::from_raw(self.links) });
    }
}

impl Stack for Lwip {
    type Stream = *mut Opaque;

    fn new(setup: Setup) -> Self {
        let links = Box::into_raw(Box::new(Links {
            from: [Link::new(), Link::new()],
            sent: 0,
        }));
        // SAFETY: the links live until `Lwip` is dropped.
        unsafe { bench_start(links.cast(), setup.buffer as u32) };
        // Discard the frames so far: `bench_start` aborts the connections of the previous case,
        // which sends resets. SAFETY: lwIP does not run.
        unsafe { (*links).from = [Link::new(), Link::new()] };
        Self {
            links,
            now: Duration::ZERO,
        }
    }

    fn connect(&mut self) -> *mut Opaque {
        // SAFETY: lwIP was started.
        unsafe { bench_connect() }
    }

    fn accept(&mut self) -> Option<*mut Opaque> {
        // SAFETY: lwIP was started.
        let stream = unsafe { bench_accept() };
        (!stream.is_null()).then_some(stream)
    }

    fn write(&mut self, _: End, stream: *mut Opaque, payload: &[u8]) -> usize {
        // SAFETY: the stream is open; lwIP copies the payload.
        unsafe { bench_write(stream, payload.as_ptr(), payload.len()) }
    }

    fn read(&mut self, _: End, stream: *mut Opaque, out: &mut [u8]) -> Read {
        // SAFETY: the stream is open, and `out` has that length.
        let count = unsafe { bench_read(stream, out.as_mut_ptr(), out.len()) };
        match usize::try_from(count) {
            Ok(0) => Read::Empty,
            Ok(count) => Read::Data(count),
            Err(_) => Read::Closed,
        }
    }

    fn close(&mut self, _: End, stream: *mut Opaque) {
        // SAFETY: the stream is open, and is not used after this call.
        unsafe { bench_close(stream) };
    }

    fn send_datagram(&mut self, payload: &[u8]) -> bool {
        // SAFETY: lwIP copies the payload.
        unsafe { bench_send_datagram(payload.as_ptr(), payload.len()) != 0 }
    }

    fn receive_datagram(&mut self, out: &mut [u8]) -> Option<usize> {
        // SAFETY: `out` has that length.
        let count = unsafe { bench_receive_datagram(out.as_mut_ptr(), out.len()) };
        usize::try_from(count).ok()
    }

    fn turn(&mut self, end: End, now: Duration) -> bool {
        self.now = now;
        let mut received = 0;
        loop {
            // SAFETY: lwIP does not run, so nothing else uses the links.
            let links = unsafe { &mut *self.links };
            let Some(frame) = links.from[end.other() as usize].receive() else {
                break;
            };
            let (frame, len) = (frame.as_ptr(), frame.len());
            // SAFETY: only frames that are sent later can overwrite this frame, and lwIP copies
            // this frame before it sends one.
            unsafe { bench_input(end as i32, frame, len) };
            received += 1;
        }
        // SAFETY: lwIP was started.
        unsafe { bench_timers(now.as_millis() as u32) };
        // SAFETY: lwIP does not run.
        let sent = std::mem::take(unsafe { &mut (*self.links).sent });
        received + sent > 0
    }

    fn next_timeout(&mut self) -> Option<Duration> {
        // SAFETY: lwIP was started.
        let sleep = unsafe { bench_sleep_ms() };
        (sleep < u32::MAX).then(|| self.now + Duration::from_millis(sleep.into()))
    }
}
