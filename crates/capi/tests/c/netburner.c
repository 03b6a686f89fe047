/* Tests that each setting of the NetBurner article changes the frames on the wire.
 *
 * The one rule: a setting is tested by the frames that the host sends and by GetFreeCount, not by
 * reading the setting back.
 */
#include "cable_system.h"
#include "netburner.h"

/* Counts of frames with payload since the last call of `forget`. */
static struct {
    unsigned segments, full, small, pushed, largest_flight;
} sent;
static uint32_t last_window, highest, acked;
static int started;

static fp_socket_t listener, accepted = -1;
static unsigned received;
/* If not 0, the peer's program reads; otherwise payload stays in the peer's receive buffer. */
static int reads = 1;

static uint32_t u32(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void watch_local(const uint8_t *frame, size_t len)
{
    const uint8_t *ip = frame + 14, *tcp = ip + 20;
    unsigned total, payload;
    if (len < 54 || frame[12] != 8 || frame[13] != 0 || ip[9] != 6)
        return;
    total = (unsigned)ip[2] << 8 | ip[3];
    payload = total - 20 - (unsigned)(tcp[12] >> 4) * 4;
    last_window = (uint32_t)tcp[14] << 8 | tcp[15];
    if (payload == 0)
        return;
    if (!started || (int32_t)(u32(tcp + 4) + payload - highest) > 0)
        highest = u32(tcp + 4) + payload;
    if (!started)
        acked = u32(tcp + 4);
    started = 1;
    sent.segments++;
    sent.full += payload == 1460;
    sent.small += payload < 1460;
    sent.pushed += (tcp[13] & 8) != 0;
    if (highest - acked > sent.largest_flight)
        sent.largest_flight = highest - acked;
}

static void watch_peer(const uint8_t *frame, size_t len)
{
    if (len >= 54 && started && frame[12] == 8 && frame[13] == 0 && frame[14 + 9] == 6)
        acked = u32(frame + 34 + 8);
}

int peer_step(void)
{
    static uint8_t bytes[8192];
    struct fp_address at = cable_address(2, 7000);
    int32_t count;
    if (listener == 0) {
        listener = fp_socket(cable_peer.stack, FP_SOCK_STREAM);
        CHECK(fp_bind(cable_peer.stack, listener, &at) == 0);
        CHECK(fp_listen(cable_peer.stack, listener, 4) == 0);
    }
    if (accepted < 0)
        accepted = fp_accept(cable_peer.stack, listener, NULL);
    if (accepted < 0 || !reads)
        return 0;
    count = fp_recv(cable_peer.stack, accepted, bytes, sizeof bytes, 0);
    received += count > 0 ? (unsigned)count : 0;
    return count > 0;
}

static void forget(void)
{
    memset(&sent, 0, sizeof sent);
}

static int open_socket(void)
{
    int fd = connect(0x0A000002, 0, 7000, 100);
    CHECK(fd > 0);
    started = 0;
    reads = 1;
    while (accepted < 0)
        cable_wait_us(1000);
    cable_wait_us(1000000);
    forget();
    return fd;
}

static void close_socket(int fd)
{
    CHECK(close(fd) == TCP_ERR_NORMAL && close(fd) == TCP_ERR_NOSUCH_SOCKET);
    cable_wait_us(1000000);
    fp_close(cable_peer.stack, accepted);
    accepted = -1;
    cable_wait_us(200000000);
    CHECK(GetFreeCount() == NETBURNER_BUFFERS);
}

static char block[60000];

/* Nagle's algorithm delays small writes until the first is acknowledged; with SO_NONAGLE each is sent at
 * once. */
static void nagle(void)
{
    int fd = open_socket(), each;
    for (each = 0; each < 20; each++)
        CHECK(write(fd, block, 10) == 10);
    cable_wait_us(500000);
    CHECK(sent.segments == 2);
    printf("20 writes of 10 bytes: %u segments with Nagle, ", sent.segments);
    CHECK(setsockoption(fd, SO_NONAGLE) == 0 && getsockoption(fd) == SO_NONAGLE);
    forget();
    for (each = 0; each < 20; each++)
        CHECK(write(fd, block, 10) == 10);
    cable_wait_us(500000);
    CHECK(sent.segments == 20 && sent.pushed == 20);
    printf("%u with SO_NONAGLE\n", sent.segments);
    CHECK(clrsockoption(fd, SO_NONAGLE) == 0 && getsockoption(fd) == 0);
    close_socket(fd);
}

/* SO_NOPUSH delays a partial segment until the option is cleared. */
static void push(void)
{
    int fd = open_socket(), each;
    CHECK(setsockoption(fd, SO_NOPUSH) == 0 && getsockoption(fd) == SO_NOPUSH);
    for (each = 0; each < 10; each++) {
        CHECK(writeall(fd, block, 500) == 500);
        cable_wait_us(500000);
    }
    CHECK(sent.full == 3 && sent.small == 0);
    printf("10 writes of 500 bytes with SO_NOPUSH: %u full segments, %u small, %u pushed; ",
           sent.full, sent.small, sent.pushed);
    CHECK(received % 5000 != 0);
    CHECK(clrsockoption(fd, SO_NOPUSH) == 0);
    cable_wait_us(500000);
    CHECK(sent.full == 3 && sent.small == 1 && sent.pushed >= 1);
    printf("cleared: %u small\n", sent.small);
    close_socket(fd);
}

/* The number of transmit buffers bounds how much one call writes, and by how much GetFreeCount falls. */
static void transmit_buffers(int buffers)
{
    int fd = open_socket(), written, more;
    reads = 0;
    CHECK(SetSocketTxBuffers(fd, buffers) == 0 && SetSocketUnackBuffers(fd, buffers) == 0);
    written = write(fd, block, sizeof block);
    CHECK(written == buffers * ETHER_PAYLOAD);
    CHECK(GetFreeCount() == NETBURNER_BUFFERS - buffers);
    printf("%d transmit buffers: a write takes %d bytes, %u of %d buffers are free\n", buffers,
           written, GetFreeCount(), NETBURNER_BUFFERS);
    reads = 1;
    received = 0;
    more = writeall(fd, block, sizeof block);
    CHECK(more == (int)sizeof block);
    cable_wait_us(2000000);
    CHECK(received == (unsigned)(written + more));
    close_socket(fd);
}

/* The number of buffers for unacknowledged payload bounds the bytes in flight. */
static unsigned unacknowledged_buffers(int buffers)
{
    int fd = open_socket();
    unsigned flight;
    CHECK(SetSocketTxBuffers(fd, 43) == 0 && SetSocketUnackBuffers(fd, buffers) == 0);
    for (int each = 0; each < 10; each++)
        CHECK(writeall(fd, block, sizeof block) == (int)sizeof block);
    cable_wait_us(2000000);
    printf("%d unacknowledged buffers: %u bytes in flight at most\n", buffers, sent.largest_flight);
    CHECK(sent.largest_flight <= (unsigned)buffers * ETHER_PAYLOAD);
    flight = sent.largest_flight;
    close_socket(fd);
    return flight;
}

/* The host advertises a window as large as its receive buffers. */
static void receive_buffers(int buffers)
{
    int fd = open_socket();
    char byte;
    CHECK(SetSocketRxBuffers(fd, buffers) == 0 && SetOutOfOrderBuffers(fd, buffers - 1) == 0);
    CHECK(dataavail(fd) == 0);
    CHECK(fp_send(cable_peer.stack, accepted, block, 1, 0) == 1);
    cable_wait_us(1000000);
    CHECK(dataavail(fd) == 1 && read(fd, &byte, 1) == 1 && dataavail(fd) == 0);
    cable_wait_us(1000000);
    CHECK(fp_send(cable_peer.stack, accepted, block, 1, 0) == 1);
    cable_wait_us(1000000);
    printf("%d receive buffers: window %u\n", buffers, last_window);
    CHECK(last_window > (uint32_t)(buffers - 1) * ETHER_PAYLOAD - 1500 &&
          last_window <= (uint32_t)buffers * ETHER_PAYLOAD);
    close_socket(fd);
}

int main(void)
{
    unsigned flight;
    setvbuf(stdout, NULL, _IOLBF, 0);
    CHECK(netburner_start("tap0", "10.0.0.1", 24) == 0);
    cable_local.watch = watch_local;
    cable_peer.watch = watch_peer;
    CHECK(GetFreeCount() == NETBURNER_BUFFERS);
    nagle();
    push();
    transmit_buffers(5);
    transmit_buffers(20);
    flight = unacknowledged_buffers(5);
    CHECK(unacknowledged_buffers(20) > 2 * flight);
    receive_buffers(5);
    receive_buffers(20);
    CHECK(SetSocketRxBuffers(12345, 5) == TCP_ERR_NOSUCH_SOCKET);
    CHECK(SetSocketRxBuffers(1, 5000) == TCP_ERR_NONE_AVAIL);
    cable_end();
    return 0;
}
