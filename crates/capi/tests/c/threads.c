/* If two threads call functions on one stack without a lock, which is misuse, one of them gets -FP_EBUSY,
 * and nothing else goes wrong. Two threads that have a stack each do not disturb each other.
 *
 * The one rule: every result is one that the header names.
 */
#include "cable.h"

#include <pthread.h>

#define CALLS 200000

static struct cable_host hosts[2];
static unsigned long busy[2];

/* Returns no frame, because this program does not test the device. */
static const uint8_t *no_receive(void *context, size_t *len, struct fp_received *received)
{
    (void)context;
    (void)len;
    (void)received;
    return NULL;
}

static uint8_t *no_lend(void *context, size_t len)
{
    (void)context;
    (void)len;
    return NULL;
}

static void *same_stack(void *argument)
{
    unsigned long *refused = argument;
    for (unsigned long call = 0; call < CALLS; call++) {
        int32_t socket = fp_socket(hosts[0].stack, FP_SOCK_STREAM), result;
        CHECK(socket > 0 || socket == -FP_EBUSY);
        *refused += socket == -FP_EBUSY;
        result = fp_turn(hosts[0].stack, call);
        CHECK(result >= 0 || result == -FP_EBUSY);
        while (socket > 0 && (result = fp_close(hosts[0].stack, socket)) != 0)
            CHECK(result == -FP_EBUSY);
    }
    return NULL;
}

static void *own_stack(void *argument)
{
    struct cable_host *host = argument;
    struct fp_config config;
    for (int call = 0; call < 300; call++) {
        CHECK(fp_config_init(&config, "nuttx") == 0);
        CHECK(fp_config_set(&config, "tcp.send_buffer", "8K") == 0);
        CHECK(fp_needed(&config) > 0);
        CHECK(fp_socket(host->stack, FP_SOCK_DGRAM) != -FP_EBUSY);
        CHECK(fp_turn(host->stack, (uint64_t)call) >= 0);
    }
    return NULL;
}

int main(void)
{
    struct fp_config config;
    pthread_t threads[2];
    int each;
    CHECK(fp_config_init(&config, "nuttx") == 0);
    for (each = 0; each < 2; each++) {
        struct fp_device device = cable_device(&hosts[each]);
        struct fp_interface interface = cable_interface((uint8_t)(each + 1));
        uint8_t secret[16] = {0};
        size_t needed = ((size_t)fp_needed(&config) / FP_ARENA_ALIGN + 1) * FP_ARENA_ALIGN;
        device.receive = no_receive;
        device.lend = no_lend;
        CHECK(fp_init(cable_map(&hosts[each], needed), needed, &config, &interface, &device, NULL,
                      secret, &hosts[each].stack) == 0);
    }
    for (each = 0; each < 2; each++)
        CHECK(pthread_create(&threads[each], NULL, same_stack, &busy[each]) == 0);
    for (each = 0; each < 2; each++)
        CHECK(pthread_join(threads[each], NULL) == 0);
    for (each = 0; each < 2; each++)
        CHECK(pthread_create(&threads[each], NULL, own_stack, &hosts[each]) == 0);
    for (each = 0; each < 2; each++)
        CHECK(pthread_join(threads[each], NULL) == 0);
    printf("%d calls in each of two threads, %lu refused\n", CALLS, busy[0] + busy[1]);
    return 0;
}
