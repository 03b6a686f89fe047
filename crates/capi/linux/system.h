/* A stack on Linux for programs in C: a TAP device, a thread that turns the stack, and a lock.
 *
 * The one rule: a thread holds the lock during every call on the stack. A call that waits releases the
 * lock while it waits.
 */
#ifndef FULLPIPE_SYSTEM_H
#define FULLPIPE_SYSTEM_H

#include "fullpipe.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The stack of this program; NULL before fp_system_start. */
extern fp_stack *fp_system_stack;

/* Opens the TAP device `name`, and starts a stack with `address` in a network of `prefix_len` bits.
 * Returns 0, or a negative error number. */
int fp_system_start(const char *name, const struct fp_config *config, const char *address,
                    unsigned prefix_len);

/* Takes and releases the lock of the stack. */
void fp_system_lock(void);
void fp_system_unlock(void);

/* Runs a turn, which sends what previous calls have written. The lock must be held. */
void fp_system_turn(void);

/* Returns the time of the stack's clock, in microseconds. */
uint64_t fp_system_now_us(void);

#ifdef __cplusplus
}
#endif

#endif
