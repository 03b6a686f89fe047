/* A program's stack (10.0.0.1) and its peer (10.0.0.2) on a simulated cable. */
#ifndef CABLE_SYSTEM_H
#define CABLE_SYSTEM_H

#include "cable.h"
#include "system.h"

/* Virtual time that passes with a turn in which a frame was sent or received. */
#define CABLE_TURN_US 100

extern struct cable_host cable_local, cable_peer;
extern uint64_t cable_now_us;

/* The peer's program, written by the test. Returns nonzero if it did something. */
int peer_step(void);

/* Advances the time by `time_us`, with all turns that are due. */
void cable_wait_us(uint64_t time_us);

/* Ends both stacks and checks their arenas. */
void cable_end(void);

#endif
