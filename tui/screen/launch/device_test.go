package launch_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"boost-tui/experiment"
	"boost-tui/planner"
	"boost-tui/tui/screen"
	"boost-tui/tui/screen/launch"
	"boost-tui/tui/testkit"
)

// a place for runs as the program sees one: with so many GPUs, or with none and a driver that is missing.
func gpus(n int) func(*screen.Env) {
	return func(env *screen.Env) {
		env.CheckDevice = func(_ context.Context, device string, ranks int) (string, error) {
			switch {
			case device == experiment.DeviceAuto && ranks <= n:
				return experiment.DeviceCUDA, nil
			case device == experiment.DeviceAuto:
				return experiment.DeviceCPU, nil
			case device == experiment.DeviceCUDA && ranks > n:
				return "", errors.New("device cuda cannot be had here; missing: driver: no NVIDIA driver here; library: libboost_cuda.so was not found")
			}
			return device, nil
		}
		machine := func(e experiment.Experiment) planner.Machine {
			m := planner.Machine{Name: "test", MemBytes: 32 << 30, Cores: 8}
			if e.Step.Device == experiment.DeviceCUDA {
				m.GPUs, m.NoGPUs = n, n == 0
				if n > 0 {
					m.GPUMemBytes = 80 << 30
				}
			}
			return m
		}
		env.Machine = machine
		env.Plan = func(e experiment.Experiment) (*planner.Plan, error) { return planner.New(e, machine(e)) }
	}
}

func TestMissingDevicesAreTold(t *testing.T) {
	for _, size := range [][2]int{{120, 36}, {80, 24}} {
		s := &testkit.Store{}
		d := start(t, size[0], size[1], s, gpus(0))
		focus(d, "device")
		if text := d.Text(); size[0] > 100 && !strings.Contains(text, "✗cuda") {
			t.Errorf("cuda is offered where it is not:\n%s", text)
		}
		d.Press("right", "right") // from auto over cpu
		d.Advance(time.Second)
		if text := d.Text(); !strings.Contains(text, "device cuda: missing: driver: no NVIDIA driver") || strings.Contains(text, "every rule holds") {
			t.Errorf("what is missing is not told:\n%s", text)
		}
		d.Press("A", "L")
		if text := d.Text(); len(s.Launched) != 0 || !strings.Contains(text, "cannot run: device cuda") {
			t.Errorf("launched %v:\n%s", s.Launched, text)
		}
		d.Press("right")
		d.Advance(time.Second)
		if text := d.Text(); strings.Contains(text, "cannot run") {
			t.Errorf("what was said of another device still stands:\n%s", text)
		}
		d.Press("L")
		if text := d.Text(); !strings.Contains(text, "its times say nothing about a") {
			t.Errorf("emulated is not said to be slow:\n%s", text)
		}
	}
}

// What the machine has is what auto is: planned, shown and launched; the command stays as the user says it.
func TestAutoIsTheGPUWhereThereAreSome(t *testing.T) {
	s := &testkit.Store{}
	d := start(t, 120, 36, s, gpus(2))
	if text := d.Text(); !strings.Contains(text, "▸auto") || !strings.Contains(text, "cuda here") || !strings.Contains(text, "this machine 2 x GPU 80.0 GiB") || !strings.Contains(text, "run --detach") {
		t.Errorf("auto is not planned on the GPU:\n%s", text)
	}
	focus(d, "device")
	d.Press("L", "y")
	if len(s.Launched) != 1 || s.Launched[0].Step.Device != experiment.DeviceCUDA || s.Launched[0].Step.DType != experiment.BF16 {
		t.Errorf("launched %+v", s.Launched)
	}
	focus(d, "tp")
	d.Press("right", "right", "L") // to 4, more than there are
	if text := d.Text(); !strings.Contains(text, "tp 4, rank 32  ") || strings.Contains(text, "tp 4, rank 32, cuda") {
		t.Errorf("a launch did not wait for the answer:\n%s", text)
	}
	d.Press("esc")
	d.Advance(time.Second)
	if text := d.Text(); !strings.Contains(text, "▸auto cpu ✗cuda emulated ›  cpu here") || strings.Contains(text, "x GPU") {
		t.Errorf("four ranks have a GPU each of two:\n%s", text)
	}
	d.Press("A", "y")
	got := []string{}
	for _, e := range s.Launched {
		got = append(got, e.Step.Device)
	}
	if want := []string{"cuda", "cpu", "cpu", "cpu"}; !slices.Equal(got, want) {
		t.Errorf("launched on %q, want %q", got, want)
	}
}

// Auto and the cpu are choices of their own, which the command, the file and the next session tell apart.
func TestAutoAndTheCPUAreDifferentChoices(t *testing.T) {
	s := &testkit.Store{}
	d := start(t, 120, 36, s, gpus(2))
	focus(d, "device")
	for _, want := range [][2]string{{"▸auto cpu cuda", "run --detach"}, {"auto ▸cpu cuda", "run --device cpu --detach"}, {"auto cpu ▸cuda", "run --device cuda --detach"},
		{"auto cpu cuda ▸emulated", "run --device emulated --detach"}, {"▸auto cpu cuda", "run --detach"}} {
		d.Advance(time.Second)
		if text := d.Text(); !strings.Contains(text, want[0]) || !strings.Contains(text, want[1]) {
			t.Errorf("no %q with %q in\n%s", want[0], want[1], text)
		}
		d.Press("right")
	}
	d.Advance(time.Second) // cpu again
	d.Press("x")
	if text := d.Text(); !strings.Contains(text, `device = "cpu"`) {
		t.Errorf("the file leaves the device open:\n%s", text)
	}
	d.Press("esc", "L", "y")
	if len(s.Launched) != 1 || s.Launched[0].Step.Device != experiment.DeviceCPU {
		t.Errorf("launched %+v", s.Launched)
	}
	e := experiment.Default()
	e.Step.Device = experiment.DeviceCPU
	session, _ := json.Marshal(map[string]string{"toml": string(e.TOML())})
	m := launch.New()
	m.Load(session)
	if saved := string(m.Save()); !strings.Contains(saved, `device = \"cpu\"`) {
		t.Errorf("the next session has %s", saved)
	}
}
