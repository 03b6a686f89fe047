/* The calls of NetBurner's TCP, over fullpipe's.
 *
 * The one rule: names are NetBurner's. A name that the C library also has is a macro for another name,
 * so that a program can be linked with both.
 */
#ifndef FULLPIPE_NETBURNER_H
#define FULLPIPE_NETBURNER_H

#include <stdint.h>

typedef uint32_t IPADDR;

/* Number of buffers in the pool. */
#define NETBURNER_BUFFERS 256
/* Bytes of a buffer. */
#define ETHER_BUFFER_SIZE 1548
#define ETHER_PAYLOAD 1500

#define TCP_ERR_NORMAL 0
#define TCP_ERR_TIMEOUT (-1)
#define TCP_ERR_NOCON (-2)
#define TCP_ERR_CLOSING (-3)
#define TCP_ERR_NOSUCH_SOCKET (-4)
#define TCP_ERR_NONE_AVAIL (-5)
#define TCP_ERR_CON_RESET (-6)
#define TCP_ERR_CON_ABORT (-7)

/* Options of setsockoption and clrsockoption. */
#define SO_DEBUG_NETBURNER 1
#define SO_NONAGLE 2
#define SO_NOPUSH 4

/* Starts the stack of this program on a TAP device. Returns 0 or a negative error number. */
int netburner_start(const char *tap, const char *address, unsigned prefix_len);

/* Returns the number of free buffers in the pool. */
uint16_t GetFreeCount(void);

/* Sets how many buffers each queue of a socket may use. Returns 0 or TCP_ERR_... . */
int SetSocketRxBuffers(int fd, int buffers);
int SetSocketTxBuffers(int fd, int buffers);
int SetSocketUnackBuffers(int fd, int buffers);
int SetOutOfOrderBuffers(int fd, int buffers);

int setsockoption(int fd, int option);
int clrsockoption(int fd, int option);
/* Returns the options that are set. */
int getsockoption(int fd);

/* Connects to a port. `ticks` is the longest wait in units of 50 ms, 0 for no limit. Returns a socket or
 * TCP_ERR_... . */
int netburner_connect(IPADDR address, uint16_t local_port, uint16_t port, uint32_t ticks);
int netburner_listen(IPADDR address, uint16_t port, uint8_t most);
int netburner_accept(int fd, IPADDR *address, uint16_t *port, uint16_t ticks);
/* Waits until at least one byte can be read, and reads. Returns 0 at the end of the stream. */
int netburner_read(int fd, char *buffer, int bytes);
/* Waits until at least one byte can be written, and writes as much as the transmit buffers accept. */
int netburner_write(int fd, const char *buffer, int bytes);
/* Writes everything. */
int writeall(int fd, const char *buffer, int bytes);
int netburner_close(int fd);
/* Returns 1 if something can be read. */
int dataavail(int fd);

#ifndef NETBURNER_KEEP_NAMES
#define connect netburner_connect
#define listen netburner_listen
#define accept netburner_accept
#define read netburner_read
#define write netburner_write
#define close netburner_close
#endif

#endif
