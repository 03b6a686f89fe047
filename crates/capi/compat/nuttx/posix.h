/* The socket calls of POSIX, over fullpipe: compile the files of a program with `-include posix.h`, and
 * link posix.c and system.c, which must be compiled without this flag.
 *
 * The one rule: the source of the program is not changed. Descriptors of fullpipe are numbers from
 * FULLPIPE_FD on; calls with any other descriptor go to the C library.
 */
#ifndef FULLPIPE_POSIX_H
#define FULLPIPE_POSIX_H

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#define FULLPIPE_FD 10000

int fullpipe_socket(int domain, int type, int protocol);
int fullpipe_bind(int fd, const struct sockaddr *address, socklen_t len);
int fullpipe_listen(int fd, int backlog);
int fullpipe_accept(int fd, struct sockaddr *address, socklen_t *len);
int fullpipe_connect(int fd, const struct sockaddr *address, socklen_t len);
ssize_t fullpipe_send(int fd, const void *bytes, size_t len, int flags);
ssize_t fullpipe_recv(int fd, void *bytes, size_t len, int flags);
int fullpipe_shutdown(int fd, int how);
int fullpipe_setsockopt(int fd, int level, int name, const void *value, socklen_t len);
int fullpipe_close(int fd);
ssize_t fullpipe_write(int fd, const void *bytes, size_t len);
ssize_t fullpipe_read(int fd, void *bytes, size_t len);

#ifndef FULLPIPE_KEEP_NAMES
#define socket fullpipe_socket
#define bind fullpipe_bind
#define listen fullpipe_listen
#define accept fullpipe_accept
#define connect fullpipe_connect
#define send fullpipe_send
#define recv fullpipe_recv
#define shutdown fullpipe_shutdown
#define setsockopt fullpipe_setsockopt
#define close fullpipe_close
#define write fullpipe_write
#define read fullpipe_read
#endif

#endif
