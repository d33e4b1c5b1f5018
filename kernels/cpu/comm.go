package cpu

/*
#include "api.h"
*/
import "C"

import (
	"context"

	"boost-tui/kernels"
	"boost-tui/kernels/wire"
)

// UID implements kernels.Device. With a network the identity says where this device can be reached.
func (d *Device) UID() (kernels.UID, error) {
	if d.node == nil || d.Context() == nil {
		return d.Device.UID()
	}
	v, err := d.node.Invite()
	if err != nil {
		return kernels.UID{}, &kernels.Error{Backend: backendName, Op: "uid", Msg: err.Error(), Err: kernels.ErrComm}
	}
	var u kernels.UID
	copy(u[:], v.Bytes())
	return u, nil
}

// Join implements kernels.Device. Members share this device's segment, or reach each other by the network.
func (d *Device) Join(ctx context.Context, id kernels.UID, n, rank int, name string) (kernels.Comm, error) {
	if v, ok := wire.ParseInvitation(id[:]); ok && d.Context() != nil {
		return d.joinAcross(ctx, v, n, rank, name)
	}
	return d.Device.Join(ctx, id, n, rank, name)
}

// across does a message of a group on several hosts: between two members of this one the table does it.
func (d *Device) across(c kernels.Call, a *across, e kernels.Message) error {
	if err := d.Ready(c, e); err != nil {
		return err
	}
	coll, err := d.Message(c, e)
	if err != nil {
		return err
	}
	o := (*C.bt_coll)(coll)
	if comm, ok := a.here(o); ok {
		return d.Deliver(c, e.Name(), comm, coll)
	}
	return d.call(c, a, e.Name(), o)
}
