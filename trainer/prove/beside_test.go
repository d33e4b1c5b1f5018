package prove

import (
	"context"
	"errors"
	"math"
	"testing"

	"boost-tui/experiment"
	"boost-tui/kernels"
	"boost-tui/kernels/cpu"
	"boost-tui/kernels/cuda"
)

// TestAgainstCPU trains on the emulated device beside the processor, in whole steps that take attention on tensor cores too.
func TestAgainstCPU(t *testing.T) {
	if testing.Short() {
		t.Skip("a minute under the race detector, which does not see into the library")
	}
	l, err := cuda.Emulator(context.Background(), t.Logf)
	if errors.Is(err, cuda.ErrNoCompiler) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	open := func(device string) func(rank, n int) (kernels.Device, error) {
		return func(rank, n int) (kernels.Device, error) {
			if device == experiment.DeviceCPU {
				return cpu.Open(cpu.Options{World: n, Rank: rank, Threads: 1})
			}
			return l.Open(cuda.Options{World: n, Rank: rank, Mode: cuda.Mode()})
		}
	}
	b := &bench{Options: Options{Device: experiment.DeviceEmu, Tiny: true, Open: open}}
	a, err := b.againstCPU(t.Context())
	if err != nil || len(a.Runs) != 4 || a.held() != nil || a.Card != emulatedCard {
		t.Fatalf("%+v: %v", a, err)
	}
	for _, r := range a.Runs {
		t.Logf("%s, heads of %d: loss %.1e nats, gradient norm %.1e", r.DType, r.HeadDim, r.MaxLossError, r.MaxNormError)
	}
	for name, apart := range map[string]RunBeside{
		"losses": {DType: experiment.BF16, CPU: []float64{5, 5}, Loss: []float64{5, 5.004}},
		"norms":  {DType: experiment.BF16, CPU: []float64{5, 5}, Loss: []float64{5, 5}},
		"a NaN":  {DType: experiment.FP32, CPU: []float64{5, 5}, Loss: []float64{math.NaN(), 5}},
	} {
		norm := map[bool]float64{true: 1.17, false: 1}[name == "norms"]
		if (Against{Runs: []RunBeside{beside(apart, []float64{1, norm}, []float64{1, 1})}}).held() == nil {
			t.Errorf("%s that are apart pass", name)
		}
	}
}
