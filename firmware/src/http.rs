//! A web server that shows what limits each of its connections.
//!
//! Rule: a response is made in pieces, each when the send buffer has accepted the previous one, so
//! no page needs more memory than one piece. The server speaks HTTP/1.0: a connection carries one
//! request, and the response ends when the connection is closed.

use core::{
    fmt::{self, Write},
    net::SocketAddr,
};

use fullpipe::{
    ConnectionId, Duration, Instant, ListenOptions, ListenerId, OpenError, Read, Stack, TcpError,
};
use fullpipe_iperf::Limits;

/// Connections that are served at a time; later ones wait in the backlog.
const CONNECTIONS: usize = 4;
/// Bytes of the longest request that is answered.
const REQUEST_MAX: usize = 1024;
/// Bytes of the longest piece of a page.
const PIECE_MAX: usize = 768;
/// Silence after which a connection is aborted.
const SILENCE: Duration = Duration::from_secs(10);

/// The server.
#[derive(Debug)]
pub struct HttpServer {
    listener: ListenerId,
    slots: [Option<Served>; CONNECTIONS],
}

#[derive(Clone, Copy, Debug)]
enum Page {
    Home,
    /// The list of limits is being sent; the next connection to list is in this slot.
    Limits(usize),
    /// Data is being sent; this many bytes remain.
    Data(u64),
    /// Everything was sent.
    End,
}

#[derive(Debug)]
struct Served {
    id: ConnectionId,
    peer: SocketAddr,
    last_progress: Instant,
    /// Bytes written to the connection.
    sent: u64,
    /// The request; after the request, the piece of the page that is being sent.
    text: Text,
    page: Option<Page>,
    is_shut: bool,
    /// The last write was refused.
    is_blocked: bool,
}

/// Text of bounded length. A longer text is cut.
#[derive(Debug)]
struct Text {
    bytes: [u8; REQUEST_MAX],
    len: usize,
    /// Bytes already sent.
    sent: usize,
}

impl Text {
    const EMPTY: Self = Self {
        bytes: [0; REQUEST_MAX],
        len: 0,
        sent: 0,
    };

    fn add(&mut self, bytes: &[u8]) {
        let len = bytes.len().min(self.bytes.len() - self.len);
        self.bytes[self.len..self.len + len].copy_from_slice(&bytes[..len]);
        self.len += len;
    }

    fn unsent(&self) -> &[u8] {
        &self.bytes[self.sent..self.len]
    }
}

impl Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.add(text.as_bytes());
        Ok(())
    }
}

impl HttpServer {
    /// Returns a server that listens on `local`.
    ///
    /// # Errors
    /// See [`Stack::tcp_listen`].
    pub fn new(local: SocketAddr, stack: &mut Stack) -> Result<Self, OpenError> {
        let listener = stack.tcp_listen(local, ListenOptions::default())?;
        Ok(Self {
            listener,
            slots: [const { None }; CONNECTIONS],
        })
    }

    /// Accepts, reads and writes what is possible now. Returns the time of the next call if no frame
    /// arrives before.
    pub fn poll(&mut self, stack: &mut Stack, now: Instant) -> Option<Instant> {
        for index in 0..CONNECTIONS {
            if self.slots[index].is_none()
                && let Ok(Some((id, peer))) = stack.tcp_accept(self.listener, now)
            {
                self.slots[index] = Some(Served::new(id, peer, now));
            }
            let Some(mut served) = self.slots[index].take() else {
                continue;
            };
            let going_on = served.serve(stack, now, |from, out, stack| {
                self.write_limits(from, out, stack, now)
            });
            match going_on {
                Ok(true) if now.since(served.last_progress) < SILENCE => {
                    self.slots[index] = Some(served);
                }
                // The calls fail if the connection has already ended; its memory is then free.
                Ok(true) | Err(_) => drop(stack.tcp_abort(served.id, now)),
                Ok(false) => drop(stack.tcp_close(served.id, now)),
            }
        }
        let silence = |served: &Served| served.last_progress + SILENCE;
        self.slots.iter().flatten().map(silence).min()
    }

    /// Writes the limits of the connection in the first occupied slot, beginning at slot `from`.
    /// Returns the number of the slot after it; `None` if no slot from `from` on is occupied. The
    /// connection that is being served is not in its slot; `serve` adds its limits.
    fn write_limits(
        &self,
        from: usize,
        out: &mut Text,
        stack: &mut Stack,
        now: Instant,
    ) -> Option<usize> {
        let (index, served) = (from..CONNECTIONS)
            .find_map(|index| self.slots[index].as_ref().map(|served| (index, served)))?;
        served.write_limits(out, stack, now);
        Some(index + 1)
    }
}

impl Served {
    fn new(id: ConnectionId, peer: SocketAddr, now: Instant) -> Self {
        Self {
            id,
            peer,
            last_progress: now,
            sent: 0,
            text: Text::EMPTY,
            page: None,
            is_shut: false,
            is_blocked: false,
        }
    }

    /// Reads and writes what is possible now. Returns false once the connection can be closed.
    fn serve(
        &mut self,
        stack: &mut Stack,
        now: Instant,
        limits: impl Fn(usize, &mut Text, &mut Stack) -> Option<usize>,
    ) -> Result<bool, TcpError> {
        let read = self.read(stack, now)?;
        if self.page.is_none() {
            let Some(page) = self.request() else {
                // Without a complete request there is no answer; keep the connection until its peer
                // closes it.
                return Ok(read == Read::Empty);
            };
            self.begin(page);
        }
        // Do not repeat a refused write in each turn: it would make work for the stack and keep the
        // device awake.
        if self.is_blocked && !stack.tcp_ready(self.id, now)?.writable {
            return Ok(true);
        }
        loop {
            if !self.flush(stack, now)? {
                return Ok(true);
            }
            match self.page {
                Some(Page::Data(left)) if left > 0 => {
                    if !self.send_data(left, stack, now)? {
                        return Ok(true);
                    }
                }
                Some(Page::Limits(from)) => {
                    self.page = Some(match limits(from, &mut self.text, stack) {
                        Some(next) => Page::Limits(next),
                        None => {
                            let mut own = core::mem::replace(&mut self.text, Text::EMPTY);
                            self.write_limits(&mut own, stack, now);
                            self.text = own;
                            Page::End
                        }
                    });
                }
                Some(Page::Home) => {
                    let pool = stack.pool();
                    let (free, all) = (pool.free_blocks(), pool.block_count());
                    // Writing to a `Text` never fails: a longer text is cut.
                    let _ = writeln!(self.text, "fullpipe: {free} blocks of {all} free");
                    self.page = Some(Page::End);
                }
                Some(Page::End | Page::Data(_)) | None => break,
            }
        }
        if !self.is_shut {
            stack.tcp_shutdown(self.id, now)?;
            self.is_shut = true;
        }
        Ok(read != Read::End)
    }

    /// Reads the request; discards what the peer sends after it.
    fn read(&mut self, stack: &mut Stack, now: Instant) -> Result<Read, TcpError> {
        loop {
            let (text, keeps) = (&mut self.text, self.page.is_none());
            let mut take = |piece: &[u8]| {
                if keeps {
                    text.add(piece);
                }
                piece.len()
            };
            match stack.tcp_read_with(self.id, &mut take, now)? {
                Read::Data(_) => self.last_progress = now,
                end @ (Read::Empty | Read::End) => return Ok(end),
            }
        }
    }

    /// Returns the page that the request asks for: `None` while the request is incomplete,
    /// `Some(None)` for an unknown page.
    fn request(&self) -> Option<Option<Page>> {
        let request = self.text.unsent();
        let is_complete = request.windows(4).any(|part| part == b"\r\n\r\n");
        if !is_complete && request.len() < REQUEST_MAX {
            return None;
        }
        let line = request.split(|byte| *byte == b'\r').next()?;
        let line = core::str::from_utf8(line).unwrap_or_default();
        let path = line
            .strip_prefix("GET ")
            .and_then(|rest| rest.split(' ').next());
        Some(match path {
            Some("/") => Some(Page::Home),
            Some("/limits") => Some(Page::Limits(0)),
            Some(path) => path
                .strip_prefix("/data/")
                .and_then(|bytes| bytes.parse().ok())
                .map(Page::Data),
            None => None,
        })
    }

    /// Begins the response with its header.
    fn begin(&mut self, page: Option<Page>) {
        self.text = Text::EMPTY;
        let (status, page) = match page {
            Some(page) => ("200 OK", page),
            None => ("404 Not Found", Page::End),
        };
        // Writing to a `Text` never fails: a longer text is cut.
        let _ = write!(
            self.text,
            "HTTP/1.0 {status}\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n"
        );
        self.page = Some(page);
    }

    /// Writes what remains of the piece. Returns false if the send buffer is full.
    fn flush(&mut self, stack: &mut Stack, now: Instant) -> Result<bool, TcpError> {
        while !self.text.unsent().is_empty() {
            let written = stack.tcp_write(self.id, self.text.unsent(), now)?;
            self.text.sent += written;
            self.progress(written, now);
            if written == 0 {
                return Ok(false);
            }
        }
        (self.text.len, self.text.sent) = (0, 0);
        Ok(true)
    }

    /// Writes `left` bytes directly into the send buffer. Returns false if the send buffer is full.
    fn send_data(&mut self, left: u64, stack: &mut Stack, now: Instant) -> Result<bool, TcpError> {
        let mut rest = usize::try_from(left).unwrap_or(usize::MAX);
        let mut fill = |place: &mut [u8]| {
            let len = place.len().min(rest);
            place[..len].fill(b'.');
            rest -= len;
            len
        };
        let written = stack.tcp_write_with(self.id, &mut fill, now)?;
        self.progress(written, now);
        self.page = Some(Page::Data(left - written as u64));
        Ok(written > 0)
    }

    fn progress(&mut self, written: usize, now: Instant) {
        self.is_blocked = written == 0;
        if written > 0 {
            self.last_progress = now;
            self.sent += written as u64;
        }
    }

    /// Writes the shares of this connection's limits.
    fn write_limits(&self, out: &mut Text, stack: &mut Stack, now: Instant) {
        let Ok(info) = stack.tcp_info(self.id, now) else {
            return;
        };
        let (peer, sent, age) = (self.peer, self.sent, info.age());
        // Writing to a `Text` never fails: a longer text is cut.
        let _ = write!(
            out,
            "{peer}: {sent} bytes sent in {} ms\n{}\n",
            age.as_millis(),
            Limits::from(&info)
        );
        debug_assert!(out.len <= PIECE_MAX, "one connection's lines fit");
    }
}
