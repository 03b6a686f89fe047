/* The configuration of the network: macros that a program may define before, and their defaults.
 *
 * The one rule: each macro is a knob of fullpipe. net_setup sets them.
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

/* Datagrams that a UDP socket keeps: udp.receive_queue. */
#ifndef CFG_PKT_RCV_QUE
#define CFG_PKT_RCV_QUE 1
#endif

/* Receive descriptors of the Ethernet controller, which bound the frames that the driver passes on at
 * once: stack.turn_budget. */
#ifndef ETH1_RXDESC_CNT
#define ETH1_RXDESC_CNT 4
#endif

/* Address of this host and bits of its network. */
#ifndef CFG_IP_ADDRESS
#define CFG_IP_ADDRESS "172.16.0.95"
#endif
#ifndef CFG_IP_PREFIX
#define CFG_IP_PREFIX 24
#endif

#endif
