/* Writes 16,384 bytes at a time with POSIX calls. CONFIG_ macros set the size of packet memory.
 *
 * The one rule: if packet memory is small, a write is accepted in pieces, and every byte arrives.
 */
#include "cable_system.h"

#include <arpa/inet.h>

#define WRITES 50
#define WRITE_LEN 16384

static fp_socket_t listener, accepted = -1;
static size_t received;

static uint8_t pattern(size_t at)
{
    return (uint8_t)(at * 13 + at / 509);
}

int peer_step(void)
{
    static uint8_t bytes[8192];
    struct fp_address at = cable_address(2, 5001);
    int32_t count, each;
    if (listener == 0) {
        listener = fp_socket(cable_peer.stack, FP_SOCK_STREAM);
        CHECK(fp_bind(cable_peer.stack, listener, &at) == 0);
        CHECK(fp_listen(cable_peer.stack, listener, 4) == 0);
    }
    if (accepted < 0)
        accepted = fp_accept(cable_peer.stack, listener, NULL);
    if (accepted < 0)
        return 0;
    count = fp_recv(cable_peer.stack, accepted, bytes, sizeof bytes, 0);
    for (each = 0; each < count; each++)
        CHECK(bytes[each] == pattern(received + (size_t)each));
    received += count > 0 ? (size_t)count : 0;
    if (count == 0)
        fp_shutdown(cable_peer.stack, accepted, FP_SHUT_WR);
    return count > 0;
}

int main(void)
{
    static uint8_t block[WRITE_LEN];
    struct sockaddr_in peer = {.sin_family = AF_INET, .sin_port = htons(5001)};
    struct fp_memory memory;
    int fd = socket(AF_INET, SOCK_STREAM, 0), writes, kernel[2];
    uint64_t start;
    size_t each;
    CHECK(fd >= FULLPIPE_FD && inet_pton(AF_INET, "10.0.0.2", &peer.sin_addr) == 1);
    CHECK(connect(fd, (const struct sockaddr *)&peer, sizeof peer) == 0);
    start = cable_now_us;
    for (writes = 0; writes < WRITES; writes++) {
        for (each = 0; each < sizeof block; each++)
            block[each] = pattern((size_t)writes * sizeof block + each);
        CHECK(send(fd, block, sizeof block, 0) == (ssize_t)sizeof block);
    }
    CHECK(shutdown(fd, SHUT_WR) == 0);
    CHECK(recv(fd, block, sizeof block, 0) == 0);
    CHECK(received == (size_t)WRITES * WRITE_LEN);
    CHECK(fp_get_memory(fp_system_stack, &memory) == 0);
    printf("%u blocks of %u bytes: %d writes of %d bytes in %llu ms, at most %u blocks used\n",
           memory.blocks, memory.block_size, WRITES, WRITE_LEN,
           (unsigned long long)(cable_now_us - start) / 1000, memory.peak_blocks);
    CHECK(close(fd) == 0 && close(fd) < 0);
    /* Calls with descriptors of the kernel still work. */
    CHECK(pipe(kernel) == 0 && write(kernel[1], "x", 1) == 1 && read(kernel[0], block, 1) == 1);
    CHECK(close(kernel[0]) == 0 && close(kernel[1]) == 0);
    cable_end();
    return 0;
}
