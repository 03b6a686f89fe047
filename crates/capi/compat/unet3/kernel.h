/* The calls of a µITRON kernel that programs for uNet3 use, over threads of POSIX.
 *
 * The one rule: names, types and signs are such that a program for uNet3 compiles without a warning.
 * Priorities and sizes of stacks are accepted and ignored.
 */
#ifndef UNET3_KERNEL_H
#define UNET3_KERNEL_H

#include <stdint.h>

typedef int8_t B;
typedef int16_t H;
typedef int32_t W;
typedef uint8_t UB;
typedef uint16_t UH;
typedef uint32_t UW;
/* A character. */
typedef char VB;
typedef void *VP;
typedef intptr_t VP_INT;
typedef int INT;
typedef unsigned int UINT;
typedef int ER;
typedef int ER_ID;
typedef int ID;
typedef int PRI;
typedef unsigned int ATR;
typedef uint32_t RELTIM;
typedef int32_t TMO;
typedef unsigned int SIZE;
typedef void (*FP)(VP_INT exinf);

#define E_OK 0
#define E_SYS (-5)
#define E_PAR (-17)
#define E_ID (-18)
#define E_NOMEM (-33)
#define E_OBJ (-41)
#define E_TMOUT (-50)

#define TMO_POL 0
#define TMO_FEVR (-1)

#define TA_HLNG 0x00u
#define TA_ACT 0x02u
#define TA_FPU 0x100u

/* A task to be created. */
typedef struct t_ctsk {
    ATR tskatr;
    VP_INT exinf;
    FP task;
    PRI itskpri;
    SIZE stksz;
    VP stk;
    const char *name;
} T_CTSK;

/* Creates a task and, with TA_ACT, starts it. Returns its number, or an error. */
ER_ID acre_tsk(const T_CTSK *task);
/* Ends the task that calls. */
void ext_tsk(void);
/* Sleeps for some milliseconds. Returns E_TMOUT. */
ER tslp_tsk(TMO milliseconds);
ER dly_tsk(RELTIM milliseconds);

/* Settings of the serial port, which is the standard output here. */
typedef struct t_com_smod {
    UW baud;
} T_COM_SMOD;

#define ID_UART 1
#define STA_COM 1
#define SND_BRK 2

ER ini_com(ID port, const T_COM_SMOD *mode);
ER ctr_com(ID port, UH command, TMO time);
ER puts_com_opt(const VB *text);

#endif
