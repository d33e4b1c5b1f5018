package bench

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"boost-tui/kernels"
	"boost-tui/kernels/cpu"
)

// Limits that the project holds itself to.
const (
	productShare = 0.50 // of the library's own speed that a training step must reach
	productSide  = 1024 // of the square product that measures the library
)

// productRate is the FLOP/s of one square product on one thread, the best of several: what one core of
// this machine and the library in use can do.
func productRate(b *testing.B) float64 {
	b.Helper()
	dev, err := cpu.Open(cpu.Options{Threads: 1})
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := dev.Close(); err != nil {
			b.Error(err)
		}
	}()
	var l kernels.Layout
	x, y, z := l.Add(productSide, productSide, kernels.F32), l.Add(productSide, productSide, kernels.F32), l.Add(productSide, productSide, kernels.F32)
	if _, err := l.Commit(dev, kernels.MemBuffers, false); err != nil {
		b.Fatal(err)
	}
	op := &kernels.Gemm{Alpha: 1, A: *x, B: *y, D: *z, TransB: true}
	best := 0.0
	for range 12 {
		start := time.Now()
		if err := dev.Do(kernels.Call{Stream: kernels.ComputeStream}, op); err != nil {
			b.Fatal(err)
		}
		best = max(best, float64(op.FLOPs())/time.Since(start).Seconds())
	}
	b.Logf("products: %.1f GFLOP/s per core, %v", best/1e9, dev.Info().Libraries)
	return best
}

// program builds the binary.
func program(b *testing.B) string {
	b.Helper()
	bin := filepath.Join(b.TempDir(), "boost-tui")
	if out, err := exec.Command("go", "build", "-o", bin, "../cmd/boost-tui").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	return bin
}

// ask runs a command and decodes its JSON.
func ask(b *testing.B, runs, bin string, into any, args ...string) {
	b.Helper()
	cmd := exec.Command(bin, append(args, "--json")...)
	cmd.Env = append(os.Environ(), "BOOST_RUNS="+runs)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		b.Fatalf("%v: %v\n%s", args, err, out)
	}
	if err := json.Unmarshal(out, into); err != nil {
		b.Fatalf("%v: %v", args, err)
	}
}

// BenchmarkTrain60m trains the preset 60m under btp and holds the model's FLOP/s against the library's.
func BenchmarkTrain60m(b *testing.B) {
	bin, peak := program(b), productRate(b)*float64(runtime.NumCPU())
	for _, tp := range []int{1, 2} {
		b.Run(fmt.Sprintf("tp%d", tp), func(b *testing.B) {
			shape := []string{"--size", "60m", "--variant", "cola", "--scheme", "btp", "--micro-batch", "4", "--seq", "512",
				"--tp", fmt.Sprint(tp), "--device", "cpu"}
			var plan struct {
				FLOPs float64 `json:"flops"`
			}
			var run struct {
				Step float64 `json:"step_time_median"`
			}
			runs := b.TempDir()
			for range b.N {
				ask(b, runs, bin, &plan, append([]string{"plan"}, shape...)...)
				ask(b, runs, bin, &run, append([]string{"run", "--steps", "12"}, shape...)...)
			}
			rate := plan.FLOPs / run.Step
			b.ReportMetric(run.Step, "s/step")
			b.ReportMetric(rate/1e9, "GFLOP/s")
			b.ReportMetric(rate/peak, "of-library")
			if rate/peak < productShare {
				b.Logf("MISSED: %.2f of the library's speed, wanted %.2f", rate/peak, productShare)
			}
		})
	}
}
