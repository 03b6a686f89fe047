/* iperf -c: sends 16,384 bytes at a time for some seconds, and prints the rate of each interval.
 *
 *     iperf_client ADDRESS [SECONDS [INTERVAL [PORT]]]
 *
 * The one rule: the program uses only POSIX calls, so it compiles for any system with sockets, and with
 * `-include posix.h` for fullpipe.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define WRITE_LEN 16384

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void report(double from, double to, uint64_t bytes)
{
    printf("%6.2f-%6.2f sec, %7.2f Mbits/sec\n", from, to, (double)bytes * 8 / 1e6 / (to - from));
    fflush(stdout);
}

/* Connects to `address` and returns the socket, or -1. */
static int open_connection(const char *address, int port)
{
    struct sockaddr_in peer;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0) {
        perror("socket");
        return -1;
    }
    memset(&peer, 0, sizeof peer);
    peer.sin_family = AF_INET;
    peer.sin_port = htons((uint16_t)port);
    if (inet_pton(AF_INET, address, &peer.sin_addr) != 1 ||
        connect(fd, (const struct sockaddr *)&peer, sizeof peer) < 0) {
        perror(address);
        close(fd);
        return -1;
    }
    return fd;
}

/* Sends for `seconds`. Returns the number of bytes sent, or -1. */
static int64_t run(int fd, double seconds, double interval)
{
    static uint8_t block[WRITE_LEN];
    double start = now(), mark = start, at = start;
    uint64_t total = 0, marked = 0;
    for (size_t each = 0; each < sizeof block; each++)
        block[each] = (uint8_t)('0' + each % 10);
    /* The header of iperf 2, with no flag set. */
    memset(block, 0, 24);
    while (at - start < seconds) {
        ssize_t count = send(fd, block, sizeof block, 0);
        if (count < 0) {
            perror("send");
            return -1;
        }
        total += (uint64_t)count;
        at = now();
        if (at - mark >= interval) {
            report(mark - start, at - start, total - marked);
            mark = at;
            marked = total;
        }
    }
    report(0, at - start, total);
    return (int64_t)total;
}

int main(int count, char **arguments)
{
    double seconds = count > 2 ? atof(arguments[2]) : 30;
    double interval = count > 3 ? atof(arguments[3]) : 3;
    int fd, port = count > 4 ? atoi(arguments[4]) : 5001;
    int64_t sent;
    char byte;
    if (count < 2) {
        fprintf(stderr, "usage: %s ADDRESS [SECONDS [INTERVAL [PORT]]]\n", arguments[0]);
        return 2;
    }
    fd = open_connection(arguments[1], port);
    if (fd < 0)
        return 1;
    sent = run(fd, seconds, interval);
    /* Wait until the server closes its direction: everything has arrived then. */
    shutdown(fd, SHUT_WR);
    while (recv(fd, &byte, 1, 0) > 0)
        ;
    close(fd);
    printf("%lld bytes\n", (long long)sent);
    return sent < 0;
}
