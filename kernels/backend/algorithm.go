package backend

/*
#cgo noescape t_algorithm
#cgo nocallback t_algorithm
#include "table.h"
*/
import "C"

import "boost-tui/kernels"

// Algorithm makes all products that are like this one, from now on, by one of the count algorithms that the device's library has
// for them; 0 is the usual one. For measurements: ranks of a run must compute alike.
func (d *Device) Algorithm(g *kernels.Gemm, which int) (count int, err error) {
	if err := d.ready(kernels.Call{}, g); err != nil {
		return 0, err
	}
	d.gemm(g)
	var n C.int32_t
	if s := C.t_algorithm(d.api, d.ctx, &d.op, C.int32_t(which), &n); s != C.BT_OK {
		return int(n), d.fail("algorithm", kernels.Label{}, s)
	}
	return int(n), nil
}
