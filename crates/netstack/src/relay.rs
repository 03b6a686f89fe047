//! Copies between a flow and another stream, in both directions.
//!
//! Rule: when a source ends, its sink is closed, and the other direction goes on (half-close). A
//! direction holds memory only while its sink accepts no bytes, so idle relays need none. While a
//! sink is full, its source is not read, so the source's sender has to wait, too.

use std::{
    cell::RefCell,
    future::poll_fn,
    io,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Instant, sleep_until},
};

use crate::relay_clock::{RelayClock, RelaySide, Waiting};

/// Largest number of bytes that are read at once.
const PIECE: usize = 64 << 10;
/// Largest number of pieces (reads of at most [`PIECE`] bytes) that one direction copies before
/// other tasks get their turn.
const PIECES: u32 = 8;

thread_local! {
    /// Buffer for the piece that this thread copies now.
    static SCRATCH: RefCell<Box<[u8]>> = RefCell::new(vec![0; PIECE].into());
}

/// Copies between `flow` and `other` until both directions have ended. Returns the number of bytes
/// from the flow and the number to the flow. `clock` measures how long each direction waits for
/// each side.
///
/// # Errors
/// Returns the error of the stream that failed first, or `TimedOut` if no byte was copied for
/// `idle`. The caller should then drop both streams.
pub async fn relay<F, O>(
    flow: &mut F,
    other: &mut O,
    idle: Duration,
    clock: &RelayClock,
) -> io::Result<(u64, u64)>
where
    F: AsyncRead + AsyncWrite + Unpin,
    O: AsyncRead + AsyncWrite + Unpin,
{
    let (mut up, mut down) = (
        Copying::new(RelaySide::Up, clock),
        Copying::new(RelaySide::Down, clock),
    );
    let mut moved = 0;
    let mut timer = Box::pin(sleep_until(Instant::now() + idle));
    poll_fn(|context| {
        let forth = up.poll(context, Pin::new(flow), Pin::new(other))?;
        let back = down.poll(context, Pin::new(other), Pin::new(flow))?;
        if forth.is_ready() && back.is_ready() {
            return Poll::Ready(Ok((up.moved, down.moved)));
        }
        while timer.as_mut().poll(context).is_ready() {
            let now_moved = up.moved + down.moved;
            if now_moved == moved {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            moved = now_moved;
            timer.as_mut().reset(Instant::now() + idle);
        }
        Poll::Pending
    })
    .await
}

/// One direction of a relay.
struct Copying<'a> {
    side: RelaySide,
    clock: &'a RelayClock,
    /// Bytes of a piece that the sink did not accept at once.
    held: Vec<u8>,
    /// Index of the first byte of `held` that the sink has not accepted yet.
    at: usize,
    /// The source has ended.
    is_over: bool,
    /// The sink was closed after the source's end.
    is_closed: bool,
    moved: u64,
}

impl<'a> Copying<'a> {
    const fn new(side: RelaySide, clock: &'a RelayClock) -> Self {
        Self {
            side,
            clock,
            held: Vec::new(),
            at: 0,
            is_over: false,
            is_closed: false,
            moved: 0,
        }
    }

    /// Copies until the source has nothing to read, the sink is full, or other tasks must get
    /// their turn. Ready once the source has ended and the sink is closed.
    fn poll<R: AsyncRead, W: AsyncWrite>(
        &mut self,
        context: &mut Context<'_>,
        mut source: Pin<&mut R>,
        mut sink: Pin<&mut W>,
    ) -> Poll<io::Result<()>> {
        if self.is_closed {
            return Poll::Ready(Ok(()));
        }
        for _ in 0..PIECES {
            ready!(self.write_held(context, sink.as_mut()))?;
            if self.is_over {
                ready!(sink.poll_shutdown(context))?;
                self.is_closed = true;
                self.clock.enter(self.side, Waiting::Ended);
                return Poll::Ready(Ok(()));
            }
            let copied = SCRATCH.with_borrow_mut(|scratch| {
                self.copy_piece(context, source.as_mut(), sink.as_mut(), scratch)
            })?;
            if copied.is_pending() {
                self.clock.enter(self.side, Waiting::Source);
                let _ = sink.poll_flush(context)?;
                return Poll::Pending;
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }

    /// Writes the bytes that the sink did not accept before.
    fn write_held<W: AsyncWrite>(
        &mut self,
        context: &mut Context<'_>,
        mut sink: Pin<&mut W>,
    ) -> Poll<io::Result<()>> {
        while self.at < self.held.len() {
            let Poll::Ready(written) = sink.as_mut().poll_write(context, &self.held[self.at..])
            else {
                self.clock.enter(self.side, Waiting::Sink);
                return Poll::Pending;
            };
            self.at += self.count(written?)?;
        }
        // Free the memory, because an idle relay must hold none.
        (self.held, self.at) = (Vec::new(), 0);
        Poll::Ready(Ok(()))
    }

    /// Reads one piece and writes as much of it as the sink accepts; keeps the rest in `held`.
    fn copy_piece<R: AsyncRead, W: AsyncWrite>(
        &mut self,
        context: &mut Context<'_>,
        source: Pin<&mut R>,
        mut sink: Pin<&mut W>,
        scratch: &mut [u8],
    ) -> io::Result<Poll<()>> {
        let mut buffer = ReadBuf::new(scratch);
        match source.poll_read(context, &mut buffer) {
            Poll::Pending => return Ok(Poll::Pending),
            Poll::Ready(read) => read?,
        }
        let mut piece = buffer.filled();
        self.is_over = piece.is_empty();
        while !piece.is_empty() {
            match sink.as_mut().poll_write(context, piece) {
                Poll::Ready(written) => piece = &piece[self.count(written?)?..],
                Poll::Pending => {
                    self.held = piece.to_vec();
                    break;
                }
            }
        }
        Ok(Poll::Ready(()))
    }

    fn count(&mut self, written: usize) -> io::Result<usize> {
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        self.moved += written as u64;
        self.clock.count(self.side, written);
        Ok(written)
    }
}
