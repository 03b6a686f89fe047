/* Echo between two stacks on a simulated cable: TCP with and without loss, UDP, options, results of calls.
 *
 * The one rule: every byte is echoed unchanged, and all blocks of the pool are free at the end.
 */
#include "cable.h"

static struct cable_host client, server;
static uint64_t now_us;

static void turn_both(void)
{
    CHECK(fp_turn(client.stack, now_us) >= 0);
    CHECK(fp_turn(server.stack, now_us) >= 0);
    now_us += 1000;
}

static uint8_t pattern(size_t at)
{
    return (uint8_t)(at * 7 + at / 251);
}

static void start(const char *preset, unsigned lose)
{
    struct fp_config config;
    CHECK(fp_config_init(&config, preset) == 0);
    memset(&client, 0, sizeof client);
    memset(&server, 0, sizeof server);
    client.lose = server.lose = lose;
    cable_start(&client, &server, 1, &config, NULL);
    cable_start(&server, &client, 2, &config, NULL);
}

static void end(void)
{
    struct fp_memory memory;
    struct cable_host *hosts[2] = {&client, &server};
    int each, turns;
    for (turns = 0; turns < 200000; turns++)
        turn_both();
    for (each = 0; each < 2; each++) {
        CHECK(fp_get_memory(hosts[each]->stack, &memory) == 0);
        CHECK(memory.free_blocks == memory.blocks);
        CHECK(memory.arena_used <= hosts[each]->arena_len);
        CHECK(fp_fini(hosts[each]->stack) == 0);
        CHECK(fp_turn(hosts[each]->stack, now_us) == -FP_EBADF);
        cable_check_guard(hosts[each]);
        cable_unmap(hosts[each]);
    }
}

/* Sends `total` bytes, and compares the echo with them. */
static void tcp_echo(const char *preset, unsigned lose, size_t total)
{
    struct fp_address at = cable_address(2, 7), peer;
    struct fp_limits limits;
    struct fp_tcp_info info;
    uint8_t block[4096], echo[4096];
    size_t written = 0, read = 0, held = 0, echoed = 0, len, each;
    uint64_t sum = 0;
    fp_socket_t listener, out, in = -1;
    int count, closed = 0;

    start(preset, lose);
    listener = fp_socket(server.stack, FP_SOCK_STREAM);
    CHECK(fp_bind(server.stack, listener, &at) == 0);
    CHECK(fp_listen(server.stack, listener, 4) == 0);
    out = fp_socket(client.stack, FP_SOCK_STREAM);
    CHECK(out > 0 && fp_connect(client.stack, out, &at) == -FP_EINPROGRESS);
    CHECK(fp_connect(client.stack, out, &at) == -FP_EALREADY);
    CHECK(fp_send(client.stack, out, block, 1, 0) == -FP_EAGAIN);
    while (read < total) {
        turn_both();
        CHECK(now_us < 3600000000ull);
        if (in < 0 && (in = fp_accept(server.stack, listener, &peer)) > 0)
            CHECK(peer.family == FP_IPV4 && peer.ip[3] == 1);
        if (written < total) {
            len = total - written < sizeof block ? total - written : sizeof block;
            for (each = 0; each < len; each++)
                block[each] = pattern(written + each);
            count = fp_send(client.stack, out, block, len, 0);
            CHECK(count > 0 || count == -FP_EAGAIN);
            written += count > 0 ? (size_t)count : 0;
        } else if (!closed) {
            CHECK(fp_shutdown(client.stack, out, FP_SHUT_WR) == 0);
            CHECK(fp_send(client.stack, out, block, 1, 0) == -FP_EPIPE);
            closed = 1;
        }
        if (in > 0 && held == echoed) {
            count = fp_recv(server.stack, in, echo, sizeof echo, 0);
            CHECK(count >= 0 || count == -FP_EAGAIN);
            held = count > 0 ? (size_t)count : 0;
            echoed = 0;
        }
        if (in > 0 && echoed < held) {
            count = fp_send(server.stack, in, echo + echoed, held - echoed, 0);
            CHECK(count > 0 || count == -FP_EAGAIN);
            echoed += count > 0 ? (size_t)count : 0;
        }
        while ((count = fp_recv(client.stack, out, block, sizeof block, 0)) > 0)
            for (each = 0; each < (size_t)count; each++)
                CHECK(block[each] == pattern(read++));
        CHECK(count == -FP_EAGAIN);
    }
    len = sizeof info;
    CHECK(fp_getsockopt(client.stack, out, FP_IPPROTO_TCP, FP_TCP_INFO, &info, &len) == 0);
    CHECK(len == sizeof info && info.tcpi_bytes_acked >= total && info.tcpi_rtt >= 1000);
    len = sizeof limits;
    CHECK(fp_getsockopt(client.stack, out, FP_SOL_FULLPIPE, FP_LIMITS, &limits, &len) == 0);
    for (each = 0; each < FP_LIMIT_COUNT; each++)
        sum += limits.send[each].time_us;
    CHECK(sum <= limits.age_us && sum + FP_LIMIT_COUNT >= limits.age_us);
    CHECK(lose != 0 ? info.tcpi_total_retrans > 0 : info.tcpi_total_retrans == 0);
    CHECK(fp_close(server.stack, in) == 0 && fp_close(server.stack, in) == -FP_EBADF);
    CHECK(fp_close(client.stack, out) == 0 && fp_recv(client.stack, out, block, 1, 0) == -FP_EBADF);
    CHECK(fp_close(server.stack, listener) == 0);
    end();
    printf("tcp echo, preset %s, %u: %zu bytes\n", preset, lose, total);
}

static void udp_echo(void)
{
    struct fp_address at = cable_address(2, 7), from;
    uint8_t datagram[3000], got[3000];
    size_t each;
    fp_socket_t here, there;
    int count, tries;

    start("default", 0);
    here = fp_socket(client.stack, FP_SOCK_DGRAM);
    there = fp_socket(server.stack, FP_SOCK_DGRAM);
    CHECK(fp_bind(server.stack, there, &at) == 0);
    CHECK(fp_send(client.stack, here, datagram, 1, 0) == -FP_EDESTADDRREQ);
    for (each = 0; each < sizeof datagram; each++)
        datagram[each] = pattern(each);
    CHECK(fp_sendto(client.stack, here, datagram, sizeof datagram, 0, &at) == sizeof datagram);
    for (tries = 0; tries < 10; tries++)
        turn_both();
    count = fp_recvfrom(server.stack, there, got, sizeof got, 0, &from);
    CHECK(count == sizeof datagram && memcmp(got, datagram, sizeof got) == 0);
    CHECK(fp_connect(server.stack, there, &from) == 0);
    CHECK(fp_send(server.stack, there, got, 10, 0) == 10);
    for (tries = 0; tries < 10; tries++)
        turn_both();
    CHECK(fp_recv(client.stack, here, got, sizeof got, 0) == 10);
    CHECK(fp_recv(client.stack, here, got, sizeof got, 0) == -FP_EAGAIN);
    CHECK(fp_close(client.stack, here) == 0 && fp_close(server.stack, there) == 0);
    end();
    printf("udp echo\n");
}

/* Tests the names and numbers of knobs, and the texts of their errors. */
static void knobs(void)
{
    struct fp_config config;
    char text[200], name[64];
    int knob;
    CHECK(fp_version() == FP_VERSION);
    CHECK(fp_config_init(&config, NULL) == 0 && fp_config_init(&config, "nonsense") == -FP_ENOENT);
    for (knob = 0; knob < FP_KNOBS; knob++) {
        CHECK(fp_knob_name((uint32_t)knob, name, sizeof name) > 0);
        CHECK(fp_knob_number(name) == knob);
        CHECK(fp_config_get(&config, name, text, sizeof text) > 0);
        CHECK(fp_config_set(&config, name, text) == 0);
    }
    CHECK(fp_config_set(&config, "tcp.send_buffer", "16K") == 0);
    CHECK(config.value[FP_KNOB_TCP_SEND_BUFFER] == 16384);
    CHECK(fp_config_set(&config, "tcp.congestion", "newreno") == 0);
    CHECK(fp_config_set_number(&config, FP_KNOB_TCP_RTO_MIN, 250000) == 0);
    CHECK(fp_config_get(&config, "tcp.rto_min", text, sizeof text) > 0);
    CHECK(strcmp(text, "250ms") == 0);
    CHECK(fp_config_set(&config, "tcp.send_bufer", "16K") == -FP_ENOENT);
    CHECK(fp_config_set(&config, "tcp.send_buffer", "0") == -FP_ERANGE);
    CHECK(fp_config_set(&config, "tcp.send_buffer", "much") == -FP_EINVAL);
    CHECK(fp_config_check(&config, text, sizeof text) == 0);
    config.value[FP_KNOB_TCP_MSS_MIN] = 1400;
    config.value[FP_KNOB_TCP_MSS_MAX] = 536;
    CHECK(fp_config_check(&config, text, sizeof text) == -FP_EINVAL);
    CHECK(strstr(text, "tcp.mss_min = 1400 is above") != NULL);
    CHECK(fp_needed(&config) == -FP_EINVAL);
    config.value[FP_KNOB_TCP_MSS_MIN] = 0;
    CHECK(fp_config_check(&config, text, sizeof text) == -FP_ERANGE);
    printf("knobs\n");
}

int main(void)
{
    knobs();
    tcp_echo("default", 0, 1000000);
    tcp_echo("nuttx", 0, 100000);
    tcp_echo("unet3", 0, 50000);
    tcp_echo("default", 50, 1000000);
    tcp_echo("nuttx", 20, 50000);
    udp_echo();
    return 0;
}
