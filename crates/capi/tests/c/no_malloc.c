/* Replaces malloc and its relatives: with `--wrap` the linker redirects the library's calls to this file.
 *
 * The one rule: the library allocates nothing outside of its arenas, so any call of them is a failure.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#define WRAPPED(name, arguments)                                    \
    void *__wrap_##name arguments;                                  \
    void *__wrap_##name arguments                                   \
    {                                                               \
        fprintf(stderr, "the library called %s\n", #name);          \
        abort();                                                    \
    }

WRAPPED(malloc, (size_t size __attribute__((unused))))
WRAPPED(calloc, (size_t count __attribute__((unused)), size_t size __attribute__((unused))))
WRAPPED(realloc, (void *block __attribute__((unused)), size_t size __attribute__((unused))))
WRAPPED(posix_memalign, (void **block __attribute__((unused)), size_t align __attribute__((unused)),
                         size_t size __attribute__((unused))))
WRAPPED(aligned_alloc, (size_t align __attribute__((unused)), size_t size __attribute__((unused))))
