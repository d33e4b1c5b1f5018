package trainer

import (
	"context"
	"fmt"
	"os"
	"time"

	"boost-tui/experiment"
	"boost-tui/kernels"
	"boost-tui/kernels/cpu"
	"boost-tui/kernels/wire"
	"boost-tui/runner/protocol"
	"boost-tui/trainer/devices"
	"boost-tui/trainer/rendezvous"
)

// opener opens the device that a rank computes on.
type opener func(protocol.RankSpec) (kernels.Device, error)

// openDevice opens the device that the experiment names.
func openDevice(spec protocol.RankSpec) (kernels.Device, error) {
	at := devices.Place{Rank: spec.LocalRank, World: spec.LocalWorld}
	say := func(format string, args ...any) { // into the rank's log
		fmt.Printf("rank %d: %s\n", spec.Rank, fmt.Sprintf(format, args...))
	}
	switch spec.Experiment.Step.Device {
	case experiment.DeviceCUDA:
		return devices.OpenCUDA(at)
	case experiment.DeviceEmu:
		if spec.LocalWorld != spec.World {
			return nil, fmt.Errorf("the emulated device is for one host, and %d of %d ranks are on this one: use --device cpu", spec.LocalWorld, spec.World)
		}
		return devices.OpenEmulated(context.Background(), at, say)
	}
	o := cpu.Options{World: spec.LocalWorld, Rank: spec.LocalRank, Threads: spec.Threads}
	l, err := experiment.ParseLink(spec.Experiment.Parallel.Link)
	if err != nil {
		return nil, err
	}
	o.Link = kernels.Link(l)
	if spec.Address != "" {
		version, err := rendezvous.BinaryHash()
		if err != nil {
			return nil, err
		}
		silence := time.Duration(spec.Experiment.Where.HeartbeatTimeout) * time.Second
		o.Network = &wire.Options{Secret: spec.Secret, Address: spec.Address, Version: version, Silence: silence, Say: say}
	}
	if spec.SegmentFD != protocol.NoFD {
		o.Segment = os.NewFile(uintptr(spec.SegmentFD), "segment")
		defer o.Segment.Close() // the device works on a duplicate
	}
	d, err := cpu.Open(o)
	if err != nil {
		return nil, fmt.Errorf("open the cpu device: %w", err)
	}
	return d, nil
}
