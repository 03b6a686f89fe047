/* fullpipe: a TCP/IP stack in memory (an arena) that the caller provides.
 *
 * Written by `cargo xtask docs` from crates/capi/src; do not edit.
 *
 * Calling order: fp_config_init, fp_config_set, fp_needed, fp_init; then again and again fp_turn, the
 * calls of the application, and a wait until fp_next_timeout or the next frame.
 *
 * Errors: a function returns a negative error number, -FP_E..., whose value is Linux's on every
 * platform.
 *
 * Threads: at most one call on a stack at a time. The caller guards a stack with a lock if several
 * threads use it. A call that is made while another one is in progress, for example by a callback,
 * returns -FP_EBUSY and changes nothing. Calls on different stacks are independent.
 *
 * Arguments: for a null or misaligned pointer a function returns -FP_EFAULT, for a handle that no
 * open socket has -FP_EBADF, for a length above the address space -FP_EINVAL or -FP_EFAULT. A
 * pointer that is neither null nor valid cannot be detected. Buffers belong to the caller; the
 * library does not use them after the call.
 *
 * Memory: a stack lies in its arena. The library calls no malloc, and its only static variable is
 * a pointer that is set during fp_config_..., fp_needed and fp_init.
 */

#ifndef FULLPIPE_H
#define FULLPIPE_H

#include <stddef.h>
#include <stdint.h>

/* Number of knobs. */
#define FP_KNOBS 126
/* Number of limits of a sender. */
#define FP_LIMIT_COUNT 16
/* Number of limits of a receiver. */
#define FP_RECEIVE_LIMIT_COUNT 5

enum fp_knob {
    FP_KNOB_POOL_BLOCKS = 0,
    FP_KNOB_POOL_BLOCK_SIZE = 1,
    FP_KNOB_POOL_CELLS = 2,
    FP_KNOB_POOL_SEND_FLOOR = 3,
    FP_KNOB_POOL_RECEIVE_FLOOR = 4,
    FP_KNOB_POOL_OVERCOMMIT_PERCENT = 5,
    FP_KNOB_POOL_PRESSURE_LOW = 6,
    FP_KNOB_POOL_PRESSURE = 7,
    FP_KNOB_POOL_PRESSURE_HIGH = 8,
    FP_KNOB_POOL_RANGES = 9,
    FP_KNOB_TCP_SEND_BUFFER = 10,
    FP_KNOB_TCP_SEND_BUFFER_MAX = 11,
    FP_KNOB_TCP_RECEIVE_BUFFER = 12,
    FP_KNOB_TCP_RECEIVE_BUFFER_MAX = 13,
    FP_KNOB_TCP_WINDOW_SHARE = 14,
    FP_KNOB_TCP_IDLE_WINDOW_SHARE = 15,
    FP_KNOB_TCP_MSS_MAX = 16,
    FP_KNOB_TCP_MSS_MIN = 17,
    FP_KNOB_TCP_MTU_PROBING = 18,
    FP_KNOB_TCP_BASE_MSS = 19,
    FP_KNOB_TCP_PROBE_INTERVAL = 20,
    FP_KNOB_TCP_FIT_SEGMENTS = 21,
    FP_KNOB_TCP_WINDOW_SCALING = 22,
    FP_KNOB_TCP_TIMESTAMPS = 23,
    FP_KNOB_TCP_SACK = 24,
    FP_KNOB_TCP_HOLES = 25,
    FP_KNOB_TCP_OUT_OF_ORDER = 26,
    FP_KNOB_TCP_UNACKNOWLEDGED = 27,
    FP_KNOB_TCP_NAGLE = 28,
    FP_KNOB_TCP_PUSH = 29,
    FP_KNOB_TCP_CORK_TIMEOUT = 30,
    FP_KNOB_TCP_DELAYED_ACK = 31,
    FP_KNOB_TCP_ACK_EVERY = 32,
    FP_KNOB_TCP_QUICK_ACKS = 33,
    FP_KNOB_TCP_RTO_MIN = 34,
    FP_KNOB_TCP_RTO_INITIAL = 35,
    FP_KNOB_TCP_RTO_MAX = 36,
    FP_KNOB_TCP_RETRIES1 = 37,
    FP_KNOB_TCP_RETRIES2 = 38,
    FP_KNOB_TCP_ORPHAN_RETRIES = 39,
    FP_KNOB_TCP_SYN_RETRIES = 40,
    FP_KNOB_TCP_SYNACK_RETRIES = 41,
    FP_KNOB_TCP_SWS_OVERRIDE = 42,
    FP_KNOB_TCP_KEEPALIVE_TIME = 43,
    FP_KNOB_TCP_KEEPALIVE_INTERVAL = 44,
    FP_KNOB_TCP_KEEPALIVE_PROBES = 45,
    FP_KNOB_TCP_USER_TIMEOUT = 46,
    FP_KNOB_TCP_TIME_WAIT = 47,
    FP_KNOB_TCP_FIN_WAIT2 = 48,
    FP_KNOB_TCP_INITIAL_RECEIVE_WINDOW = 49,
    FP_KNOB_TCP_INITIAL_WINDOW = 50,
    FP_KNOB_TCP_CONGESTION = 51,
    FP_KNOB_TCP_HYSTART = 52,
    FP_KNOB_TCP_BBR_LOSS_THRESHOLD = 53,
    FP_KNOB_TCP_ECN = 54,
    FP_KNOB_TCP_PACING = 55,
    FP_KNOB_TCP_PACING_RATE_MAX = 56,
    FP_KNOB_TCP_SEGMENT_SIZING = 57,
    FP_KNOB_TCP_SMALL_QUEUE = 58,
    FP_KNOB_TCP_TAIL_LOSS_PROBE = 59,
    FP_KNOB_TCP_WRITE_ATOMIC = 60,
    FP_KNOB_TCP_CHALLENGE_ACK_INTERVAL = 61,
    FP_KNOB_TCP_SEND_BUFFER_LIMIT = 62,
    FP_KNOB_TCP_RECEIVE_BUFFER_LIMIT = 63,
    FP_KNOB_TCP_SEND_PAYLOAD_SHARE = 64,
    FP_KNOB_TCP_RECEIVE_PAYLOAD_SHARE = 65,
    FP_KNOB_TCP_USE_UP_WINDOW = 66,
    FP_KNOB_TCP_RECEIVE_TUNING = 67,
    FP_KNOB_STACK_CONNECTIONS = 68,
    FP_KNOB_STACK_BUSY_CONNECTIONS = 69,
    FP_KNOB_STACK_LISTENERS = 70,
    FP_KNOB_STACK_HALF_OPEN = 71,
    FP_KNOB_STACK_HALF_OPEN_PER_SOURCE = 72,
    FP_KNOB_STACK_SENT_RANGES = 73,
    FP_KNOB_STACK_SENT_RANGES_EACH = 74,
    FP_KNOB_STACK_HALF_OPEN_SHARE = 75,
    FP_KNOB_STACK_SYN_COOKIES = 76,
    FP_KNOB_STACK_BACKLOG = 77,
    FP_KNOB_STACK_ORPHANS = 78,
    FP_KNOB_STACK_ORPHAN_SHARE = 79,
    FP_KNOB_STACK_TIME_WAIT_ENTRIES = 80,
    FP_KNOB_STACK_RESET_QUEUE = 81,
    FP_KNOB_STACK_RESETS_PER_SOURCE = 82,
    FP_KNOB_STACK_RESETS_BURST = 83,
    FP_KNOB_STACK_RESETS_PER_SECOND = 84,
    FP_KNOB_STACK_REQUEST_TIMEOUT = 85,
    FP_KNOB_STACK_COOKIE_QUEUE = 86,
    FP_KNOB_STACK_TURN_BUDGET = 87,
    FP_KNOB_STACK_BURSTS = 88,
    FP_KNOB_STACK_EPHEMERAL_LOW = 89,
    FP_KNOB_STACK_EPHEMERAL_HIGH = 90,
    FP_KNOB_IP_TTL = 91,
    FP_KNOB_IP_ADDRESSES = 92,
    FP_KNOB_IP_ACCEPT_ANY = 93,
    FP_KNOB_IP_LOOPBACK = 94,
    FP_KNOB_IP_ROUTES = 95,
    FP_KNOB_IP_REASSEMBLY_DATAGRAMS = 96,
    FP_KNOB_IP_REASSEMBLY_PER_SOURCE = 97,
    FP_KNOB_IP_REASSEMBLY_PIECES = 98,
    FP_KNOB_IP_REASSEMBLY_BYTES = 99,
    FP_KNOB_IP_REASSEMBLY_LARGEST = 100,
    FP_KNOB_IP_REASSEMBLY_TIMEOUT = 101,
    FP_KNOB_IP_PATH_MTU_MIN = 102,
    FP_KNOB_IP_AUTOCONFIGURATION = 103,
    FP_KNOB_IP_TEMPORARY_ADDRESSES = 104,
    FP_KNOB_IP_DAD_PROBES = 105,
    FP_KNOB_ARP_ENTRIES = 106,
    FP_KNOB_ARP_QUEUE_PACKETS = 107,
    FP_KNOB_ARP_REQUESTS = 108,
    FP_KNOB_ARP_REQUEST_INTERVAL = 109,
    FP_KNOB_ARP_REQUESTS_PER_SECOND = 110,
    FP_KNOB_ARP_REACHABLE_TIME = 111,
    FP_KNOB_ARP_FAILED_TIME = 112,
    FP_KNOB_ARP_REPLIES = 113,
    FP_KNOB_ICMP_ECHO_REPLIES = 114,
    FP_KNOB_ICMP_ECHO_BYTES = 115,
    FP_KNOB_ICMP_ERRORS = 116,
    FP_KNOB_ICMP_ERRORS_PER_SOURCE = 117,
    FP_KNOB_ICMP_ERRORS_BURST = 118,
    FP_KNOB_ICMP_ERRORS_PER_SECOND = 119,
    FP_KNOB_UDP_SOCKETS = 120,
    FP_KNOB_UDP_RECEIVE_QUEUE = 121,
    FP_KNOB_UDP_RECEIVE_BUFFER = 122,
    FP_KNOB_UDP_SEND_QUEUE = 123,
    FP_KNOB_UDP_SEND_BUFFER = 124,
    FP_KNOB_TRACE_RECORDS = 125,
};

enum fp_limit {
    FP_LIMIT_APPLICATION = 0,
    FP_LIMIT_SEND_BUFFER = 1,
    FP_LIMIT_RECEIVE_WINDOW = 2,
    FP_LIMIT_ZERO_WINDOW = 3,
    FP_LIMIT_CONGESTION_WINDOW_SLOW_START = 4,
    FP_LIMIT_CONGESTION_WINDOW_STEADY = 5,
    FP_LIMIT_CONGESTION_WINDOW_AFTER_LOSS = 6,
    FP_LIMIT_CONGESTION_WINDOW_AFTER_MARK = 7,
    FP_LIMIT_CONGESTION_WINDOW_AFTER_IDLE = 8,
    FP_LIMIT_PACING = 9,
    FP_LIMIT_DEVICE = 10,
    FP_LIMIT_NAGLE = 11,
    FP_LIMIT_RECOVERY = 12,
    FP_LIMIT_MEMORY = 13,
    FP_LIMIT_HANDSHAKE = 14,
    FP_LIMIT_CLOSING = 15,
};

enum fp_receive_limit {
    FP_RECEIVE_LIMIT_NONE = 0,
    FP_RECEIVE_LIMIT_RECEIVE_BUFFER = 1,
    FP_RECEIVE_LIMIT_SLOW_READER = 2,
    FP_RECEIVE_LIMIT_REASSEMBLY_HOLE = 3,
    FP_RECEIVE_LIMIT_MEMORY = 4,
};



/*
 No address. As the family of a gateway, it means that there is no gateway.
 */
#define FP_NONE 0

/*
 An IPv4 address, in the first four bytes of `ip`.
 */
#define FP_IPV4 4

/*
 An IPv6 address.
 */
#define FP_IPV6 6

/*
 Alignment of an arena in bytes.
 */
#define FP_ARENA_ALIGN 16

/*
 Frames begin with an Ethernet II header.
 */
#define FP_MEDIUM_ETHERNET 0

/*
 Frames begin with an IP header.
 */
#define FP_MEDIUM_IP 1

/*
 The device completes TCP and UDP checksums of frames that it sends.
 */
#define FP_DEVICE_CHECKSUM_TX 1

/*
 The device counts the bytes that it has sent: `sent_bytes` is set.
 */
#define FP_DEVICE_REPORTS_SENT 2

/*
 No such knob, preset or name.
 */
#define FP_ENOENT 2

/*
 A callback of the host system ended the wait.
 */
#define FP_EINTR 4

/*
 No socket has this handle.
 */
#define FP_EBADF 9

/*
 Nothing to read, no room to write, or the call's time limit has passed: try again.
 */
#define FP_EAGAIN 11

/*
 The arena is too small, or every entry of a table is in use.
 */
#define FP_ENOMEM 12

/*
 A pointer is null or not aligned.
 */
#define FP_EFAULT 14

/*
 Another call on this stack is in progress. Either another thread has made that call, or a
 callback of that call has made the refused call.
 */
#define FP_EBUSY 16

/*
 An argument is not valid.
 */
#define FP_EINVAL 22

/*
 Every socket of this kind is in use.
 */
#define FP_ENFILE 23

/*
 The peer or the application has closed this direction.
 */
#define FP_EPIPE 32

/*
 A value is outside its legal range.
 */
#define FP_ERANGE 34

/*
 The socket has no destination.
 */
#define FP_EDESTADDRREQ 89

/*
 The datagram is longer than the socket can send.
 */
#define FP_EMSGSIZE 90

/*
 The socket has no such option.
 */
#define FP_ENOPROTOOPT 92

/*
 The operation does not exist for this kind of socket.
 */
#define FP_EOPNOTSUPP 95

/*
 The address family is not supported.
 */
#define FP_EAFNOSUPPORT 97

/*
 The local address and port are in use.
 */
#define FP_EADDRINUSE 98

/*
 The address is not an address of this host, or every ephemeral port is in use.
 */
#define FP_EADDRNOTAVAIL 99

/*
 No route leads to the destination.
 */
#define FP_ENETUNREACH 101

/*
 This side has reset the connection.
 */
#define FP_ECONNABORTED 103

/*
 The peer has reset the connection.
 */
#define FP_ECONNRESET 104

/*
 The socket is connected already.
 */
#define FP_EISCONN 106

/*
 The socket is not connected.
 */
#define FP_ENOTCONN 107

/*
 The peer did not answer.
 */
#define FP_ETIMEDOUT 110

/*
 The peer refused the connection.
 */
#define FP_ECONNREFUSED 111

/*
 The peer cannot be reached.
 */
#define FP_EHOSTUNREACH 113

/*
 An earlier call has begun the handshake, which is not complete.
 */
#define FP_EALREADY 114

/*
 This call has begun the handshake, which is not complete.
 */
#define FP_EINPROGRESS 115

/*
 `until_us` of a wait without end.
 */
#define FP_FOREVER UINT64_MAX

/*
 A TCP socket.
 */
#define FP_SOCK_STREAM 1

/*
 A UDP socket.
 */
#define FP_SOCK_DGRAM 2

/*
 For `fp_shutdown`: the program reads nothing more.
 */
#define FP_SHUT_RD 0

/*
 For `fp_shutdown`: the program writes nothing more; the peer reads the end of the stream.
 */
#define FP_SHUT_WR 1

/*
 For `fp_shutdown`: the program reads and writes nothing more.
 */
#define FP_SHUT_RDWR 2

/*
 Level of the options of every socket.
 */
#define FP_SOL_SOCKET 1

/*
 Level of the options of TCP sockets.
 */
#define FP_IPPROTO_TCP 6

/*
 Level of the options that only this stack has.
 */
#define FP_SOL_FULLPIPE 18000

/*
 The error of a connection, or the last error that the network reported for a UDP socket: int32_t,
 get only.
 */
#define FP_SO_ERROR 4

/*
 Send buffer in bytes, not doubled: uint32_t.
 */
#define FP_SO_SNDBUF 7

/*
 Receive buffer in bytes, not doubled: uint32_t.
 */
#define FP_SO_RCVBUF 8

/*
 Keepalive probes on or off: uint32_t.
 */
#define FP_SO_KEEPALIVE 9

/*
 1: `fp_close` resets the connection, as SO_LINGER with time 0 does: uint32_t.
 */
#define FP_SO_LINGER 13

/*
 Received bytes that make a connection readable: uint32_t.
 */
#define FP_SO_RCVLOWAT 18

/*
 Free bytes that make a full connection writable again: uint32_t.
 */
#define FP_SO_SNDLOWAT 19

/*
 Longest wait of a receiving call in milliseconds, 0 for no limit: uint32_t.
 */
#define FP_SO_RCVTIMEO 20

/*
 Longest wait of a sending call in milliseconds, 0 for no limit: uint32_t.
 */
#define FP_SO_SNDTIMEO 21

/*
 1 switches Nagle's algorithm off: uint32_t.
 */
#define FP_TCP_NODELAY 1

/*
 Largest segment in bytes: uint32_t.
 */
#define FP_TCP_MAXSEG 2

/*
 1 delays segments that are not full: uint32_t.
 */
#define FP_TCP_CORK 3

/*
 Idle seconds before keepalive probes; setting them switches the probes on: uint32_t.
 */
#define FP_TCP_KEEPIDLE 4

/*
 Seconds between keepalive probes: uint32_t.
 */
#define FP_TCP_KEEPINTVL 5

/*
 Number of unanswered keepalive probes after which a connection ends: uint32_t.
 */
#define FP_TCP_KEEPCNT 6

/*
 Number of timeouts of a SYN after which the attempt to connect ends: uint32_t.
 */
#define FP_TCP_SYNCNT 7

/*
 State of a connection: struct fp_tcp_info, get only.
 */
#define FP_TCP_INFO 11

/*
 1 acknowledges every segment at once: uint32_t.
 */
#define FP_TCP_QUICKACK 12

/*
 Name of the congestion control algorithm: char[].
 */
#define FP_TCP_CONGESTION 13

/*
 Milliseconds for which payload may stay unacknowledged, 0 for the default: uint32_t.
 */
#define FP_TCP_USER_TIMEOUT 18

/*
 Largest number of bytes written and not sent, 0 for no limit: uint32_t.
 */
#define FP_TCP_NOTSENT_LOWAT 25

/*
 1: no call on this socket waits: uint32_t.
 */
#define FP_NONBLOCK 1

/*
 Limits of a connection: struct fp_limits, get only.
 */
#define FP_LIMITS 2

/*
 Datagrams that a UDP socket dropped because its queue or packet memory was full: uint32_t, get
 only.
 */
#define FP_DROPS 3

/*
 Description of a connection with each bound and its knob: char[], get only.
 */
#define FP_DESCRIPTION 4

/*
 Largest number of bytes sent and not acknowledged: uint32_t.
 */
#define FP_UNACKNOWLEDGED 5

/*
 Largest number of bytes kept out of order: uint32_t.
 */
#define FP_OUT_OF_ORDER 6

/*
 Reading would return payload or the end of the stream, or a connection waits to be accepted.
 */
#define FP_POLLIN 1

/*
 Writing would accept at least one byte.
 */
#define FP_POLLOUT 4

/*
 The connection has failed, or the network has reported an error. Always reported.
 */
#define FP_POLLERR 8

/*
 The connection has ended. Always reported.
 */
#define FP_POLLHUP 16

/*
 No open socket has this handle. Always reported.
 */
#define FP_POLLNVAL 32

/*
 The peer has closed its direction.
 */
#define FP_POLLRDHUP 8192

/*
 Flag for receiving: leave the payload unread.
 */
#define FP_MSG_PEEK 2

/*
 Flag for sending and receiving: do not wait.
 */
#define FP_MSG_DONTWAIT 64

/*
 Flag for receiving from a connection: wait until all requested bytes or the end have arrived.
 */
#define FP_MSG_WAITALL 256

/*
 Version of this header. It must equal `fp_version()`, the version of the library, because the
 numeric identifiers of knobs and limits may differ between versions.
 */
#define FP_VERSION 100

/*
 A flag of `fp_turn`: the turn's budget of work was used up or a timer is due; call again at
 once.
 */
#define FP_TURN_MORE_WORK 1

/*
 A flag of `fp_turn`: the device was full; call again when the device has sent a frame.
 */
#define FP_TURN_DEVICE_FULL 2

/*
 A flag of `fp_turn`: a frame was received.
 */
#define FP_TURN_RECEIVED 4

/*
 A flag of `fp_turn`: a frame was sent.
 */
#define FP_TURN_SENT 8

/*
 A stack. Its contents are private; it lies at the start of its arena.
 */
typedef struct fp_stack fp_stack;

/*
 An IP address and a port.
 */
typedef struct fp_address {
  /*
   FP_IPV4, FP_IPV6 or FP_NONE.
   */
  uint8_t family;
  /*
   Unused.
   */
  uint8_t reserved;
  /*
   Port, in host byte order; 0 lets the stack choose a local port.
   */
  uint16_t port;
  /*
   The address, first byte first; all zero stands for every address of this host.
   */
  uint8_t ip[16];
} fp_address;

/*
 Every knob (setting) of a stack, as a number: bytes and counts directly, times in microseconds, 0
 or 1 for a switch, and the index in the documented list of names for a choice. `value` is indexed
 by FP_KNOB_... . The structure must exist until `fp_init` returns.
 */
typedef struct fp_config {
  /*
   The value of each knob.
   */
  uint64_t value[FP_KNOBS];
} fp_config;

/*
 Handle of a socket of a stack, a positive number. The handle of a closed socket is refused, even
 after another socket has taken its place in the table.
 */
typedef int32_t fp_socket_t;

/*
 A socket and the events that the caller waits for.
 */
typedef struct fp_pollfd {
  /*
   The socket; a negative one is skipped.
   */
  fp_socket_t socket;
  /*
   FP_POLL... flags to wait for.
   */
  uint16_t events;
  /*
   FP_POLL... flags that apply now; `fp_poll` writes them.
   */
  uint16_t revents;
} fp_pollfd;

/*
 The attachment of a stack to its network.
 */
typedef struct fp_interface {
  /*
   MAC address; unused on FP_MEDIUM_IP.
   */
  uint8_t mac[6];
  /*
   Length of the network prefix in bits.
   */
  uint8_t prefix_len;
  /*
   Unused.
   */
  uint8_t reserved;
  /*
   Address of this host; the port is unused.
   */
  struct fp_address address;
  /*
   Next hop to other networks, or an address of family FP_NONE; the port is unused.
   */
  struct fp_address gateway;
} fp_interface;

/*
 Metadata of a received frame. All zero if the device offloads nothing.
 */
typedef struct fp_received {
  /*
   1 if the device has verified the TCP or UDP checksum.
   */
  uint8_t checksum_verified;
  /*
   Unused.
   */
  uint8_t reserved;
  /*
   Number of segments that the device merged into this frame; 0 if it merges none.
   */
  uint16_t merged;
} fp_received;

/*
 Metadata of a frame to be sent.
 */
typedef struct fp_sending {
  /*
   1 if the device must compute the Internet checksum of the bytes from `checksum_start` on and
   write it at `checksum_start + checksum_offset`. Only with FP_DEVICE_CHECKSUM_TX.
   */
  uint8_t checksum_partial;
  /*
   Unused.
   */
  uint8_t reserved;
  /*
   First byte that the checksum covers.
   */
  uint16_t checksum_start;
  /*
   Offset of the checksum field from `checksum_start`.
   */
  uint16_t checksum_offset;
  /*
   Payload of each segment that the device cuts from the frame; 0 if the device must send the
   frame unchanged.
   */
  uint16_t segment_size;
  /*
   Bytes of headers that the device repeats in front of each segment.
   */
  uint16_t header_len;
} fp_sending;

/*
 A network device. The structure is copied by `fp_init`.
 */
typedef struct fp_device {
  /*
   Passed to each callback.
   */
  void *context;
  /*
   FP_MEDIUM_ETHERNET or FP_MEDIUM_IP.
   */
  uint32_t medium;
  /*
   Largest IP packet in bytes, link header not counted.
   */
  uint32_t mtu;
  /*
   FP_DEVICE_... flags.
   */
  uint32_t flags;
  /*
   Largest TCP payload of a frame that the device cuts into segments; 0 if it cuts none.
   */
  uint32_t super_segment;
  /*
   Returns the next received frame and writes its length, or returns NULL. The frame stays
   readable until the next callback. `received` is all zero before the call.
   */
  const uint8_t *(*receive)(void *context, size_t *len, struct fp_received *received);
  /*
   Returns memory for a frame of `len` bytes, or NULL while the device is full. Two calls
   without `send` between them lend the same memory.
   */
  uint8_t *(*lend)(void *context, size_t len);
  /*
   Sends the first `len` bytes of the memory that the last call of `lend` returned.
   */
  void (*send)(void *context, size_t len, const struct fp_sending *sending);
  /*
   Sends the frames that the device has only collected in `send`. Called at the end of a turn.
   May be NULL.
   */
  void (*flush)(void *context);
  /*
   Returns the total length of the frames that have left the device. May be NULL without
   FP_DEVICE_REPORTS_SENT.
   */
  uint64_t (*sent_bytes)(void *context);
} fp_device;

/*
 The host system. All zero (or a NULL pointer to `fp_init`) stands for a host without clock, on
 which no call blocks.
 */
typedef struct fp_host {
  /*
   Passed to each callback.
   */
  void *context;
  /*
   Returns the time in microseconds, on the clock whose times are passed to `fp_turn`. Must not
   call functions on the stack. May be NULL: then each call happens at the time of the last
   `fp_turn`.
   */
  uint64_t (*now)(void *context);
  /*
   Waits until something may have changed or the time `until_us` is reached, and returns 0. If
   the callback returns a negative error number, the call that waits ends and returns that
   number. On a system with one thread the callback calls `fp_turn`, and sleeps until a frame
   arrives or the time of `fp_next_timeout` has come. With several threads the callback
   releases the program's lock of the stack and waits for the thread that calls `fp_turn`. May
   be NULL: then no call blocks.
   */
  int32_t (*wait)(void *context, uint64_t until_us);
} fp_host;

/*
 Memory of a stack.
 */
typedef struct fp_memory {
  /*
   Blocks of packet memory (knob pool.blocks).
   */
  uint32_t blocks;
  /*
   Bytes of a block (knob pool.block_size).
   */
  uint32_t block_size;
  /*
   Blocks that contain nothing. Some of them may be reserved.
   */
  uint32_t free_blocks;
  /*
   Blocks reserved for windows and buffers, and not yet in use.
   */
  uint32_t promised_blocks;
  /*
   Largest number of blocks that were in use at the same time.
   */
  uint32_t peak_blocks;
  /*
   Unused.
   */
  uint32_t reserved;
  /*
   Bytes of the arena in use. `fp_needed` returns more, because it returns an upper bound.
   */
  uint64_t arena_used;
} fp_memory;

/*
 Time and bytes charged to one limit.
 */
typedef struct fp_share {
  /*
   Time in microseconds.
   */
  uint64_t time_us;
  /*
   Payload bytes sent, or received, while this limit applied.
   */
  uint64_t bytes;
} fp_share;

/*
 The limits of a connection since it was opened. The times of each array add up to `age_us`, apart
 from rounding.
 */
typedef struct fp_limits {
  /*
   Age of the connection in microseconds.
   */
  uint64_t age_us;
  /*
   The present limit of the sender (FP_LIMIT_...).
   */
  uint32_t send_now;
  /*
   The present limit of the receiver (FP_RECEIVE_LIMIT_...).
   */
  uint32_t receive_now;
  /*
   Time and bytes of each limit of the sender, indexed by FP_LIMIT_... .
   */
  struct fp_share send[FP_LIMIT_COUNT];
  /*
   Time and bytes of each limit of the receiver, indexed by FP_RECEIVE_LIMIT_... .
   */
  struct fp_share receive[FP_RECEIVE_LIMIT_COUNT];
} fp_limits;

/*
 State of a connection: `struct tcp_info` of Linux, with the same names of fields.
 */
typedef struct fp_tcp_info {
  uint8_t tcpi_state;
  uint8_t tcpi_ca_state;
  uint8_t tcpi_retransmits;
  uint8_t tcpi_probes;
  uint8_t tcpi_backoff;
  uint8_t tcpi_options;
  /*
   `tcpi_snd_wscale` in the low four bits, `tcpi_rcv_wscale` in the high four bits.
   */
  uint8_t tcpi_wscales;
  /*
   `tcpi_delivery_rate_app_limited` in the lowest bit.
   */
  uint8_t tcpi_flags;
  uint32_t tcpi_rto;
  uint32_t tcpi_ato;
  uint32_t tcpi_snd_mss;
  uint32_t tcpi_rcv_mss;
  uint32_t tcpi_unacked;
  uint32_t tcpi_sacked;
  uint32_t tcpi_lost;
  uint32_t tcpi_retrans;
  uint32_t tcpi_fackets;
  uint32_t tcpi_last_data_sent;
  uint32_t tcpi_last_ack_sent;
  uint32_t tcpi_last_data_recv;
  uint32_t tcpi_last_ack_recv;
  uint32_t tcpi_pmtu;
  uint32_t tcpi_rcv_ssthresh;
  uint32_t tcpi_rtt;
  uint32_t tcpi_rttvar;
  uint32_t tcpi_snd_ssthresh;
  uint32_t tcpi_snd_cwnd;
  uint32_t tcpi_advmss;
  uint32_t tcpi_reordering;
  uint32_t tcpi_rcv_rtt;
  uint32_t tcpi_rcv_space;
  uint32_t tcpi_total_retrans;
  uint64_t tcpi_pacing_rate;
  uint64_t tcpi_max_pacing_rate;
  uint64_t tcpi_bytes_acked;
  uint64_t tcpi_bytes_received;
  uint32_t tcpi_segs_out;
  uint32_t tcpi_segs_in;
  uint32_t tcpi_notsent_bytes;
  uint32_t tcpi_min_rtt;
  uint32_t tcpi_data_segs_in;
  uint32_t tcpi_data_segs_out;
  uint64_t tcpi_delivery_rate;
  uint64_t tcpi_busy_time;
  uint64_t tcpi_rwnd_limited;
  uint64_t tcpi_sndbuf_limited;
  uint32_t tcpi_delivered;
  uint32_t tcpi_delivered_ce;
  uint64_t tcpi_bytes_sent;
  uint64_t tcpi_bytes_retrans;
  uint32_t tcpi_dsack_dups;
  uint32_t tcpi_reord_seen;
  uint32_t tcpi_rcv_ooopack;
  uint32_t tcpi_snd_wnd;
} fp_tcp_info;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/*
 Reads an address such as "192.0.2.1" and adds a port. Returns 0, -FP_EINVAL or -FP_EFAULT.
 */
int32_t fp_parse_address(const char *text, uint16_t port, struct fp_address *address);

/*
 Writes the values of a preset to `config`: "default" (or NULL), "nuttx", "unet3", "netburner" or
 "linux". Returns 0, or -FP_ENOENT.
 */
int32_t fp_config_init(struct fp_config *config, const char *preset);

/*
 Sets the knob called `name` from text, for example "tcp.send_buffer" to "16K" or "tcp.rto_min" to
 "200ms". `name` may also be a setting of another system, see docs/knobs.md. Returns 0, -FP_ENOENT
 for an unknown name, -FP_EINVAL for a text that is not a value, -FP_ERANGE for a value that is not
 legal, or -FP_EOPNOTSUPP for a setting of another system that no knob expresses.
 */
int32_t fp_config_set(struct fp_config *config, const char *name, const char *value);

/*
 Sets the knob with the number `knob` (FP_KNOB_...). Returns 0, -FP_ENOENT or -FP_ERANGE.
 */
int32_t fp_config_set_number(struct fp_config *config, uint32_t knob, uint64_t value);

/*
 Writes the value of a knob as text, cut to `len` bytes including the NUL. Returns the length of
 the whole text, -FP_ENOENT or -FP_ERANGE.
 */
int32_t fp_config_get(const struct fp_config *config, const char *name, char *buffer, size_t len);

/*
 Checks every knob, and the knobs against each other. Returns 0; otherwise an error number, and
 the reason as text in `buffer`, cut to `len` bytes. `buffer` may be NULL if `len` is 0.
 */
int32_t fp_config_check(const struct fp_config *config, char *buffer, size_t len);

/*
 Writes the name of a knob, cut to `len` bytes including the NUL. Returns the length of the name,
 or -FP_ENOENT.
 */
int32_t fp_knob_name(uint32_t knob, char *buffer, size_t len);

/*
 Returns the number of the knob called `name`, or -FP_ENOENT.
 */
int32_t fp_knob_number(const char *name);

/*
 Returns the bytes that the arena of a stack needs with this configuration, or a negative error
 number: -FP_ERANGE for a value that is not legal, -FP_EINVAL for knobs that contradict each
 other.
 */
int64_t fp_needed(const struct fp_config *config);

/*
 Writes the name of a limit of the sender (FP_LIMIT_...), cut to `len` bytes including the NUL.
 Returns the length of the name, or -FP_ENOENT.
 */
int32_t fp_limit_name(uint32_t limit, char *buffer, size_t len);

/*
 Writes the name of a limit of the receiver (FP_RECEIVE_LIMIT_...), otherwise like `fp_limit_name`.
 */
int32_t fp_receive_limit_name(uint32_t limit, char *buffer, size_t len);

/*
 Called when the stack detects a bug of its own. `file` has `file_len` bytes and no NUL at the
 end. The program defines this function, which must not return. Libraries built with std, as
 for Linux, call `abort` instead.
 */
extern void fp_on_panic(const uint8_t *file, size_t file_len, uint32_t line);

/*
 Opens a TCP socket (FP_SOCK_STREAM) or a UDP socket (FP_SOCK_DGRAM). Returns its handle;
 -FP_EINVAL for another kind; -FP_ENFILE if there are as many sockets as the knobs
 stack.connections, stack.listeners and udp.sockets together allow.
 */
fp_socket_t fp_socket(struct fp_stack *stack, int32_t kind);

/*
 Gives a socket its local address and port. Returns 0; -FP_EINVAL if it already has an address;
 -FP_EADDRINUSE or -FP_EADDRNOTAVAIL (for TCP, `fp_listen` and `fp_connect` return these two).
 */
int32_t fp_bind(struct fp_stack *stack, fp_socket_t socket, const struct fp_address *address);

/*
 Listens at the socket's address. At most `backlog` connections wait to be accepted; if `backlog`
 is 0 or less, the knob stack.backlog applies. Accepted connections get the settings that the
 socket has now; later the socket's settings cannot be changed. Returns 0 or an error number.
 */
int32_t fp_listen(struct fp_stack *stack, fp_socket_t socket, int32_t backlog);

/*
 Accepts the connection that has waited longest, and writes the peer's address to `peer` unless
 `peer` is NULL. Returns the handle of a new socket; -FP_EAGAIN if no connection waits.
 */
fp_socket_t fp_accept(struct fp_stack *stack, fp_socket_t socket, struct fp_address *peer);

/*
 Connects a socket to `remote`. Returns 0 once a TCP connection is established, or the reason of
 the failure. If the call does not wait, it first returns -FP_EINPROGRESS; further calls return
 -FP_EALREADY until the connection is established or has failed. A connected UDP socket exchanges
 datagrams with `remote` only.
 */
int32_t fp_connect(struct fp_stack *stack, fp_socket_t socket, const struct fp_address *remote);

/*
 Closes one or both directions of a connection (FP_SHUT_...). Returns 0 or an error number.
 */
int32_t fp_shutdown(struct fp_stack *stack, fp_socket_t socket, int32_t how);

/*
 Closes a socket without waiting: written payload is still delivered afterwards. The handle is no
 longer valid. Returns 0 or -FP_EBADF.
 */
int32_t fp_close(struct fp_stack *stack, fp_socket_t socket);

/*
 Writes the socket's own address to `address`. Returns 0 or an error number.
 */
int32_t fp_getsockname(struct fp_stack *stack, fp_socket_t socket, struct fp_address *address);

/*
 Writes the address of the peer to `address`. Returns 0, or -FP_ENOTCONN.
 */
int32_t fp_getpeername(struct fp_stack *stack, fp_socket_t socket, struct fp_address *address);

/*
 Sets an option from `len` bytes at `value`. Returns 0; -FP_ENOPROTOOPT for an option that the
 socket does not have; -FP_EINVAL for a wrong length; -FP_ERANGE for a value that is not legal.
 */
int32_t fp_setsockopt(struct fp_stack *stack,
                      fp_socket_t socket,
                      int32_t level,
                      int32_t name,
                      const void *value,
                      size_t len);

/*
 Writes an option to `value`, and its length to `len`. Before the call, `len` must have the number
 of bytes at `value`; a structure is cut to this length, as in Linux. Returns 0 or an error number.
 */
int32_t fp_getsockopt(struct fp_stack *stack,
                      fp_socket_t socket,
                      int32_t level,
                      int32_t name,
                      void *value,
                      size_t *len);

/*
 Writes the readiness of `count` sockets, and waits up to `wait_us` microseconds until one has an
 event. With a `wait_us` of 0, or if the host system gave no callback `wait`, the call does not
 wait; with FP_FOREVER the call waits without a limit. Returns the number of sockets with events,
 or an error number.
 */
int32_t fp_poll(struct fp_stack *stack, struct fp_pollfd *polls, size_t count, uint64_t wait_us);

/*
 Writes to a connection, or sends a datagram to the connected peer. `flags` may be
 FP_MSG_DONTWAIT. A call that may wait returns when all bytes are written; a call that does not
 wait may write fewer. Returns the number of bytes written; -FP_EAGAIN if no byte was written.
 */
int32_t fp_send(struct fp_stack *stack,
                fp_socket_t socket,
                const void *buffer,
                size_t len,
                int32_t flags);

/*
 Sends a datagram to `to`, or writes to a connection, for which `to` must be NULL. A datagram is
 sent whole or not at all. Otherwise like `fp_send`.
 */
int32_t fp_sendto(struct fp_stack *stack,
                  fp_socket_t socket,
                  const void *buffer,
                  size_t len,
                  int32_t flags,
                  const struct fp_address *to);

/*
 Reads from a connection, or takes a datagram; bytes of the datagram beyond `len` are lost. `flags`
 may contain FP_MSG_PEEK, FP_MSG_DONTWAIT and FP_MSG_WAITALL. Returns the number of bytes read; 0
 at the end of a connection's stream; -FP_EAGAIN if nothing has arrived.
 */
int32_t fp_recv(struct fp_stack *stack,
                fp_socket_t socket,
                void *buffer,
                size_t len,
                int32_t flags);

/*
 Receives like `fp_recv`, and writes the sender of a datagram to `from` unless `from` is NULL.
 */
int32_t fp_recvfrom(struct fp_stack *stack,
                    fp_socket_t socket,
                    void *buffer,
                    size_t len,
                    int32_t flags,
                    struct fp_address *from);

/*
 Returns the version of the library, which must be FP_VERSION.
 */
uint32_t fp_version(void);

/*
 Creates a stack in `len` bytes at `arena`, which must be aligned to FP_ARENA_ALIGN and have at
 least `fp_needed(config)` bytes. The arena belongs to the stack until `fp_fini`; nothing has to
 be freed. `host` may be NULL. `secret` has 16 bytes that peers do not know, different at each
 start.

 Returns 0 and writes the stack to `stack`, or an error number: -FP_ENOMEM if the arena is too
 small, -FP_EFAULT for a null or misaligned pointer or a missing callback, -FP_ERANGE and
 -FP_EINVAL for a configuration, device or interface that cannot work, -FP_EBUSY if another
 thread configures or creates a stack (only in builds without the feature `std`).
 */
int32_t fp_init(void *arena,
                size_t len,
                const struct fp_config *config,
                const struct fp_interface *interface,
                const struct fp_device *device,
                const struct fp_host *host,
                const uint8_t *secret,
                struct fp_stack **stack);

/*
 Ends a stack without sending anything; the caller may then use the arena again. Before that, the
 caller should close all sockets and call `fp_turn` until the FINs are acknowledged, because the
 peers would not learn of the end otherwise. Returns 0 or an error number.
 */
int32_t fp_fini(struct fp_stack *stack);

/*
 Makes a turn at the time `now_us`: takes frames from the device, runs timers, and sends what is
 due. `now_us` counts microseconds since a moment of the caller's choice. If `now_us` is earlier
 than in a previous call, the latest time is used instead. Returns FP_TURN_... flags, or an error
 number.
 */
int32_t fp_turn(struct fp_stack *stack, uint64_t now_us);

/*
 Writes to `at_us` the time at which the next turn is due; FP_FOREVER if no turn is due before a
 frame arrives or another function is called. A time in the past means that a turn is due now.
 Returns 0 or an error number.
 */
int32_t fp_next_timeout(struct fp_stack *stack, uint64_t *at_us);

/*
 Writes the use of memory to `memory`. Returns 0 or an error number.
 */
int32_t fp_get_memory(struct fp_stack *stack, struct fp_memory *memory);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* FULLPIPE_H */
