package export

import (
	"cmp"
	"slices"
	"strings"

	"boost-tui/experiment"
)

// backends names what carried the messages of the runs, each once: NCCL on GPUs and nowhere else. Names of single messages begin with
// nccl whatever carried them, for readers sort by that.
func backends(runs []*run) string {
	var names []string
	for _, r := range runs {
		name := "boost-tui " + cmp.Or(r.Plan.Device, experiment.DeviceCPU)
		switch r.Plan.Device {
		case experiment.DeviceCUDA:
			name = "nccl"
		case experiment.DeviceEmu:
			name = "emulated nccl"
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// emulatedDevice is the device whose times are not the machine's; empty: they are.
func (r *run) emulatedDevice() string {
	if r.Plan.Device == experiment.DeviceEmu {
		return r.Plan.Device
	}
	return ""
}

// linkMark marks what was taken beside an emulated link, or on the emulated device.
func (r *run) linkMark() string {
	if mark := experiment.EmulatedWords(r.Plan.Device, r.Plan.Link); mark != "" {
		return " (" + mark + ")"
	}
	return ""
}

// marked adds the link, or the emulated device, to the arguments of what took its time from it.
func (t *tracer) marked(args map[string]any) map[string]any {
	if t.link == "" && t.emulated == "" {
		return args
	}
	if args == nil {
		args = map[string]any{}
	}
	if t.link != "" {
		args["emulated_link"] = t.link
	}
	if t.emulated != "" {
		args["emulated_device"] = t.emulated
	}
	return args
}
