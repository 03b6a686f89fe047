/* Two stacks and a cable in memory, for tests in C.
 *
 * The one rule: a guard area precedes each arena, and inaccessible memory follows it, so that a write
 * outside of the arena is detected. Time is virtual.
 */
#ifndef CABLE_H
#define CABLE_H

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "fullpipe.h"

#define CABLE_FRAMES 64
#define CABLE_FRAME_LEN 1600

#define CHECK(condition)                                                        \
    do {                                                                        \
        if (!(condition)) {                                                     \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);     \
            abort();                                                            \
        }                                                                       \
    } while (0)

/* Frames in flight to one host. */
struct cable_ring {
    uint8_t frame[CABLE_FRAMES][CABLE_FRAME_LEN];
    size_t len[CABLE_FRAMES];
    unsigned first, count;
};

/* One host: its stack, its device and its end of the cable. */
struct cable_host {
    fp_stack *stack;
    struct cable_ring in;
    struct cable_host *other;
    uint8_t lent[CABLE_FRAME_LEN];
    void *arena;
    void *mapped;
    size_t arena_len, mapped_len;
    /* If `lose` is not 0, each `lose`-th frame is dropped; `frames` counts them. */
    unsigned lose, frames;
    /* Called with each frame that the host sends; may be NULL. */
    void (*watch)(const uint8_t *frame, size_t len);
};

static inline const uint8_t *cable_receive(void *context, size_t *len, struct fp_received *received)
{
    struct cable_host *host = context;
    struct cable_ring *in = &host->in;
    unsigned at = in->first;
    (void)received;
    if (in->count == 0)
        return NULL;
    in->first = (at + 1) % CABLE_FRAMES;
    in->count--;
    *len = in->len[at];
    return in->frame[at];
}

static inline uint8_t *cable_lend(void *context, size_t len)
{
    struct cable_host *host = context;
    if (host->other->in.count == CABLE_FRAMES || len > CABLE_FRAME_LEN)
        return NULL;
    return host->lent;
}

static inline void cable_send(void *context, size_t len, const struct fp_sending *sending)
{
    struct cable_host *host = context;
    struct cable_ring *out = &host->other->in;
    unsigned at = (out->first + out->count) % CABLE_FRAMES;
    (void)sending;
    host->frames++;
    if (host->watch != NULL)
        host->watch(host->lent, len);
    if (host->lose != 0 && host->frames % host->lose == 0)
        return;
    memcpy(out->frame[at], host->lent, len);
    out->len[at] = len;
    out->count++;
}

/* Maps `len` bytes, with CABLE_GUARD bytes before them, and inaccessible memory after them. */
#define CABLE_GUARD 4096
static inline void *cable_map(struct cable_host *host, size_t len)
{
    size_t page = 4096, pages = (len + CABLE_GUARD + page - 1) / page * page;
    uint8_t *start = mmap(NULL, pages + page, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(start != MAP_FAILED);
    CHECK(mprotect(start + pages, page, PROT_NONE) == 0);
    memset(start, 0xA5, pages);
    host->mapped = start;
    host->mapped_len = pages + page;
    host->arena_len = len;
    host->arena = start + pages - len;
    return host->arena;
}

/* Checks that nothing in front of the arena was written. */
static inline void cable_check_guard(const struct cable_host *host)
{
    const uint8_t *byte = host->mapped;
    for (; byte < (const uint8_t *)host->arena; byte++)
        CHECK(*byte == 0xA5);
}

static inline void cable_unmap(struct cable_host *host)
{
    CHECK(munmap(host->mapped, host->mapped_len) == 0);
}

static inline struct fp_device cable_device(struct cable_host *host)
{
    struct fp_device device = {0};
    device.context = host;
    device.medium = FP_MEDIUM_ETHERNET;
    device.mtu = 1500;
    device.receive = cable_receive;
    device.lend = cable_lend;
    device.send = cable_send;
    return device;
}

static inline struct fp_interface cable_interface(uint8_t last)
{
    struct fp_interface interface = {0};
    const uint8_t mac[6] = {2, 0, 0, 0, 0, last};
    const uint8_t ip[4] = {10, 0, 0, last};
    memcpy(interface.mac, mac, sizeof mac);
    interface.prefix_len = 24;
    interface.address.family = FP_IPV4;
    memcpy(interface.address.ip, ip, sizeof ip);
    return interface;
}

/* Starts a host with the address 10.0.0.`last`, in an arena of exactly fp_needed bytes. */
static inline void cable_start(struct cable_host *host, struct cable_host *other, uint8_t last,
                        const struct fp_config *config, const struct fp_host *system)
{
    struct fp_device device = cable_device(host);
    struct fp_interface interface = cable_interface(last);
    uint8_t secret[16];
    int64_t needed = fp_needed(config);
    CHECK(needed > 0);
    needed = (needed + FP_ARENA_ALIGN - 1) / FP_ARENA_ALIGN * FP_ARENA_ALIGN;
    memset(secret, last, sizeof secret);
    host->other = other;
    CHECK(fp_init(cable_map(host, (size_t)needed), (size_t)needed, config, &interface, &device,
                  system, secret, &host->stack) == 0);
}

static inline struct fp_address cable_address(uint8_t last, uint16_t port)
{
    struct fp_address address = {0};
    const uint8_t ip[4] = {10, 0, 0, last};
    address.family = FP_IPV4;
    address.port = port;
    memcpy(address.ip, ip, sizeof ip);
    return address;
}

#endif
