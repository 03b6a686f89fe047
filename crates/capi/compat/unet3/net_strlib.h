/* Texts of addresses. */
#ifndef UNET3_NET_STRLIB_H
#define UNET3_NET_STRLIB_H

#include "kernel.h"

/* Returns the address of a text such as "192.0.2.1", first byte highest; 0 if it is none. */
UW ip_aton(const char *text);

#endif
