/* uNet3's calls on Linux: a task is a thread, and the network is a TAP device whose name is in the
 * environment variable UNET3_TAP.
 *
 * The one rule: each call only translates its arguments and passes them to fullpipe.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "kernel.h"
#include "net_cfg.h"
#include "net_hdr.h"
#include "net_strlib.h"
#include "system.h"

#define SOCKETS 32

/* The sockets of uNet3. */
static struct {
    fp_socket_t socket;
    UB protocol;
    UB used;
    /* Destination of a UDP socket. */
    struct fp_address remote;
} sockets[SOCKETS];

static const char *text_of(long number)
{
    static char text[24];
    snprintf(text, sizeof text, "%ld", number);
    return text;
}

ER net_setup(void)
{
    const char *tap = getenv("UNET3_TAP");
    struct fp_config config;
    int error = fp_config_init(&config, "unet3");
    const struct {
        const char *knob;
        long value;
    } settings[] = {{"CFG_TCP_SND_WND", CFG_TCP_SND_WND},
                    {"CFG_TCP_RCV_WND", CFG_TCP_RCV_WND},
                    {"CFG_PKT_RCV_QUE", CFG_PKT_RCV_QUE},
                    {"stack.turn_budget", ETH1_RXDESC_CNT}};
    for (size_t each = 0; each < sizeof settings / sizeof *settings && error >= 0; each++)
        error = fp_config_set(&config, settings[each].knob, text_of(settings[each].value));
    if (error >= 0)
        error = fp_system_start(tap != NULL ? tap : "tap0", &config, CFG_IP_ADDRESS,
                                CFG_IP_PREFIX);
    if (error < 0)
        fprintf(stderr, "net_setup: %s\n", strerror(-error));
    return error < 0 ? E_SYS : E_OK;
}

static struct fp_address address_of(const T_NODE *node)
{
    struct fp_address address = {.family = FP_IPV4, .port = node->port};
    for (int byte = 0; byte < 4; byte++)
        address.ip[byte] = (uint8_t)(node->ipa >> (24 - 8 * byte));
    return address;
}

/* Returns uNet3's error code for an error number of fullpipe. */
static ER error_of(int32_t result)
{
    switch (-result) {
    case FP_EAGAIN:
    case FP_ETIMEDOUT:
        return E_TMOUT;
    case FP_EBADF:
        return E_ID;
    case FP_ENFILE:
    case FP_ENOMEM:
        return E_NOMEM;
    case FP_EINVAL:
    case FP_ERANGE:
    case FP_EFAULT:
        return E_PAR;
    default:
        return E_OBJ;
    }
}

static fp_socket_t socket_of(SID sid)
{
    return sid >= 1 && sid <= SOCKETS && sockets[sid - 1].used ? sockets[sid - 1].socket : -1;
}

ER cre_soc(UB protocol, const T_NODE *host)
{
    struct fp_address local;
    int32_t kind = protocol == IP_PROTO_TCP ? FP_SOCK_STREAM : FP_SOCK_DGRAM;
    fp_socket_t opened;
    int at = 0, error;
    if (host == NULL || (protocol != IP_PROTO_TCP && protocol != IP_PROTO_UDP))
        return E_PAR;
    local = address_of(host);
    fp_system_lock();
    while (at < SOCKETS && sockets[at].used)
        at++;
    opened = at < SOCKETS ? fp_socket(fp_system_stack, kind) : -FP_ENFILE;
    error = opened;
    if (opened > 0 && (error = fp_bind(fp_system_stack, opened, &local)) >= 0) {
        sockets[at].used = 1;
        sockets[at].protocol = protocol;
        sockets[at].socket = opened;
        memset(&sockets[at].remote, 0, sizeof sockets[at].remote);
    } else if (opened > 0) {
        fp_close(fp_system_stack, opened);
    }
    fp_system_unlock();
    return error < 0 ? error_of(error) : at + 1;
}

/* Listens at the address of a socket, and waits for the first connection. */
static int32_t serve(SID sid)
{
    fp_socket_t listener = sockets[sid - 1].socket, accepted;
    int32_t error = fp_listen(fp_system_stack, listener, 1);
    if (error < 0)
        return error;
    accepted = fp_accept(fp_system_stack, listener, NULL);
    if (accepted < 0)
        return accepted;
    fp_close(fp_system_stack, listener);
    sockets[sid - 1].socket = accepted;
    return 0;
}

/* Sets the destination of a UDP socket. The socket still receives datagrams from every peer. */
static int32_t set_remote(SID sid, struct fp_address remote)
{
    sockets[sid - 1].remote = remote;
    return 0;
}

ER con_soc(SID sid, const T_NODE *remote, UB role)
{
    struct fp_address address;
    int32_t error = -FP_EBADF;
    if (remote == NULL)
        return E_PAR;
    address = address_of(remote);
    fp_system_lock();
    if (socket_of(sid) >= 0 && role == SOC_SER)
        error = serve(sid);
    else if (socket_of(sid) >= 0 && sockets[sid - 1].protocol == IP_PROTO_UDP)
        error = set_remote(sid, address);
    else if (socket_of(sid) >= 0)
        error = fp_connect(fp_system_stack, socket_of(sid), &address);
    fp_system_turn();
    fp_system_unlock();
    return error < 0 ? error_of(error) : E_OK;
}

ER cls_soc(SID sid, UB code)
{
    int32_t error;
    (void)code;
    fp_system_lock();
    error = fp_shutdown(fp_system_stack, socket_of(sid), FP_SHUT_WR);
    fp_system_turn();
    fp_system_unlock();
    return error < 0 ? error_of(error) : E_OK;
}

ER del_soc(SID sid)
{
    int32_t error;
    fp_system_lock();
    error = fp_close(fp_system_stack, socket_of(sid));
    if (error >= 0)
        sockets[sid - 1].used = 0;
    fp_system_turn();
    fp_system_unlock();
    return error < 0 ? error_of(error) : E_OK;
}

ER cfg_soc(SID sid, UB code, VP value)
{
    uint32_t number = (uint32_t)(VP_INT)value;
    int32_t name, error;
    switch (code) {
    case SOC_TMO_CON:
    case SOC_TMO_SND:
        name = FP_SO_SNDTIMEO;
        break;
    case SOC_TMO_RCV:
        name = FP_SO_RCVTIMEO;
        break;
    case SOC_SND_WND:
        name = FP_SO_SNDBUF;
        break;
    case SOC_RCV_WND:
        name = FP_SO_RCVBUF;
        break;
    case SOC_TMO_CLS:
        /* Nothing to set: closing never waits. */
        return E_OK;
    default:
        return E_PAR;
    }
    if (number == (uint32_t)TMO_FEVR)
        number = 0;
    fp_system_lock();
    error = fp_setsockopt(fp_system_stack, socket_of(sid), FP_SOL_SOCKET, name, &number,
                          sizeof number);
    fp_system_unlock();
    return error < 0 ? error_of(error) : E_OK;
}

ER snd_soc(SID sid, VP data, UH len)
{
    int32_t result;
    int to_remote;
    fp_system_lock();
    to_remote = socket_of(sid) >= 0 && sockets[sid - 1].remote.family == FP_IPV4;
    result = fp_sendto(fp_system_stack, socket_of(sid), data, len, 0,
                       to_remote ? &sockets[sid - 1].remote : NULL);
    fp_system_turn();
    fp_system_unlock();
    return result < 0 ? error_of(result) : result;
}

ER rcv_soc(SID sid, VP data, UH len)
{
    int32_t result;
    fp_system_lock();
    result = fp_recv(fp_system_stack, socket_of(sid), data, len, 0);
    fp_system_unlock();
    return result < 0 ? error_of(result) : result;
}

UW ip_aton(const char *text)
{
    struct fp_address address;
    if (fp_parse_address(text, 0, &address) < 0 || address.family != FP_IPV4)
        return 0;
    return (UW)address.ip[0] << 24 | (UW)address.ip[1] << 16 | (UW)address.ip[2] << 8 |
           address.ip[3];
}

static void *run_task(void *argument)
{
    T_CTSK task = *(T_CTSK *)argument;
    free(argument);
    task.task(task.exinf);
    return NULL;
}

ER_ID acre_tsk(const T_CTSK *task)
{
    static ER_ID last;
    pthread_t thread;
    T_CTSK *copy = malloc(sizeof *copy);
    if (copy == NULL)
        return E_NOMEM;
    *copy = *task;
    if (pthread_create(&thread, NULL, run_task, copy) != 0) {
        free(copy);
        return E_NOMEM;
    }
    pthread_detach(thread);
    return ++last;
}

void ext_tsk(void)
{
    pthread_exit(NULL);
}

ER tslp_tsk(TMO milliseconds)
{
    struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
    nanosleep(&time, NULL);
    return E_TMOUT;
}

ER dly_tsk(RELTIM milliseconds)
{
    tslp_tsk((TMO)milliseconds);
    return E_OK;
}

ER ini_com(ID port, const T_COM_SMOD *mode)
{
    (void)mode;
    return port == ID_UART ? E_OK : E_ID;
}

ER ctr_com(ID port, UH command, TMO time)
{
    (void)command;
    (void)time;
    return port == ID_UART ? E_OK : E_ID;
}

ER puts_com_opt(const VB *text)
{
    ssize_t written = write(STDOUT_FILENO, text, strlen(text));
    return written < 0 ? E_SYS : E_OK;
}
