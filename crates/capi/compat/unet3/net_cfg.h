/* The configuration of the network: a program may define these macros before it includes this file;
 * otherwise they have the defaults below.
 *
 * The one rule: each macro is the value of one knob (setting) of fullpipe, which net_setup sets.
 */
#ifndef UNET3_NET_CFG_H
#define UNET3_NET_CFG_H

/* Send buffer of a TCP socket in bytes: tcp.send_buffer. */
#ifndef CFG_TCP_SND_WND
#define CFG_TCP_SND_WND 1024
#endif

/* Receive window of a TCP socket in bytes: tcp.receive_buffer. */
#ifndef CFG_TCP_RCV_WND
#define CFG_TCP_RCV_WND 1024
#endif

/* Largest number of datagrams in the receive queue of a UDP socket: udp.receive_queue. */
#ifndef CFG_PKT_RCV_QUE
#define CFG_PKT_RCV_QUE 1
#endif

/* Number of receive descriptors of the Ethernet controller. The driver can pass at most this many frames
 * at once, so the macro sets the frames of one turn: stack.turn_budget. */
#ifndef ETH1_RXDESC_CNT
#define ETH1_RXDESC_CNT 4
#endif

/* Address of this host, and length of its network prefix in bits. */
#ifndef CFG_IP_ADDRESS
#define CFG_IP_ADDRESS "172.16.0.95"
#endif
#ifndef CFG_IP_PREFIX
#define CFG_IP_PREFIX 24
#endif

#endif
