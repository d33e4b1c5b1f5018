package devices

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"boost-tui/experiment"
	"boost-tui/kernels/cuda"
)

func TestCardOfARank(t *testing.T) {
	t.Setenv("CUDA_VISIBLE_DEVICES", "4,6")
	for name, c := range map[string]struct {
		at          Place
		cards       int
		own, shared bool
		want        int
		err         string
	}{
		"its place":     {Place{1, 2}, 2, false, false, 1, ""},
		"more cards":    {Place{3, 4}, 8, false, false, 3, ""},
		"its own":       {Place{3, 4}, 1, true, false, 0, ""},
		"too few":       {Place{0, 4}, 2, false, false, 0, "4 ranks on this host need 4 GPUs, and 2 are visible (CUDA_VISIBLE_DEVICES=4,6)"},
		"one":           {Place{0, 2}, 1, false, false, 0, "and 1 is visible"},
		"two on one":    {Place{1, 2}, 1, false, true, 0, ""},
		"none":          {Place{0, 1}, 0, false, false, 0, "no GPU is visible (CUDA_VISIBLE_DEVICES=4,6)"},
		"none, its own": {Place{0, 1}, 0, true, true, 0, "no GPU is visible"},
	} {
		got, err := cardOf(c.at, c.cards, c.own, c.shared)
		if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %d, %v; want %d, %q", name, got, err, c.want, c.err)
		}
	}
}

func TestWhatIsMissing(t *testing.T) {
	t.Setenv("CUDA_VISIBLE_DEVICES", "0,1")
	nccl := cuda.Finding{What: "NCCL", Lacks: "libnccl.so.2 was not found"}
	lt := cuda.Finding{What: "cuBLASLt", Lacks: "libcublasLt.so.13 was not found; looked in /a, /b and 2 more. Install it by pip install nvidia-cublas, or name its path in $BOOST_CUBLASLT"}
	fine := cuda.Finding{What: "driver", Value: "13.0"}
	here := GPUs{Driver: "for CUDA 13.0", Cards: 2, Library: "/x"}
	with := func(f ...cuda.Finding) GPUs { g := here; g.Findings = f; return g }
	none := GPUs{noDriver: cuda.ErrNoDriver, noLibrary: cuda.ErrNoLibrary}
	for name, c := range map[string]struct {
		g     GPUs
		ranks int
		want  []string
	}{
		"nothing":              {with(fine), 2, nil},
		"NCCL for one rank":    {with(nccl, fine), 1, nil},
		"NCCL for two":         {with(nccl, fine), 2, []string{"NCCL: libnccl"}},
		"both libraries":       {with(lt, nccl), 2, []string{"cuBLASLt: libcublasLt", "NCCL: libnccl"}},
		"a GPU":                {with(fine), 3, []string{"GPUs: 3 ranks on this host need 3 GPUs, and 2 are visible"}},
		"everything":           {none, 1, []string{"driver: no NVIDIA driver", "library: libboost_cuda.so was not found"}},
		"everything, and both": {GPUs{noDriver: cuda.ErrNoDriver, noLibrary: cuda.ErrNoLibrary, Findings: []cuda.Finding{lt, nccl}}, 2, []string{"driver: no NVIDIA driver", "library: libboost_cuda.so was not found", "cuBLASLt: libcublasLt.so.13 was not found. Install it by pip", "NCCL: libnccl"}},
		"cards that are there": {GPUs{Driver: "x", Library: "/x"}, 1, []string{"GPU: no GPU is visible"}},
	} {
		err := c.g.Check(c.ranks)
		if (err == nil) != (c.want == nil) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v does not say %q", name, err, want)
			}
		}
	}
}

func TestStall(t *testing.T) {
	for text, want := range map[string]time.Duration{"": stall, "90s": 90 * time.Second, "0": 0, "1ns": time.Millisecond, "1.5ms": 2 * time.Millisecond,
		"596h31m23.647s": math.MaxInt32 * time.Millisecond} {
		t.Setenv(EnvStall, text)
		if got, err := Stall(); err != nil || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for bad, want := range map[string]string{"soon": "not a duration", "-1s": "not a duration", "5": "not a duration",
		"600h": "at most 596h31m23.647s", "596h31m23.648s": "at most", "2540400h": "at most"} {
		t.Setenv(EnvStall, bad)
		if _, err := Stall(); err == nil || !strings.Contains(err.Error(), EnvStall) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", bad, err)
		}
		if _, err := CheckRun(t.Context(), experiment.DeviceEmu, 1); err == nil {
			t.Errorf("%q: a run begins", bad)
		}
	}
}

func TestAutoOnThisMachine(t *testing.T) {
	for _, kind := range []string{experiment.DeviceCPU, experiment.DeviceEmu} {
		if got, why, err := Settle(t.Context(), kind, 4); err != nil || why != nil || got != kind {
			t.Errorf("%s: %s, %v, %v", kind, got, why, err)
		}
	}
	if _, err := cuda.FindDriver(); err == nil {
		t.Skip("there is a driver")
	}
	for _, kind := range []string{"", experiment.DeviceAuto} {
		if got, why, err := Settle(t.Context(), kind, 1); err != nil || got != experiment.DeviceCPU || !errors.Is(why, cuda.ErrNoDriver) {
			t.Errorf("%q: %s, %v, %v", kind, got, why, err)
		}
	}
	if _, err := CheckRun(t.Context(), experiment.DeviceCUDA, 1); err == nil {
		t.Error("cuda can be had without a driver")
	}
}

// A kind that there is not is nobody's.
func TestUnknownKinds(t *testing.T) {
	for _, kind := range []string{"foo", "CUDA", "gpu", " cpu"} {
		if _, err := CheckRun(t.Context(), kind, 1); err == nil || !strings.Contains(err.Error(), "there is no device") {
			t.Errorf("%q: %v", kind, err)
		}
		if d, err := InProcess(t.Context(), kind, nil)(0, 1); err == nil || d != nil || !strings.Contains(err.Error(), "there is no device") {
			t.Errorf("%q is opened: %v", kind, err)
		}
	}
	for _, kind := range []string{"", experiment.DeviceAuto, experiment.DeviceCPU} {
		d, err := InProcess(t.Context(), kind, nil)(0, 1)
		if err != nil {
			t.Errorf("%q: %v", kind, err)
			continue
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}
