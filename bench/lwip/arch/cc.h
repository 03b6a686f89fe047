/* The compiler and the C library: what lwIP's default header does not know. */
#ifndef BENCH_ARCH_CC_H
#define BENCH_ARCH_CC_H

#include <stdlib.h>

#define LWIP_RAND() ((u32_t)rand())

#endif
