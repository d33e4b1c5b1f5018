/* api.h - what Go calls beside the table of the backend: the BLAS that is opened at run time, groups on several hosts. */
#ifndef BT_API_H
#define BT_API_H
#include "table.h"

const bt_api *bt_cpu_backend(void);

/* segment.c: a new segment, as a file descriptor; negative errno on failure. */
int bt_segment_new(void);

/* blas.c: opens a CBLAS library; path receives where it was found, version what it says of itself. NULL with the reason in err. */
typedef struct {
  char path[1024], version[256];
} bt_blas_info;
void *bt_blas_open(const char *name, bt_blas_info *info, char *err, size_t errlen);
void bt_blas_close(void *library);
/* Products of every context run on the library from now on. It must have one thread per call: the device splits products itself. */
int bt_blas_use(void *library, char *err, size_t errlen);

/* comm.c, collective.c: of what a group on several hosts is made, on each of them. The members of this host come together
 * and tell what they are about to do; then each can reach the others' operands; in the end they come together again. */
uint64_t bt_host_identity(bt_ctx *);
bt_status bt_comm_enter(bt_comm *, const bt_coll *, uint64_t *wait_ns, char *err);
bt_status bt_comm_barrier(bt_comm *, char *err); /* waits until every member has come */
void *bt_comm_peer(bt_comm *, int part, int dst, int rank, uint64_t bytes, char *err);
void bt_comm_break(bt_comm *, bt_status, const char *text); /* makes it fail for every member */
/* dst becomes the reduction of n arrays, or of itself and another. */
void bt_combine(bt_ctx *, float *dst, float *const *x, int n, uint64_t count, int reduce);
void bt_combine_two(bt_ctx *, float *dst, float *src, uint64_t count, int reduce);

#endif
