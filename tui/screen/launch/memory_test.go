package launch_test

import (
	"strings"
	"testing"
	"time"

	"boost-tui/experiment"
	"boost-tui/planner"
	"boost-tui/tui/screen"
	"boost-tui/tui/testkit"
)

// A run on GPUs is held against the memory of one and against their number, before it is launched.
func TestMemoryOfGPUs(t *testing.T) {
	for name, c := range map[string]struct {
		machine planner.Machine
		want    []string
		not     []string
	}{
		"room":     {planner.Machine{MemBytes: 1, GPUs: 8, GPUMemBytes: 80 << 30}, []string{"8 x GPU 80.0 GiB", "fits", "a rank allocates"}, []string{"does not fit", "close"}},
		"close":    {planner.Machine{GPUs: 8, GPUMemBytes: 1 << 30}, []string{"GPU 1.00 GiB", "close", "2.0 GiB is assumed"}, []string{"does not fit"}},
		"too much": {planner.Machine{GPUs: 8, GPUMemBytes: 1 << 20}, []string{"does not fit", "a rank allocates"}, nil},
		"too few":  {planner.Machine{GPUs: 1, GPUMemBytes: 80 << 30}, []string{"too few GPUs", "2 ranks on a machine need a GPU each and get 1"}, nil},
		"unknown":  {planner.Machine{MemBytes: 1 << 40}, []string{"GPU memory unknown", "is not known"}, []string{"does not fit"}},
		"none":     {planner.Machine{MemBytes: 1 << 40, NoGPUs: true}, []string{"no GPU"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c.machine.Name = "lab"
			d := start(t, 200, 60, &testkit.Store{}, func(env *screen.Env) {
				env.Machine = func(experiment.Experiment) planner.Machine { return c.machine }
				env.Plan = func(e experiment.Experiment) (*planner.Plan, error) { return planner.New(e, c.machine) }
				env.LargestMicroBatch = nil
			})
			focus(d, "tp")
			d.Press("right")
			focus(d, "device")
			d.Press("right", "right")
			d.Advance(time.Second)
			for _, want := range c.want {
				if !strings.Contains(d.Text(), want) {
					t.Errorf("no %q:\n%s", want, d.Text())
				}
			}
			for _, not := range c.not {
				if strings.Contains(d.Text(), not) {
					t.Errorf("%q:\n%s", not, d.Text())
				}
			}
		})
	}
}
