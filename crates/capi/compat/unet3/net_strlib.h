/* Conversion of addresses from text. */
#ifndef UNET3_NET_STRLIB_H
#define UNET3_NET_STRLIB_H

#include "kernel.h"

/* Converts a text such as "192.0.2.1" to an address, whose first byte is the highest. Returns 0 if the
 * text is not an address. */
UW ip_aton(const char *text);

#endif
