/* NetBurner's calls: see netburner.h.
 *
 * The one rule: N buffers of NetBurner become N times 1,500 bytes, the payload of one buffer.
 */
#define NETBURNER_KEEP_NAMES
#include "netburner.h"

#include <string.h>

#include "system.h"

#define TICK_MS 50

static int error_of(int32_t result)
{
    switch (-result) {
    case FP_EAGAIN:
    case FP_ETIMEDOUT:
    case FP_EINPROGRESS:
        return TCP_ERR_TIMEOUT;
    case FP_EBADF:
        return TCP_ERR_NOSUCH_SOCKET;
    case FP_ENFILE:
        return TCP_ERR_NONE_AVAIL;
    case FP_ECONNRESET:
        return TCP_ERR_CON_RESET;
    case FP_ECONNABORTED:
        return TCP_ERR_CON_ABORT;
    case FP_EPIPE:
        return TCP_ERR_CLOSING;
    default:
        return TCP_ERR_NOCON;
    }
}

int netburner_start(const char *tap, const char *address, unsigned prefix_len)
{
    struct fp_config config;
    int error = fp_config_init(&config, "netburner");
    return error < 0 ? error : fp_system_start(tap, &config, address, prefix_len);
}

uint16_t GetFreeCount(void)
{
    struct fp_memory memory = {0};
    fp_system_lock();
    fp_get_memory(fp_system_stack, &memory);
    fp_system_unlock();
    return (uint16_t)memory.free_blocks;
}

static int set(int fd, int32_t level, int32_t name, uint32_t value)
{
    int32_t error;
    fp_system_lock();
    error = fp_setsockopt(fp_system_stack, fd, level, name, &value, sizeof value);
    fp_system_turn();
    fp_system_unlock();
    return error < 0 ? error_of(error) : TCP_ERR_NORMAL;
}

static int set_buffers(int fd, int32_t level, int32_t name, int buffers)
{
    if (buffers < 0 || buffers > NETBURNER_BUFFERS)
        return TCP_ERR_NONE_AVAIL;
    return set(fd, level, name, (uint32_t)buffers * ETHER_PAYLOAD);
}

int SetSocketRxBuffers(int fd, int buffers)
{
    return set_buffers(fd, FP_SOL_SOCKET, FP_SO_RCVBUF, buffers);
}

int SetSocketTxBuffers(int fd, int buffers)
{
    return set_buffers(fd, FP_SOL_SOCKET, FP_SO_SNDBUF, buffers);
}

int SetSocketUnackBuffers(int fd, int buffers)
{
    return set_buffers(fd, FP_SOL_FULLPIPE, FP_UNACKNOWLEDGED, buffers);
}

int SetOutOfOrderBuffers(int fd, int buffers)
{
    return set_buffers(fd, FP_SOL_FULLPIPE, FP_OUT_OF_ORDER, buffers);
}

static int switch_options(int fd, int options, uint32_t on)
{
    int error = TCP_ERR_NORMAL;
    if (options & SO_NONAGLE)
        error = set(fd, FP_IPPROTO_TCP, FP_TCP_NODELAY, on);
    if (error == TCP_ERR_NORMAL && (options & SO_NOPUSH))
        error = set(fd, FP_IPPROTO_TCP, FP_TCP_CORK, on);
    return error;
}

int setsockoption(int fd, int option)
{
    return switch_options(fd, option, 1);
}

int clrsockoption(int fd, int option)
{
    return switch_options(fd, option, 0);
}

int getsockoption(int fd)
{
    uint32_t no_delay = 0, cork = 0;
    size_t len = sizeof no_delay;
    fp_system_lock();
    fp_getsockopt(fp_system_stack, fd, FP_IPPROTO_TCP, FP_TCP_NODELAY, &no_delay, &len);
    len = sizeof cork;
    fp_getsockopt(fp_system_stack, fd, FP_IPPROTO_TCP, FP_TCP_CORK, &cork, &len);
    fp_system_unlock();
    return (no_delay ? SO_NONAGLE : 0) | (cork ? SO_NOPUSH : 0);
}

static struct fp_address address_of(IPADDR address, uint16_t port)
{
    struct fp_address made = {.family = FP_IPV4, .port = port};
    for (int byte = 0; byte < 4; byte++)
        made.ip[byte] = (uint8_t)(address >> (24 - 8 * byte));
    return made;
}

/* Sets the longest wait of the next calls. The lock is held. */
static void wait_for(int fd, int32_t name, uint32_t ticks)
{
    uint32_t time_ms = ticks * TICK_MS;
    fp_setsockopt(fp_system_stack, fd, FP_SOL_SOCKET, name, &time_ms, sizeof time_ms);
}

int netburner_connect(IPADDR address, uint16_t local_port, uint16_t port, uint32_t ticks)
{
    struct fp_address remote = address_of(address, port), local = address_of(0, local_port);
    int32_t fd, error;
    fp_system_lock();
    fd = error = fp_socket(fp_system_stack, FP_SOCK_STREAM);
    if (fd > 0 && (error = fp_bind(fp_system_stack, fd, &local)) >= 0) {
        wait_for(fd, FP_SO_SNDTIMEO, ticks);
        error = fp_connect(fp_system_stack, fd, &remote);
        wait_for(fd, FP_SO_SNDTIMEO, 0);
    }
    if (fd > 0 && error < 0)
        fp_close(fp_system_stack, fd);
    fp_system_unlock();
    return error < 0 ? error_of(error) : fd;
}

int netburner_listen(IPADDR address, uint16_t port, uint8_t most)
{
    struct fp_address local = address_of(address, port);
    int32_t fd, error;
    fp_system_lock();
    fd = error = fp_socket(fp_system_stack, FP_SOCK_STREAM);
    if (fd > 0 && (error = fp_bind(fp_system_stack, fd, &local)) >= 0)
        error = fp_listen(fp_system_stack, fd, most);
    if (fd > 0 && error < 0)
        fp_close(fp_system_stack, fd);
    fp_system_unlock();
    return error < 0 ? error_of(error) : fd;
}

int netburner_accept(int fd, IPADDR *address, uint16_t *port, uint16_t ticks)
{
    struct fp_address peer = {0};
    int32_t accepted;
    fp_system_lock();
    wait_for(fd, FP_SO_RCVTIMEO, ticks);
    accepted = fp_accept(fp_system_stack, fd, &peer);
    fp_system_unlock();
    if (accepted < 0)
        return error_of(accepted);
    if (address != NULL)
        *address = (IPADDR)peer.ip[0] << 24 | (IPADDR)peer.ip[1] << 16 | (IPADDR)peer.ip[2] << 8 |
                   peer.ip[3];
    if (port != NULL)
        *port = peer.port;
    return accepted;
}

int netburner_read(int fd, char *buffer, int bytes)
{
    int32_t count;
    if (bytes < 0)
        return TCP_ERR_NOCON;
    fp_system_lock();
    count = fp_recv(fp_system_stack, fd, buffer, (size_t)bytes, 0);
    fp_system_unlock();
    return count < 0 ? error_of(count) : count;
}

int netburner_write(int fd, const char *buffer, int bytes)
{
    int32_t count;
    if (bytes <= 0)
        return bytes < 0 ? TCP_ERR_NOCON : 0;
    fp_system_lock();
    count = fp_send(fp_system_stack, fd, buffer, (size_t)bytes, FP_MSG_DONTWAIT);
    /* The send buffer is full: wait until one byte fits. */
    if (count == -FP_EAGAIN)
        count = fp_send(fp_system_stack, fd, buffer, 1, 0);
    fp_system_turn();
    fp_system_unlock();
    return count < 0 ? error_of(count) : count;
}

int writeall(int fd, const char *buffer, int bytes)
{
    int32_t count;
    if (bytes < 0)
        return TCP_ERR_NOCON;
    fp_system_lock();
    count = fp_send(fp_system_stack, fd, buffer, (size_t)bytes, 0);
    fp_system_turn();
    fp_system_unlock();
    return count < 0 ? error_of(count) : count;
}

int netburner_close(int fd)
{
    int32_t error;
    fp_system_lock();
    error = fp_close(fp_system_stack, fd);
    fp_system_turn();
    fp_system_unlock();
    return error < 0 ? error_of(error) : TCP_ERR_NORMAL;
}

int dataavail(int fd)
{
    struct fp_pollfd poll = {.socket = fd, .events = FP_POLLIN};
    int32_t found;
    fp_system_lock();
    found = fp_poll(fp_system_stack, &poll, 1, 0);
    fp_system_unlock();
    return found > 0 && (poll.revents & FP_POLLIN) ? 1 : 0;
}
