package runner

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"boost-tui/runner/protocol"
)

// many makes n finished runs without the cost of making them durable.
func many(t testing.TB, s *Store, n int) {
	_, dir := create(t, s, "pattern")
	finish(t, dir)
	run, err := os.ReadFile(filepath.Join(dir, protocol.RunFile))
	if err != nil {
		t.Fatal(err)
	}
	result := []byte(`{"schema":1,"state":"finished","ranks":[{"rank":0,"code":0}],"summary":{"steps":100,"step_time_median":0.1,"breakdown":{"compute":0.1,"comm":0}}}`)
	for i := range n - 1 {
		dir := s.Dir(fmt.Sprintf("20260101-%06d-tiny-cola-btp-tp2-aaaa", i))
		if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, protocol.RunFile), run, 0o600),
			os.WriteFile(filepath.Join(dir, protocol.ResultFile), result, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestListThousands: 2,000 runs take about 140 ms on two cores the first time and 30 ms after. The bound is
// wide, because machines that test are busy, and wider under the race detector.
func TestListThousands(t *testing.T) {
	s := NewStore(t.TempDir())
	many(t, s, 2000)
	best := time.Hour
	for range 3 {
		fresh := NewStore(s.Root)
		start := time.Now()
		infos, errs := fresh.List(t.Context())
		best = min(best, time.Since(start))
		if len(infos) != 2000 || len(errs) != 0 {
			t.Fatalf("%d runs, %v", len(infos), errs)
		}
	}
	if _, errs := s.List(t.Context()); errs != nil {
		t.Fatal(errs)
	}
	start := time.Now()
	s.List(t.Context())
	t.Logf("first %v, again %v", best, time.Since(start))
	limit := 2 * time.Second
	if raceDetector() {
		limit *= 20
	}
	if best > limit {
		t.Errorf("took %v", best)
	}
}

// raceDetector reports whether the tests were built with -race.
func raceDetector() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

func BenchmarkList2000(b *testing.B) {
	root := b.TempDir()
	many(b, NewStore(root), 2000)
	for b.Loop() {
		if infos, errs := NewStore(root).List(b.Context()); len(infos) != 2000 || errs != nil {
			b.Fatal(len(infos), errs)
		}
	}
}
