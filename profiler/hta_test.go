package profiler

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"boost-tui/profiler/interval"
)

// Traces of HolisticTraceAnalysis' own tests, with the figures that it prints for them, lie beside
// the checkout where the project is developed; they are not ours to keep.
const outsideTraces = "../../shared/traces"

type kinetoEvent struct {
	Cat, Name string
	Ts, Dur   float64
	HasDur    bool
	Args      struct {
		Correlation *float64
	}
}

func (e *kinetoEvent) UnmarshalJSON(b []byte) error {
	var raw struct {
		Cat, Name string
		Ts        float64
		Dur       *float64
		Args      struct {
			Correlation any `json:"correlation"`
		}
	}
	if err := json.Unmarshal(b, &raw); err != nil {
		return nil // metadata with other types
	}
	e.Cat, e.Name, e.Ts, e.HasDur = raw.Cat, raw.Name, raw.Ts, raw.Dur != nil
	if raw.Dur != nil {
		e.Dur = *raw.Dur
	}
	if c, ok := raw.Args.Correlation.(float64); ok {
		e.Args.Correlation = &c
	}
	return nil
}

// keptSteps are the profiler's steps but for the last one, if there are several.
func keptSteps(events []kinetoEvent) []interval.Interval {
	numbers := map[int]bool{}
	last := -1
	type step struct {
		n      int
		lo, hi float64
	}
	var steps []step
	for _, e := range events {
		s, ok := strings.CutPrefix(e.Name, "ProfilerStep#")
		if n, err := strconv.Atoi(s); ok && err == nil && e.HasDur && e.Cat != "gpu_user_annotation" {
			steps = append(steps, step{n, e.Ts, e.Ts + e.Dur})
			numbers[n] = true
			last = max(last, n)
		}
	}
	var kept []interval.Interval
	for _, s := range steps {
		if len(numbers) < 2 || s.n != last {
			kept = append(kept, interval.Interval{Lo: int64(s.lo * 1000), Hi: int64(s.hi * 1000)})
		}
	}
	return kept
}

func htaRow(events []kinetoEvent) []string {
	launch := map[float64]int64{}
	for _, e := range events {
		if (e.Cat == "cuda_runtime" || e.Cat == "cuda_driver") && e.Args.Correlation != nil {
			launch[*e.Args.Correlation] = int64(e.Ts * 1000)
		}
	}
	kept := keptSteps(events)
	var comp, comm, all []interval.Interval
	for _, e := range events {
		if e.Cat != "kernel" && e.Cat != "gpu_memcpy" && e.Cat != "gpu_memset" || e.Args.Correlation == nil {
			continue
		}
		at, ok := launch[*e.Args.Correlation]
		in := false
		for _, s := range kept {
			in = in || s.Lo <= at && at < s.Hi
		}
		if !ok || !in {
			continue
		}
		lo := int64(math.Ceil(e.Ts))
		iv := interval.Interval{Lo: lo, Hi: max(lo, int64(math.Floor(e.Ts+e.Dur)))}
		all = append(all, iv)
		if strings.HasPrefix(e.Name, "nccl") || strings.Contains(e.Name, "ncclKernel") {
			comm = append(comm, iv)
		} else if !strings.HasPrefix(e.Name, "Memcpy") && !strings.HasPrefix(e.Name, "Memset") {
			comp = append(comp, iv)
		}
	}
	comp, comm, all = interval.Union(comp), interval.Union(comm), interval.Union(all)
	wall := all[len(all)-1].Hi - all[0].Lo
	pct := ""
	if len(comm) > 0 {
		pct = fmt.Sprintf("%.2f", 100*float64(interval.Overlap(comm, comp))/float64(interval.Length(comm)))
	}
	row := []string{}
	for _, v := range []int64{wall - interval.Length(all), interval.Length(comp), interval.Length(all) - interval.Length(comp), wall} {
		row = append(row, strconv.FormatInt(v, 10))
	}
	return append(row, pct)
}

func TestUnionsAgreeWithHolisticTraceAnalysis(t *testing.T) {
	table, err := os.ReadFile(filepath.Join(outsideTraces, "expected.tsv"))
	if err != nil {
		t.Skipf("no outside traces here: %v", err)
	}
	for _, line := range strings.Split(strings.TrimRight(string(table), "\n"), "\n")[1:] {
		want := strings.Split(strings.TrimRight(line, "\r"), "\t")
		f, err := os.Open(filepath.Join(outsideTraces, want[0]))
		if err != nil {
			t.Fatal(err)
		}
		z, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		var trace struct{ TraceEvents []kinetoEvent }
		if err := json.NewDecoder(z).Decode(&trace); err != nil {
			t.Fatalf("%s: %v", want[0], err)
		}
		f.Close()
		for len(want) < 8 {
			want = append(want, "")
		}
		if got := htaRow(trace.TraceEvents); strings.Join(got, " ") != strings.Join(want[3:8], " ") {
			t.Errorf("%s: got %v, want %v", want[0], got, want[3:8])
		}
	}
}
