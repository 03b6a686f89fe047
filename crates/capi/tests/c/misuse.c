/* Random calls with wrong arguments: misuse CALLS SEED.
 *
 * The one rule: every call returns, a call with a wrong argument returns an error number, and no call
 * writes outside of the arenas and the caller's buffers.
 *
 * Arguments are drawn from valid and from wrong ones: handles that are open, closed or invented,
 * pointers that are null or misaligned, lengths beyond the address space, calls from callbacks.
 */
#include "cable.h"

static struct cable_host hosts[2];
static uint64_t now_us;
static uint64_t state;
static unsigned long refused, accepted, nested;

static uint64_t draw(uint64_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % below;
}

#define HANDLES 24
static fp_socket_t handles[2][HANDLES];

static struct {
    uint8_t before[64];
    uint8_t bytes[4096];
    uint8_t after[64];
} buffer;

static fp_stack *any_stack(unsigned at)
{
    static uint64_t zeros[16];
    switch (draw(40)) {
    case 0:
        return NULL;
    case 1:
        return (fp_stack *)((uintptr_t)hosts[at].stack + 1);
    case 2:
        return (fp_stack *)zeros;
    default:
        return hosts[at].stack;
    }
}

static fp_socket_t any_socket(unsigned at)
{
    switch (draw(16)) {
    case 0:
        return (fp_socket_t)draw(UINT32_MAX);
    case 1:
        return -(fp_socket_t)draw(40);
    case 2:
        return (fp_socket_t)draw(64);
    default:
        return handles[at][draw(HANDLES)];
    }
}

/* Returns a buffer and sets a length that fits in it, or returns an argument that must be refused. */
static void *any_buffer(size_t *len)
{
    *len = draw(sizeof buffer.bytes + 1);
    switch (draw(16)) {
    case 0:
        *len += 1;
        return NULL;
    case 1:
        *len = SIZE_MAX - draw(4096);
        return buffer.bytes;
    default:
        return buffer.bytes + draw(sizeof buffer.bytes - *len + 1);
    }
}

static const struct fp_address *any_address(struct fp_address *address)
{
    *address = cable_address((uint8_t)draw(4), (uint16_t)(draw(3) ? 7 + draw(4) : draw(65536)));
    switch (draw(12)) {
    case 0:
        return NULL;
    case 1:
        return (const struct fp_address *)((uintptr_t)address + 1);
    case 2:
        address->family = (uint8_t)draw(8);
        return address;
    case 3:
        address->ip[draw(4)] = (uint8_t)draw(256);
        return address;
    default:
        return address;
    }
}

static void count(int64_t result)
{
    *(result < 0 ? &refused : &accepted) += 1;
}

static void remember(unsigned at, fp_socket_t socket)
{
    fp_socket_t *place = &handles[at][draw(HANDLES)];
    if (socket <= 0)
        return;
    if (*place > 0 && draw(2))
        fp_close(hosts[at].stack, *place);
    *place = socket;
}

static void call_options(unsigned at)
{
    static const int32_t levels[] = {FP_SOL_SOCKET, FP_IPPROTO_TCP, FP_SOL_FULLPIPE, 77};
    int32_t level = levels[draw(4)], name = (int32_t)draw(40);
    size_t len = 0, room;
    void *value = any_buffer(&len);
    uint32_t number = (uint32_t)(draw(3) ? draw(4) : draw(UINT32_MAX));
    switch (draw(4)) {
    case 0:
        /* The library cannot check the length of the memory at `value`, so this length is always right. */
        room = value == NULL || len > sizeof buffer.bytes ? 0 : len;
        count(fp_getsockopt(any_stack(at), any_socket(at), level, name, value,
                            draw(10) ? &room : NULL));
        break;
    case 1:
        room = len > 80 ? SIZE_MAX : len;
        count(fp_setsockopt(any_stack(at), any_socket(at), level, name, value, room));
        break;
    case 2:
        count(fp_setsockopt(any_stack(at), any_socket(at), FP_IPPROTO_TCP, FP_TCP_CONGESTION,
                            "newreno", draw(9)));
        break;
    default:
        count(fp_setsockopt(any_stack(at), any_socket(at), level, name, &number, sizeof number));
    }
}

static void call_knobs(void)
{
    static struct fp_config config;
    static const char *const names[] = {"tcp.send_buffer", "SO_SNDBUF", "tcp_mem", "", "nonsense",
                                        "tcp.congestion", "udp.sockets", "CFG_TCP_SND_WND"};
    static const char *const values[] = {"16K", "", "-1", "cubic", "99999999999999999999", "200ms",
                                         "4096 87380 6291456", "0"};
    char text[64];
    char endless[200];
    memset(endless, 'a', sizeof endless);
    switch (draw(7)) {
    case 0:
        count(fp_config_init(&config, draw(4) ? "nuttx" : endless));
        break;
    case 1:
        count(fp_config_set(draw(9) ? &config : NULL, draw(9) ? names[draw(8)] : NULL,
                            draw(9) ? values[draw(8)] : endless));
        break;
    case 2:
        count(fp_config_set_number(&config, (uint32_t)draw(FP_KNOBS + 9), draw(UINT32_MAX)));
        break;
    case 3:
        count(fp_config_get(&config, names[draw(8)], text, draw(sizeof text + 1)));
        break;
    case 4:
        count(fp_config_check(&config, draw(4) ? text : NULL, draw(sizeof text + 1)));
        break;
    case 5:
        if (draw(20) == 0)
            config.value[draw(FP_KNOBS)] = draw(3) ? draw(100000) : state;
        count(fp_needed(&config));
        break;
    default:
        count(fp_knob_name((uint32_t)draw(FP_KNOBS + 9), text, draw(sizeof text + 1)));
        count(fp_knob_number(names[draw(8)]));
    }
}

static void call_socket(unsigned at)
{
    struct fp_address address, from;
    struct fp_pollfd polls[4];
    struct fp_memory memory;
    uint64_t until;
    size_t len, each;
    void *bytes;
    switch (draw(16)) {
    case 0:
        remember(at, fp_socket(any_stack(at), (int32_t)draw(4)));
        break;
    case 1:
        count(fp_bind(any_stack(at), any_socket(at), any_address(&address)));
        break;
    case 2:
        count(fp_listen(any_stack(at), any_socket(at), (int32_t)draw(10) - 2));
        break;
    case 3:
        remember(at, fp_accept(any_stack(at), any_socket(at), draw(2) ? &from : NULL));
        break;
    case 4:
    case 5:
        count(fp_connect(any_stack(at), any_socket(at), any_address(&address)));
        break;
    case 6:
    case 7:
        bytes = any_buffer(&len);
        count(fp_send(any_stack(at), any_socket(at), bytes, len, (int32_t)(draw(9) ? 0 : state)));
        break;
    case 8:
        bytes = any_buffer(&len);
        count(fp_sendto(any_stack(at), any_socket(at), bytes, len, 0, any_address(&address)));
        break;
    case 9:
    case 10:
        bytes = any_buffer(&len);
        if (len > sizeof buffer.bytes && bytes != NULL)
            bytes = (void *)UINTPTR_MAX;
        count(fp_recvfrom(any_stack(at), any_socket(at), bytes, len,
                          (int32_t)(draw(9) ? 0 : draw(512)), draw(2) ? &from : NULL));
        break;
    case 11:
        count(fp_shutdown(any_stack(at), any_socket(at), (int32_t)draw(5) - 1));
        break;
    case 12:
        count(fp_close(any_stack(at), any_socket(at)));
        break;
    case 13:
        for (each = 0; each < 4; each++) {
            polls[each].socket = any_socket(at);
            polls[each].events = (uint16_t)state;
        }
        count(fp_poll(any_stack(at), draw(9) ? polls : NULL, draw(9) ? draw(5) : SIZE_MAX, state));
        break;
    case 14:
        count(fp_getsockname(any_stack(at), any_socket(at), draw(4) ? &from : NULL));
        count(fp_getpeername(any_stack(at), any_socket(at), draw(4) ? &from : NULL));
        break;
    default:
        count(fp_next_timeout(any_stack(at), draw(4) ? &until : NULL));
        count(fp_get_memory(any_stack(at), draw(4) ? &memory : NULL));
    }
}

/* A callback that breaks the rule: it calls a function on the stack that calls it. */
static void flush(void *context)
{
    struct cable_host *host = context;
    struct fp_address address;
    uint8_t byte = 0;
    CHECK(fp_turn(host->stack, now_us) == -FP_EBUSY);
    CHECK(fp_socket(host->stack, FP_SOCK_STREAM) == -FP_EBUSY);
    CHECK(fp_send(host->stack, handles[0][0], &byte, 1, 0) == -FP_EBUSY);
    CHECK(fp_getsockname(host->stack, 1, &address) == -FP_EBUSY);
    CHECK(fp_fini(host->stack) == -FP_EBUSY);
    nested++;
}

static void start(unsigned at, const char *preset)
{
    struct fp_config config;
    struct fp_device device = cable_device(&hosts[at]), broken = device;
    struct fp_interface interface = cable_interface((uint8_t)(at + 1)), odd = interface;
    uint8_t secret[16] = {0};
    fp_stack *stack = NULL;
    size_t needed;
    uint8_t *arena;
    CHECK(fp_config_init(&config, preset) == 0);
    needed = ((size_t)fp_needed(&config) + FP_ARENA_ALIGN) / FP_ARENA_ALIGN * FP_ARENA_ALIGN;
    arena = cable_map(&hosts[at], needed);
    device.flush = flush;
    hosts[at].other = &hosts[1 - at];
    broken.lend = NULL;
    odd.prefix_len = 33;
#define INIT(arena, len, config, interface, device, secret, stack) \
    fp_init(arena, len, config, interface, device, NULL, secret, stack)
    CHECK(INIT(arena, needed / 2, &config, &interface, &device, secret, &stack) == -FP_ENOMEM);
    CHECK(INIT(arena, 0, &config, &interface, &device, secret, &stack) == -FP_ENOMEM);
    CHECK(INIT(arena, SIZE_MAX, &config, &interface, &device, secret, &stack) == -FP_ENOMEM);
    CHECK(INIT(arena + 8, needed - 8, &config, &interface, &device, secret, &stack) == -FP_EFAULT);
    CHECK(INIT(NULL, needed, &config, &interface, &device, secret, &stack) == -FP_EFAULT);
    CHECK(INIT(arena, needed, NULL, &interface, &device, secret, &stack) == -FP_EFAULT);
    CHECK(INIT(arena, needed, &config, NULL, &device, secret, &stack) == -FP_EFAULT);
    CHECK(INIT(arena, needed, &config, &interface, NULL, secret, &stack) == -FP_EFAULT);
    CHECK(INIT(arena, needed, &config, &interface, &broken, secret, &stack) == -FP_EFAULT);
    CHECK(INIT(arena, needed, &config, &odd, &device, secret, &stack) == -FP_EINVAL);
    CHECK(INIT(arena, needed, &config, &interface, &device, NULL, &stack) == -FP_EFAULT);
    CHECK(INIT(arena, needed, &config, &interface, &device, secret, NULL) == -FP_EFAULT);
    CHECK(stack == NULL);
    CHECK(INIT(arena, needed, &config, &interface, &device, secret, &hosts[at].stack) == 0);
}

int main(int count_of_arguments, char **arguments)
{
    unsigned long calls = count_of_arguments > 1 ? strtoul(arguments[1], NULL, 10) : 20000, call;
    struct fp_memory memory;
    unsigned at, each;
    state = count_of_arguments > 2 ? strtoul(arguments[2], NULL, 10) : 1;
    state = state * 0x9E3779B97F4A7C15ull | 1;
    memset(&buffer, 0x5A, sizeof buffer);
    start(0, "default");
    start(1, "nuttx");
    for (call = 0; call < calls; call++) {
        at = (unsigned)draw(2);
        switch (draw(8)) {
        case 0:
            call_options(at);
            break;
        case 1:
            call_knobs();
            break;
        case 2:
        case 3:
            now_us += draw(3) ? draw(2000) : draw(300000);
            CHECK(fp_turn(hosts[at].stack, now_us) >= 0);
            break;
        default:
            call_socket(at);
        }
        for (each = 0; each < sizeof buffer.before; each++)
            CHECK(buffer.before[each] == 0x5A && buffer.after[each] == 0x5A);
    }
    for (at = 0; at < 2; at++)
        for (each = 1; each < 1000000; each++)
            if (fp_close(hosts[at].stack, (fp_socket_t)each) == 0)
                accepted++;
    for (at = 0; at < 2; at++)
        for (each = 0; each < HANDLES; each++)
            fp_close(hosts[at].stack, handles[at][each]);
    for (each = 0; each < 3000; each++) {
        now_us += 1000000;
        CHECK(fp_turn(hosts[0].stack, now_us) >= 0 && fp_turn(hosts[1].stack, now_us) >= 0);
    }
    for (at = 0; at < 2; at++) {
        CHECK(fp_get_memory(hosts[at].stack, &memory) == 0);
        printf("host %u: %u of %u blocks free\n", at, memory.free_blocks, memory.blocks);
        CHECK(fp_fini(hosts[at].stack) == 0);
        cable_check_guard(&hosts[at]);
        cable_unmap(&hosts[at]);
    }
    printf("%lu calls: %lu accepted, %lu refused, %lu turns with nested calls\n", calls, accepted,
           refused, nested);
    return 0;
}
