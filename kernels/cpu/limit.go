package cpu

import (
	"fmt"
	"syscall"
)

// leastAddressSpace is what a process must be allowed for a library to be loaded, in bytes. OpenBLAS maps buffers and
// starts threads without a look at whether that worked: it waits for good, or crashes, where it did not.
const leastAddressSpace = 4 << 30

// roomForBLAS says why a library cannot be loaded where address space is limited; nil: it can.
func roomForBLAS() error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_AS, &limit); err != nil || limit.Cur >= leastAddressSpace {
		return nil
	}
	return fmt.Errorf("address space is limited to %d MiB (ulimit -v) and a CBLAS library needs %d", limit.Cur>>20, leastAddressSpace>>20)
}
