/* Declarations of the hooks that lwipopts.h names. */
#ifndef BENCH_HOOKS_H
#define BENCH_HOOKS_H

struct netif;
struct ip4_addr;

/* Returns the interface of the host that has the address `source`. */
struct netif *bench_route(const struct ip4_addr *source);

#endif
