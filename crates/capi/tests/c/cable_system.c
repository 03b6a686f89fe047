/* The functions of system.h, over a simulated cable in virtual time. Tests of the calls of other systems
 * use them.
 *
 * The one rule: time passes only while a call waits. The peer is a second stack; the test defines its
 * program as `peer_step`.
 */
#include "cable_system.h"

#include <pthread.h>

fp_stack *fp_system_stack;
struct cable_host cable_local, cable_peer;
uint64_t cable_now_us;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

uint64_t fp_system_now_us(void)
{
    return cable_now_us;
}

void fp_system_lock(void)
{
    pthread_mutex_lock(&lock);
}

void fp_system_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

void fp_system_turn(void)
{
    CHECK(fp_turn(fp_system_stack, cable_now_us) >= 0);
}

static uint64_t host_now(void *context)
{
    (void)context;
    return cable_now_us;
}

/* Turns both hosts. If neither has anything to do, advances the time to the earlier of their next
 * timers. */
static int32_t host_wait(void *context, uint64_t until_us)
{
    uint64_t local, peer;
    int turned;
    (void)context;
    turned = fp_turn(fp_system_stack, cable_now_us) | fp_turn(cable_peer.stack, cable_now_us);
    CHECK(turned >= 0);
    if (peer_step() || (turned & (FP_TURN_RECEIVED | FP_TURN_SENT))) {
        cable_now_us += CABLE_TURN_US;
        return 0;
    }
    CHECK(fp_next_timeout(fp_system_stack, &local) == 0);
    CHECK(fp_next_timeout(cable_peer.stack, &peer) == 0);
    local = peer < local ? peer : local;
    local = until_us < local ? until_us : local;
    CHECK(local != FP_FOREVER);
    cable_now_us = local > cable_now_us ? local : cable_now_us + 1;
    return 0;
}

void cable_wait_us(uint64_t time_us)
{
    uint64_t until = cable_now_us + time_us;
    while (cable_now_us < until)
        host_wait(NULL, until);
}

static void start_peer(void)
{
    struct fp_config config;
    CHECK(fp_config_init(&config, "default") == 0);
    cable_start(&cable_peer, &cable_local, 2, &config, NULL);
}

int fp_system_start(const char *name, const struct fp_config *config, const char *address,
                    unsigned prefix_len)
{
    struct fp_host host = {NULL, host_now, host_wait};
    (void)name;
    (void)address;
    (void)prefix_len;
    start_peer();
    cable_start(&cable_local, &cable_peer, 1, config, &host);
    fp_system_stack = cable_local.stack;
    return 0;
}

void cable_end(void)
{
    CHECK(fp_fini(cable_local.stack) == 0 && fp_fini(cable_peer.stack) == 0);
    cable_check_guard(&cable_local);
    cable_check_guard(&cable_peer);
    cable_unmap(&cable_local);
    cable_unmap(&cable_peer);
}
