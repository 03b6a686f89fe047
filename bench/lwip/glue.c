/* Two hosts on one lwIP, with the calls of the trait in src/stack.rs.
 *
 * Rule: lwIP has one set of global variables, so both hosts are network interfaces of one
 * lwIP. A packet leaves by the interface that has its source address. The owner of the link
 * (stacks/lwip.rs) lends memory for each frame and sends the frame.
 */
#include <string.h>

#include "lwip/init.h"
#include "lwip/ip4.h"
#include "lwip/priv/tcp_priv.h"
#include "lwip/tcp.h"
#include "lwip/timeouts.h"
#include "lwip/udp.h"

#define PORT 7
/* Packets that fit into a queue: more than the segments of the largest window. */
#define QUEUE 4096

/* Implemented by the owner of the link. */
uint8_t *bench_lend(void *links, int end, size_t len);
void bench_send(void *links, int end, size_t len);

uint32_t bench_more_buffer;

/* Received packets that the application has not read completely. */
struct queue {
    struct pbuf *packets[QUEUE];
    size_t first, len;
    /* Bytes of the first packet that the application has read. */
    u16_t read;
};

struct stream {
    struct tcp_pcb *pcb;
    struct queue queue;
    int closed;
};

static struct netif interfaces[2];
static ip4_addr_t addresses[2];
static struct udp_pcb *udp[2];
static struct queue datagrams;
static struct stream *accepted;
static void *links;
static u32_t now_ms;

u32_t sys_now(void)
{
    return now_ms;
}

struct netif *bench_route(const struct ip4_addr *source)
{
    if (source != NULL && ip4_addr_cmp(source, &addresses[1]))
        return &interfaces[1];
    return &interfaces[0];
}

static void push(struct queue *queue, struct pbuf *packet)
{
    LWIP_ASSERT("room in the queue", queue->len < QUEUE);
    queue->packets[(queue->first + queue->len) % QUEUE] = packet;
    queue->len++;
}

static void pop(struct queue *queue)
{
    pbuf_free(queue->packets[queue->first]);
    queue->first = (queue->first + 1) % QUEUE;
    queue->len--;
    queue->read = 0;
}

static err_t output(struct netif *netif, struct pbuf *packet, const ip4_addr_t *next)
{
    int end = netif == &interfaces[1];
    uint8_t *frame = bench_lend(links, end, packet->tot_len);
    (void)next;
    if (frame == NULL)
        return ERR_MEM;
    pbuf_copy_partial(packet, frame, packet->tot_len, 0);
    bench_send(links, end, packet->tot_len);
    return ERR_OK;
}

static err_t start_interface(struct netif *netif)
{
    netif->mtu = 1500;
    netif->output = output;
    return ERR_OK;
}

static err_t on_received(void *arg, struct tcp_pcb *pcb, struct pbuf *packet, err_t err)
{
    struct stream *stream = arg;
    (void)pcb;
    (void)err;
    if (packet == NULL)
        stream->closed = 1;
    else
        push(&stream->queue, packet);
    return ERR_OK;
}

static void on_error(void *arg, err_t err)
{
    struct stream *stream = arg;
    (void)err;
    stream->pcb = NULL;
}

static struct stream *new_stream(struct tcp_pcb *pcb)
{
    struct stream *stream = malloc(sizeof *stream);
    LWIP_ASSERT("memory", stream != NULL);
    stream->pcb = pcb;
    stream->queue.first = stream->queue.len = 0;
    stream->queue.read = 0;
    stream->closed = 0;
    tcp_arg(pcb, stream);
    tcp_recv(pcb, on_received);
    tcp_err(pcb, on_error);
    return stream;
}

static err_t on_connected(void *arg, struct tcp_pcb *pcb, err_t err)
{
    (void)arg;
    (void)pcb;
    return err;
}

static err_t on_accepted(void *arg, struct tcp_pcb *pcb, err_t err)
{
    (void)arg;
    if (err == ERR_OK)
        accepted = new_stream(pcb);
    return err;
}

static void on_datagram(void *arg, struct udp_pcb *pcb, struct pbuf *packet,
                        const ip_addr_t *from, u16_t port)
{
    (void)arg;
    (void)pcb;
    (void)from;
    (void)port;
    push(&datagrams, packet);
}

static void start_hosts(void)
{
    struct tcp_pcb *listener;
    ip4_addr_t mask;
    int end;

    lwip_init();
    IP4_ADDR(&mask, 255, 255, 255, 0);
    for (end = 0; end < 2; end++) {
        IP4_ADDR(&addresses[end], 10, 0, 0, 1 + end);
        netif_add(&interfaces[end], &addresses[end], &mask, IP4_ADDR_ANY4, NULL,
                  start_interface, ip4_input);
        netif_set_up(&interfaces[end]);
        netif_set_link_up(&interfaces[end]);
        udp[end] = udp_new();
        udp_bind(udp[end], &addresses[end], PORT);
    }
    udp_recv(udp[1], on_datagram, NULL);
    listener = tcp_new();
    tcp_bind(listener, &addresses[1], PORT);
    listener = tcp_listen(listener);
    tcp_accept(listener, on_accepted);
}

/* Detaches a stream from its connection and frees it. */
static void free_stream(struct stream *stream)
{
    tcp_arg(stream->pcb, NULL);
    tcp_recv(stream->pcb, NULL);
    tcp_err(stream->pcb, NULL);
    while (stream->queue.len > 0)
        pop(&stream->queue);
    free(stream);
}

/* Starts both hosts in the first call. Aborts the connections of the previous case. */
void bench_start(void *new_links, uint32_t buffer)
{
    static int started;
    links = new_links;
    if (!started)
        start_hosts();
    started = 1;
    while (tcp_active_pcbs != NULL) {
        struct tcp_pcb *pcb = tcp_active_pcbs;
        if (pcb->callback_arg != NULL)
            free_stream(pcb->callback_arg);
        tcp_abort(pcb);
    }
    while (tcp_tw_pcbs != NULL)
        tcp_abort(tcp_tw_pcbs);
    while (datagrams.len > 0)
        pop(&datagrams);
    accepted = NULL;
    bench_more_buffer = buffer - 4096;
}

struct stream *bench_connect(void)
{
    struct tcp_pcb *pcb = tcp_new();
    struct stream *stream = new_stream(pcb);
    tcp_bind(pcb, &addresses[0], 0);
    LWIP_ASSERT("a route", tcp_connect(pcb, &addresses[1], PORT, on_connected) == ERR_OK);
    return stream;
}

struct stream *bench_accept(void)
{
    struct stream *stream = accepted;
    accepted = NULL;
    return stream;
}

size_t bench_write(struct stream *stream, const uint8_t *payload, size_t len)
{
    size_t room = tcp_sndbuf(stream->pcb);
    if (len > room)
        len = room;
    if (len == 0 || tcp_write(stream->pcb, payload, (u16_t)len, TCP_WRITE_FLAG_COPY) != ERR_OK)
        return 0;
    tcp_output(stream->pcb);
    return len;
}

/* Returns the number of bytes read, 0 if none have arrived, or -1 after the peer's last byte. */
ptrdiff_t bench_read(struct stream *stream, uint8_t *out, size_t len)
{
    struct queue *queue = &stream->queue;
    size_t done = 0;
    while (queue->len > 0 && done < len) {
        struct pbuf *packet = queue->packets[queue->first];
        u16_t count = (u16_t)(packet->tot_len - queue->read);
        if (count > len - done)
            count = (u16_t)(len - done);
        pbuf_copy_partial(packet, out + done, count, queue->read);
        done += count;
        queue->read = (u16_t)(queue->read + count);
        if (queue->read == packet->tot_len)
            pop(queue);
    }
    if (done > 0)
        tcp_recved(stream->pcb, (u16_t)done);
    return done == 0 && stream->closed ? -1 : (ptrdiff_t)done;
}

void bench_close(struct stream *stream)
{
    struct tcp_pcb *pcb = stream->pcb;
    free_stream(stream);
    LWIP_ASSERT("memory for a FIN", tcp_close(pcb) == ERR_OK);
}

int bench_send_datagram(const uint8_t *payload, size_t len)
{
    struct pbuf *packet = pbuf_alloc(PBUF_TRANSPORT, (u16_t)len, PBUF_RAM);
    err_t err;
    if (packet == NULL)
        return 0;
    pbuf_take(packet, payload, (u16_t)len);
    err = udp_sendto(udp[0], packet, &addresses[1], PORT);
    pbuf_free(packet);
    return err == ERR_OK;
}

/* Returns the length of the datagram, or -1 if there is none. */
ptrdiff_t bench_receive_datagram(uint8_t *out, size_t len)
{
    ptrdiff_t count;
    if (datagrams.len == 0)
        return -1;
    count = pbuf_copy_partial(datagrams.packets[datagrams.first], out, (u16_t)len, 0);
    pop(&datagrams);
    return count;
}

void bench_input(int end, const uint8_t *frame, size_t len)
{
    struct pbuf *packet = pbuf_alloc(PBUF_RAW, (u16_t)len, PBUF_POOL);
    if (packet == NULL)
        return;
    pbuf_take(packet, frame, (u16_t)len);
    if (interfaces[end].input(packet, &interfaces[end]) != ERR_OK)
        pbuf_free(packet);
}

void bench_timers(uint32_t now)
{
    now_ms = now;
    sys_check_timeouts();
}

uint32_t bench_sleep_ms(void)
{
    return sys_timeouts_sleeptime();
}
