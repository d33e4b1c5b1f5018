package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Limits that the project holds itself to.
const (
	expandPoints = 100_000
	expandLimit  = 5 * time.Second        // of a dry run over so many points of 100 shapes
	gapLimit     = 100 * time.Millisecond // between the end of a run and the creation of the next, the middle one
)

// BenchmarkSweepDryRun spells out a large space, from outside.
func BenchmarkSweepDryRun(b *testing.B) {
	bin := program(b)
	for range b.N {
		cmd := exec.Command(bin, "sweep", "--dry-run", "--axis", "seed=1..1000", "--axis", "tp=1,2,4,8", "--axis", "rank=8..56+2") // 100 shapes
		cmd.Env = append(os.Environ(), "BOOST_RUNS="+b.TempDir())
		start := time.Now()
		out, err := cmd.Output()
		took := time.Since(start)
		if err != nil || !strings.Contains(string(out), fmt.Sprintf("\n%d combinations", expandPoints)) {
			b.Fatalf("%v\n%s", err, out)
		}
		b.ReportMetric(took.Seconds(), "s")
		if took > expandLimit {
			b.Logf("MISSED: %s for %d points, wanted %s", took, expandPoints, expandLimit)
		}
	}
}

// BenchmarkSweepGap runs short runs one after another and looks at the times between them.
func BenchmarkSweepGap(b *testing.B) {
	bin := program(b)
	for range b.N {
		runs := b.TempDir()
		var t struct{ Rows []struct{ Run, State string } }
		ask(b, runs, bin, &t, "sweep", "--axis", "seed=1..20", "--size", "tiny", "--layers", "1", "--seq", "32", "--micro-batch", "2", "--steps", "5")
		gaps := gapsOf(b, runs)
		if len(gaps) != 19 {
			b.Fatalf("%d gaps between %d runs", len(gaps), len(t.Rows))
		}
		middle := gaps[len(gaps)/2]
		b.ReportMetric(middle.Seconds()*1e3, "ms-median")
		b.ReportMetric(gaps[len(gaps)-1].Seconds()*1e3, "ms-longest")
		if middle > gapLimit {
			b.Logf("MISSED: %s between runs, wanted %s", middle, gapLimit)
		}
	}
}

// gapsOf are the times from the end of each run of a store to the creation of the next, the shortest first.
func gapsOf(b *testing.B, runs string) []time.Duration {
	b.Helper()
	dirs, err := filepath.Glob(filepath.Join(runs, "*", "run.json"))
	if err != nil {
		b.Fatal(err)
	}
	type span struct{ from, to time.Time }
	var spans []span
	for _, path := range dirs {
		var run struct{ Created time.Time }
		var end struct{ Ended time.Time }
		if err := errors.Join(decode(path, &run), decode(filepath.Join(filepath.Dir(path), "result.json"), &end)); err != nil {
			b.Fatal(err)
		}
		spans = append(spans, span{run.Created, end.Ended})
	}
	slices.SortFunc(spans, func(x, y span) int { return x.from.Compare(y.from) })
	var gaps []time.Duration
	for i := 1; i < len(spans); i++ {
		gaps = append(gaps, spans[i].from.Sub(spans[i-1].to))
	}
	slices.Sort(gaps)
	return gaps
}

func decode(path string, into any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
