//! Depth of the call stack in `turn`, measured by painting: unused stack is filled with a pattern
//! (painted) before a call, and the overwritten part is counted afterwards.
//!
//! Rule: the memory below the caller's frame is painted before each turn, so the result contains
//! only the frames of `turn` and of the functions that it calls. Among these are the functions of
//! the device, which take a few bytes.

use alloc::{collections::VecDeque, vec, vec::Vec};
use core::{arch::asm, ptr};

use fullpipe::{
    Duration, Instant, Read, Stack,
    device::{Capabilities, Device, Medium, Received, RxMeta, TxMeta},
    turn,
};

const PAINT: u32 = 0x5a5a_a5a5;
/// Number of words to paint; a turn uses far fewer.
const WORDS: usize = 4096;
/// Bytes sent in each direction.
const PAYLOAD: usize = 20_000;

/// One end of a cable, with the frames that it sends and receives.
#[derive(Default)]
struct Port {
    arrived: VecDeque<Vec<u8>>,
    reading: Vec<u8>,
    lent: Vec<u8>,
    sent: VecDeque<Vec<u8>>,
    frames: u32,
}

impl Device for Port {
    fn capabilities(&self) -> Capabilities {
        Capabilities::plain(Medium::Ethernet, 1500)
    }

    fn receive(&mut self) -> Option<Received<'_>> {
        self.reading = self.arrived.pop_front()?;
        Some(Received {
            frame: &self.reading,
            meta: RxMeta::default(),
        })
    }

    fn lend(&mut self, len: usize) -> Option<&mut [u8]> {
        if self.lent.len() < len {
            self.lent = vec![0; len];
        }
        self.lent.get_mut(..len)
    }

    fn send(&mut self, len: usize, _: TxMeta) {
        self.frames += 1;
        // Lose every seventeenth frame, so that the measurement includes loss recovery.
        if self.frames % 17 != 0 {
            self.sent.push_back(self.lent[..len].to_vec());
        }
    }
}

/// Returns the largest depth of a turn, in bytes, in a transfer in both directions with losses.
/// Returns `None` if the transfer does not end.
pub fn of_turns(mut client: Stack, mut server: Stack) -> Option<usize> {
    let mut now = Instant::ZERO;
    let address = ([10, 0, 0, 2], 7).into();
    let listener = server.tcp_listen(address, Default::default()).ok()?;
    let id = client
        .tcp_connect(address, None, Default::default(), now)
        .ok()?;
    let (mut near, mut far) = (Port::default(), Port::default());
    let (mut written, mut echoed, mut read, mut accepted) = (0, 0, 0, None);
    let mut bytes = [0; 256];
    let mut deepest = 0;
    for _ in 0..20_000 {
        if written < PAYLOAD {
            written += client.tcp_write(id, &bytes, now).ok()?;
        }
        if let Ok(Some((peer, _))) = server.tcp_accept(listener, now) {
            accepted = Some(peer);
        }
        if let Some(peer) = accepted
            && let Ok(Read::Data(count)) = server.tcp_read(peer, &mut bytes, now)
        {
            echoed += server.tcp_write(peer, &bytes[..count], now).ok()?;
        }
        if let Ok(Read::Data(count)) = client.tcp_read(id, &mut bytes, now) {
            read += count;
        }
        for (stack, port) in [(&mut client, &mut near), (&mut server, &mut far)] {
            deepest = deepest.max(of_turn(stack, port, now));
        }
        far.arrived.append(&mut near.sent);
        near.arrived.append(&mut far.sent);
        now += Duration::from_millis(5);
        if written >= PAYLOAD && read == echoed && read >= PAYLOAD / 2 {
            return Some(deepest);
        }
    }
    None
}

#[inline(never)]
fn of_turn(stack: &mut Stack, port: &mut Port, now: Instant) -> usize {
    let top: *mut u32;
    // SAFETY: the instruction only reads the stack pointer.
    unsafe { asm!("mov {}, sp", out(reg) top) };
    // SAFETY: the words below the stack pointer are unused, and inside the board's memory.
    let below = |word: usize| unsafe { top.sub(word) };
    for word in 1..=WORDS {
        // SAFETY: the word is unused and inside the board's memory.
        unsafe { ptr::write_volatile(below(word), PAINT) };
    }
    one_turn(stack, port, now);
    // SAFETY: the word is initialised, unused, and inside the board's memory.
    let is_painted = |word: &usize| unsafe { ptr::read_volatile(below(*word)) } == PAINT;
    let unused = (1..=WORDS).rev().take_while(is_painted).count();
    (WORDS - unused) * size_of::<u32>()
}

// Not inlined, so that the frame of `turn` is below the stack pointer that `of_turn` has read.
#[inline(never)]
fn one_turn(stack: &mut Stack, port: &mut Port, now: Instant) {
    turn(stack, port, now);
}
