package cpu

/*
#cgo nocallback t_error
#include "api.h"
*/
import "C"

import (
	"syscall"

	"boost-tui/kernels"
)

func syscallErrno(e C.int) error { return syscall.Errno(e) }

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
	return &kernels.Error{Backend: "cpu", Op: op, Label: label, Msg: C.GoString(C.t_error(d.api, d.ctx)), Err: sentinel(s)}
}

func invalid(op string, label kernels.Label, msg string) error {
	return &kernels.Error{Backend: "cpu", Op: op, Label: label, Msg: msg, Err: kernels.ErrInvalid}
}

// closed is the error of any call after Close.
func (d *Device) closed(op string) error {
	if d.ctx == nil {
		return &kernels.Error{Backend: "cpu", Op: op, Msg: "the device was closed", Err: kernels.ErrInvalid}
	}
	return nil
}
