/* A stack on Linux for programs in C: see system.h.
 *
 * The one rule: one thread calls fp_turn when a frame has arrived or a timer is due. After each of these
 * turns it wakes the program's other threads, if they wait in a call.
 */
#define _GNU_SOURCE
#include "system.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MTU 1500
#define FRAME_LEN (MTU + 14)
/* Longest sleep if no timer is due earlier. */
#define IDLE_US 1000000
/* Longest sleep while the device is full. */
#define FULL_US 200

fp_stack *fp_system_stack;

static struct {
    int tap;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint8_t received[FRAME_LEN], lent[FRAME_LEN];
    /* Bytes of `lent` that the device has not taken yet. */
    size_t pending;
} self;

static const uint8_t *tap_receive(void *context, size_t *len, struct fp_received *meta)
{
    ssize_t count = read(self.tap, self.received, sizeof self.received);
    (void)context;
    (void)meta;
    *len = count > 0 ? (size_t)count : 0;
    return count > 0 ? self.received : NULL;
}

static uint8_t *tap_lend(void *context, size_t len)
{
    (void)context;
    if (self.pending > 0 && write(self.tap, self.lent, self.pending) < 0 && errno == EAGAIN)
        return NULL;
    self.pending = 0;
    return len <= sizeof self.lent ? self.lent : NULL;
}

static void tap_send(void *context, size_t len, const struct fp_sending *sending)
{
    (void)context;
    (void)sending;
    /* After any other error the frame is lost; TCP retransmits its payload. */
    if (write(self.tap, self.lent, len) < 0 && errno == EAGAIN)
        self.pending = len;
}

uint64_t fp_system_now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static uint64_t host_now(void *context)
{
    (void)context;
    return fp_system_now_us();
}

/* Runs a turn. If no frame is received or sent, waits for the next turn of the stack's thread. */
static int32_t host_wait(void *context, uint64_t until_us)
{
    struct timespec until;
    uint64_t now = fp_system_now_us();
    (void)context;
    if (fp_turn(fp_system_stack, now) & (FP_TURN_RECEIVED | FP_TURN_SENT))
        return 0;
    if (until_us > now + IDLE_US)
        until_us = now + IDLE_US;
    until.tv_sec = (time_t)(until_us / 1000000);
    until.tv_nsec = (long)(until_us % 1000000) * 1000;
    pthread_cond_timedwait(&self.changed, &self.lock, &until);
    return 0;
}

void fp_system_lock(void)
{
    pthread_mutex_lock(&self.lock);
}

void fp_system_unlock(void)
{
    pthread_mutex_unlock(&self.lock);
}

void fp_system_turn(void)
{
    fp_turn(fp_system_stack, fp_system_now_us());
}

static void *run(void *unused)
{
    struct pollfd tap = {.fd = self.tap, .events = POLLIN};
    (void)unused;
    for (;;) {
        uint64_t now = fp_system_now_us(), at = 0, sleep_us = IDLE_US;
        struct timespec sleep;
        int turned;
        fp_system_lock();
        turned = fp_turn(fp_system_stack, now);
        fp_next_timeout(fp_system_stack, &at);
        if (turned & (FP_TURN_RECEIVED | FP_TURN_SENT))
            pthread_cond_broadcast(&self.changed);
        fp_system_unlock();
        if (at < now + sleep_us)
            sleep_us = at > now ? at - now : 0;
        if (turned & FP_TURN_MORE_WORK)
            sleep_us = 0;
        if ((turned & FP_TURN_DEVICE_FULL) && sleep_us > FULL_US)
            sleep_us = FULL_US;
        /* Sleep 10 ms at most, because a call of the program can set an earlier timer during the sleep. */
        if (sleep_us > 10000)
            sleep_us = 10000;
        sleep.tv_sec = (time_t)(sleep_us / 1000000);
        sleep.tv_nsec = (long)(sleep_us % 1000000) * 1000;
        if (sleep_us > 0)
            ppoll(&tap, 1, &sleep, NULL);
    }
    return NULL;
}

/* Opens a TAP device, and creates it if it does not exist. */
static int open_tap(const char *name)
{
    struct ifreq request;
    int tap = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (tap < 0)
        return -errno;
    memset(&request, 0, sizeof request);
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
    request.ifr_flags = IFF_TAP | IFF_NO_PI;
    if (ioctl(tap, TUNSETIFF, &request) < 0)
        return -errno;
    return tap;
}

static int start_threads(void)
{
    pthread_condattr_t clock;
    pthread_t thread;
    pthread_mutex_init(&self.lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&self.changed, &clock);
    return -pthread_create(&thread, NULL, run, NULL);
}

int fp_system_start(const char *name, const struct fp_config *config, const char *address,
                    unsigned prefix_len)
{
    struct fp_device device = {.medium = FP_MEDIUM_ETHERNET,
                               .mtu = MTU,
                               .receive = tap_receive,
                               .lend = tap_lend,
                               .send = tap_send};
    struct fp_host host = {.now = host_now, .wait = host_wait};
    struct fp_interface interface = {.mac = {2, 0x46, 0x50}, .prefix_len = (uint8_t)prefix_len};
    int64_t needed = fp_needed(config);
    uint8_t secret[16];
    void *arena;
    int error;
    if (needed < 0)
        return (int)needed;
    if ((error = fp_parse_address(address, 0, &interface.address)) < 0)
        return error;
    memcpy(interface.mac + 3, interface.address.ip + 1, 3);
    if ((self.tap = open_tap(name)) < 0)
        return self.tap;
    needed = (needed / FP_ARENA_ALIGN + 1) * FP_ARENA_ALIGN;
    arena = aligned_alloc(FP_ARENA_ALIGN, (size_t)needed);
    if (arena == NULL || getrandom(secret, sizeof secret, 0) != sizeof secret)
        return -FP_ENOMEM;
    error = fp_init(arena, (size_t)needed, config, &interface, &device, &host, secret,
                    &fp_system_stack);
    return error < 0 ? error : start_threads();
}
