/* driver.c - what is asked of NVIDIA's driver, with CARDS cards, for the tests of who asks; AT_ONCE is done when it is opened. */
#include <stdlib.h>

#ifndef AT_ONCE
#define AT_ONCE
#endif
#ifndef CARDS
#define CARDS 2
#endif
__attribute__((constructor)) static void at_once(void) { AT_ONCE; }
int cuInit(unsigned flags) { return (void)flags, 0; }
int cuDriverGetVersion(int *version) { return *version = 13000, 0; }
int cuDeviceGetCount(int *count) { return *count = CARDS, 0; }
