/* POSIX calls over fullpipe: see posix.h.
 *
 * The one rule: the first socket starts the stack, with the CONFIG_ macros of Kconfig, on the TAP device
 * in FULLPIPE_TAP and with the address in FULLPIPE_ADDRESS.
 */
#define FULLPIPE_KEEP_NAMES
#include "posix.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "system.h"

/* posix.h may have been included before, with its macros; remove them. */
#undef socket
#undef bind
#undef listen
#undef accept
#undef connect
#undef send
#undef recv
#undef shutdown
#undef setsockopt
#undef close
#undef write
#undef read

#define DESCRIPTORS 64

static fp_socket_t sockets[DESCRIPTORS];

#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)

static int start(void)
{
    static const char *const settings[][2] = {
#ifdef CONFIG_IOB_NBUFFERS
        {"CONFIG_IOB_NBUFFERS", TEXT(CONFIG_IOB_NBUFFERS)},
#endif
#ifdef CONFIG_IOB_BUFSIZE
        {"CONFIG_IOB_BUFSIZE", TEXT(CONFIG_IOB_BUFSIZE)},
#endif
#ifdef CONFIG_IOB_THROTTLE
        {"CONFIG_IOB_THROTTLE", TEXT(CONFIG_IOB_THROTTLE)},
#endif
#ifdef CONFIG_NET_SEND_BUFSIZE
        {"CONFIG_NET_SEND_BUFSIZE", TEXT(CONFIG_NET_SEND_BUFSIZE)},
#endif
#ifdef CONFIG_NET_RECV_BUFSIZE
        {"CONFIG_NET_RECV_BUFSIZE", TEXT(CONFIG_NET_RECV_BUFSIZE)},
#endif
        {"pool.receive_floor", "1"},
    };
    const char *tap = getenv("FULLPIPE_TAP"), *address = getenv("FULLPIPE_ADDRESS");
    struct fp_config config;
    int error = fp_config_init(&config, "nuttx");
    for (size_t each = 0; each < sizeof settings / sizeof *settings && error >= 0; each++) {
        error = fp_config_set(&config, settings[each][0], settings[each][1]);
        if (error < 0)
            fprintf(stderr, "%s = %s: %s\n", settings[each][0], settings[each][1], strerror(-error));
    }
    if (error >= 0)
        error = fp_system_start(tap != NULL ? tap : "tap0", &config,
                                address != NULL ? address : "10.0.0.2", 24);
    return error;
}

/* Returns the result of a POSIX call and sets errno. Error numbers need no translation: both interfaces
 * have those of Linux. */
static ssize_t returned(int32_t result)
{
    if (result >= 0)
        return result;
    errno = -result;
    return -1;
}

static fp_socket_t socket_of(int fd)
{
    int at = fd - FULLPIPE_FD;
    return at >= 0 && at < DESCRIPTORS ? sockets[at] : 0;
}

/* Gives a socket a descriptor. The lock must be held. */
static int32_t descriptor(fp_socket_t opened)
{
    for (int at = 0; at < DESCRIPTORS && opened > 0; at++)
        if (sockets[at] == 0) {
            sockets[at] = opened;
            return FULLPIPE_FD + at;
        }
    if (opened > 0)
        fp_close(fp_system_stack, opened);
    return opened > 0 ? -FP_ENFILE : opened;
}

static struct fp_address read_address(const struct sockaddr *address)
{
    const struct sockaddr_in *in = (const struct sockaddr_in *)address;
    struct fp_address made = {.family = FP_IPV4, .port = ntohs(in->sin_port)};
    memcpy(made.ip, &in->sin_addr, 4);
    return made;
}

#define LOCKED(result, call)                                                                    \
    do {                                                                                        \
        fp_system_lock();                                                                       \
        result = call;                                                                          \
        fp_system_turn();                                                                       \
        fp_system_unlock();                                                                     \
    } while (0)

int fullpipe_socket(int domain, int type, int protocol)
{
    int32_t fd;
    (void)protocol;
    if (domain != AF_INET || (type != SOCK_STREAM && type != SOCK_DGRAM))
        return (int)returned(-FP_EAFNOSUPPORT);
    if (fp_system_stack == NULL && (fd = start()) < 0)
        return (int)returned(fd);
    LOCKED(fd, descriptor(fp_socket(fp_system_stack,
                                    type == SOCK_STREAM ? FP_SOCK_STREAM : FP_SOCK_DGRAM)));
    return (int)returned(fd);
}

int fullpipe_bind(int fd, const struct sockaddr *address, socklen_t len)
{
    struct fp_address local = read_address(address);
    int32_t error;
    (void)len;
    LOCKED(error, fp_bind(fp_system_stack, socket_of(fd), &local));
    return (int)returned(error);
}

int fullpipe_listen(int fd, int backlog)
{
    int32_t error;
    LOCKED(error, fp_listen(fp_system_stack, socket_of(fd), backlog));
    return (int)returned(error);
}

int fullpipe_accept(int fd, struct sockaddr *address, socklen_t *len)
{
    struct fp_address peer = {0};
    int32_t accepted;
    LOCKED(accepted, descriptor(fp_accept(fp_system_stack, socket_of(fd), &peer)));
    if (accepted >= 0 && address != NULL && len != NULL && *len >= sizeof(struct sockaddr_in)) {
        struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(peer.port)};
        memcpy(&in.sin_addr, peer.ip, 4);
        memcpy(address, &in, sizeof in);
        *len = sizeof in;
    }
    return (int)returned(accepted);
}

int fullpipe_connect(int fd, const struct sockaddr *address, socklen_t len)
{
    struct fp_address remote = read_address(address);
    int32_t error;
    (void)len;
    LOCKED(error, fp_connect(fp_system_stack, socket_of(fd), &remote));
    return (int)returned(error);
}

ssize_t fullpipe_send(int fd, const void *bytes, size_t len, int flags)
{
    int32_t count;
    /* fullpipe sends no signal for a write to a closed connection, so MSG_NOSIGNAL is not needed. */
    LOCKED(count, fp_send(fp_system_stack, socket_of(fd), bytes, len, flags & ~MSG_NOSIGNAL));
    return returned(count);
}

ssize_t fullpipe_recv(int fd, void *bytes, size_t len, int flags)
{
    int32_t count;
    LOCKED(count, fp_recv(fp_system_stack, socket_of(fd), bytes, len, flags));
    return returned(count);
}

int fullpipe_shutdown(int fd, int how)
{
    int32_t error;
    LOCKED(error, fp_shutdown(fp_system_stack, socket_of(fd), how));
    return (int)returned(error);
}

int fullpipe_setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
    int32_t error;
    LOCKED(error, fp_setsockopt(fp_system_stack, socket_of(fd), level, name, value, len));
    return (int)returned(error);
}

int fullpipe_close(int fd)
{
    int32_t error;
    if (socket_of(fd) == 0)
        return close(fd);
    LOCKED(error, fp_close(fp_system_stack, socket_of(fd)));
    sockets[fd - FULLPIPE_FD] = 0;
    return (int)returned(error);
}

ssize_t fullpipe_write(int fd, const void *bytes, size_t len)
{
    return socket_of(fd) == 0 ? write(fd, bytes, len) : fullpipe_send(fd, bytes, len, 0);
}

ssize_t fullpipe_read(int fd, void *bytes, size_t len)
{
    return socket_of(fd) == 0 ? read(fd, bytes, len) : fullpipe_recv(fd, bytes, len, 0);
}
