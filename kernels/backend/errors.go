package backend

/*
#cgo nocallback t_error
#include "table.h"
*/
import "C"

import "boost-tui/kernels"

// sentinel is the error of package kernels that a status stands for.
func sentinel(s C.bt_status) error {
	switch s {
	case C.BT_EINVAL:
		return kernels.ErrInvalid
	case C.BT_ENOMEM:
		return kernels.ErrNoMemory
	case C.BT_ECOMM:
		return kernels.ErrComm
	case C.BT_EABORTED:
		return kernels.ErrAborted
	case C.BT_EUNSUPPORTED:
		return kernels.ErrUnsupported
	default:
		return kernels.ErrDevice
	}
}

// fail turns the status of a call on the context into an error.
func (d *Device) fail(op string, label kernels.Label, s C.bt_status) error {
	if s == C.BT_OK {
		return nil
	}
	return &kernels.Error{Backend: d.o.Name, Op: op, Label: label, Msg: C.GoString(C.t_error(d.api, d.ctx)), Err: sentinel(s)}
}

func (d *Device) invalid(op string, label kernels.Label, msg string) error {
	return &kernels.Error{Backend: d.o.Name, Op: op, Label: label, Msg: msg, Err: kernels.ErrInvalid}
}

func (d *Device) unsupported(op string, label kernels.Label, msg string) error {
	return &kernels.Error{Backend: d.o.Name, Op: op, Label: label, Msg: msg, Err: kernels.ErrUnsupported}
}

// closed is the error of any call after Close.
func (d *Device) closed(op string) error {
	if d.ctx == nil {
		return d.invalid(op, kernels.Label{}, "the device was closed")
	}
	return nil
}
