package main

import (
	"strings"
	"testing"

	"boost-tui/experiment"
	"boost-tui/planner"
)

// Who starts a large model on the emulated device is told that it is slow, and by how much; nobody else is.
func TestLargeModelsOnTheEmulatedDeviceAreSaidToBeSlow(t *testing.T) {
	for _, c := range []struct {
		device, size string
		slow         bool
	}{{experiment.DeviceEmu, "60m", true}, {experiment.DeviceEmu, "tiny", false}, {experiment.DeviceCPU, "60m", false}} {
		e := experiment.Default()
		e.Step.Device, e.Model.Size = c.device, c.size
		e, err := e.Resolve()
		if err != nil {
			t.Fatal(err)
		}
		p, err := planner.New(e, planner.Machine{})
		if err != nil {
			t.Fatal(err)
		}
		if text := slowEmulation(e, p); (text != "") != c.slow || c.slow && !strings.Contains(text, "a step has 417 times the arithmetic of one of tiny") {
			t.Errorf("%s on %s: %q", c.size, c.device, text)
		}
	}
	if want := "is 417 times the arithmetic"; !strings.Contains(page(t, "cuda.md"), want) {
		t.Errorf("cuda.md does not say %q", want)
	}
}

// A run that goes on from one on the emulated device keeps that one's name, and says so where it computes on another.
func TestANameOfTheEmulatedDeviceIsKeptAloud(t *testing.T) {
	for _, c := range []struct {
		name, now, device string
		says              bool
	}{{"emu", "emu", experiment.DeviceCPU, true}, {"emu", "mine", experiment.DeviceCPU, false}, {"emu", "emu", experiment.DeviceEmu, false}, {"", "", experiment.DeviceCPU, false}} {
		was, e := experiment.Default(), experiment.Default()
		was.Name, was.Step.Device = c.name, experiment.DeviceEmu
		e.Name, e.Step.Device = c.now, c.device
		if text := keptName(was, e); (text != "") != c.says {
			t.Errorf("%+v: %q", c, text)
		}
	}
}
