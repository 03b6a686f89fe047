/* The socket calls of uNet3, over fullpipe's.
 *
 * The one rule: each call takes the lock of the stack and makes one call of fullpipe.
 */
#ifndef UNET3_NET_HDR_H
#define UNET3_NET_HDR_H

#include "kernel.h"

#define IP_PROTO_TCP 6
#define IP_PROTO_UDP 17

#define IP_VER4 0
#define INADDR_ANY 0u
#define PORT_ANY 0

/* Roles of con_soc. */
#define SOC_CLI 1
#define SOC_SER 2

/* Codes of cls_soc. */
#define SOC_TCP_CLS 0
#define SOC_TCP_SHT 1

/* Codes of cfg_soc. Values are longest waits of calls in milliseconds, or sizes of buffers in bytes. */
#define SOC_TMO_CON 1
#define SOC_TMO_CLS 2
#define SOC_TMO_SND 3
#define SOC_TMO_RCV 4
#define SOC_SND_WND 16
#define SOC_RCV_WND 17

typedef UH SID;

/* Address and port of an end of a connection. */
typedef struct t_node {
    UH port;
    UB ver;
    UB num;
    UW ipa;
} T_NODE;

/* Starts the stack of this program. Returns E_OK or an error. */
ER net_setup(void);
/* Opens a socket of a protocol with a local address. Returns its number, or an error. */
ER cre_soc(UB protocol, const T_NODE *host);
/* With SOC_CLI, connects to `remote`; with SOC_SER, waits for a connection. For a UDP socket `role` is 0,
 * and `remote` becomes the destination. */
ER con_soc(SID sid, const T_NODE *remote, UB role);
/* Ends the connection of a socket. */
ER cls_soc(SID sid, UB code);
ER del_soc(SID sid);
/* Sets an option (SOC_...); `value` is a number. */
ER cfg_soc(SID sid, UB code, VP value);
/* Sends or receives. Returns the number of bytes, 0 at the end of a connection, or an error. */
ER snd_soc(SID sid, VP data, UH len);
ER rcv_soc(SID sid, VP data, UH len);

#endif
