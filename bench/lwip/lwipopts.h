/* Options of lwIP: no operating system, TCP and UDP over IPv4, checksums in software.
 *
 * The sizes of buffers are set at run time. In lwIP's checks of options, the preprocessor
 * replaces the variable by 0, so the checks see buffers of 4 KiB. Options that are not listed
 * have lwIP's defaults.
 */
#ifndef BENCH_LWIPOPTS_H
#define BENCH_LWIPOPTS_H

#include <stdint.h>

/* Bytes of the send buffer and of the receive window of a connection, less 4 KiB. */
extern uint32_t bench_more_buffer;
#define BENCH_BUFFER (4096 + bench_more_buffer)

#define NO_SYS 1
#define LWIP_SOCKET 0
#define LWIP_NETCONN 0
#define SYS_LIGHTWEIGHT_PROT 0
#define LWIP_ARP 0
#define LWIP_ETHERNET 0
#define LWIP_STATS 0
#define LWIP_ICMP 1
#define IP_REASSEMBLY 0
#define IP_FRAG 0
/* Two hosts share one lwIP, so the source address of a packet determines its route. */
#define LWIP_HOOK_FILENAME "hooks.h"
#define LWIP_HOOK_IP4_ROUTE_SRC(source, destination) bench_route(source)

/* Packet memory from malloc; control blocks from pools. */
#define MEM_LIBC_MALLOC 1
#define MEM_ALIGNMENT 8
/* More control blocks make `crr` slower: lwIP searches those in TIME-WAIT one by one. */
#define MEMP_NUM_TCP_PCB 64
#define MEMP_NUM_TCP_SEG 16384
#define MEMP_NUM_PBUF 16384
#define PBUF_POOL_SIZE 8192
#define PBUF_POOL_BUFSIZE 1536

#define TCP_MSS 1460
#define LWIP_WND_SCALE 1
#define TCP_RCV_SCALE 7
#define TCP_WND BENCH_BUFFER
#define TCP_SND_BUF BENCH_BUFFER
#define TCP_SND_QUEUELEN (4 * TCP_SND_BUF / TCP_MSS + 8)
#define TCP_SNDLOWAT (TCP_SND_BUF / 2)
#define TCP_SNDQUEUELOWAT (TCP_SND_QUEUELEN / 2)
#define LWIP_DISABLE_TCP_SANITY_CHECKS 1

/* Compute checksums while payload is copied to the send buffer. */
#define LWIP_CHECKSUM_ON_COPY 1

#endif
