/* Definitions for the compiler and the C library that lwIP's default header lacks. */
#ifndef BENCH_ARCH_CC_H
#define BENCH_ARCH_CC_H

#include <stdlib.h>

#define LWIP_RAND() ((u32_t)rand())

#endif
