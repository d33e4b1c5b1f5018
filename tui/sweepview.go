package tui

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	"boost-tui/profiler/record"
	"boost-tui/sweeps"
	"boost-tui/sweeps/results"
	"boost-tui/sweeps/space"
	"boost-tui/tui/screen"
)

// followed is a sweep that is looked at again and again.
type followed struct {
	mu       sync.Mutex // held while it is read: looks of two generations may meet
	follower *sweeps.Follower
	view     *screen.SweepView
	stale    bool          // its runs have gone on since they were measured
	measured time.Time     // when that was
	took     time.Duration // how long it took
}

// measureShare bounds the share of the time that measuring takes: a sweep of
// many runs is measured less often.
const measureShare = 5

// follow gets the reader of a sweep.
func (s *sweepStore) follow(id string) (*followed, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.followed[id]; f != nil {
		return f, nil
	}
	sweep, err := s.folder.Find(id)
	if err != nil {
		return nil, err
	}
	f := &followed{follower: sweep.Follow()}
	s.followed[id] = f
	return f, nil
}

func (s *sweepStore) Read(ctx context.Context, id string) (*screen.SweepView, error) {
	f, err := s.follow(id)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	st, changed, err := f.follower.Next()
	if err != nil {
		return nil, err
	}
	view := &screen.SweepView{State: st, Steps: s.steps(st)}
	old := f.view
	f.stale = f.stale || old == nil || changed || len(view.Steps) > 0
	measure := f.stale && time.Since(f.measured) > measureShare*f.took
	if !changed && !measure && old != nil && maps.Equal(view.Steps, old.Steps) {
		return old, nil
	}
	if old != nil && old.State.TOML == st.TOML {
		view.File, view.FileErr = old.File, old.FileErr
	} else {
		view.File, view.FileErr = space.ParseTOML([]byte(st.TOML), sweeps.TOMLFile)
	}
	if view.Table, err = s.measure(ctx, f, st, measure); err != nil {
		return nil, err
	}
	f.view = view
	return view, nil
}

// measure reads the runs of a sweep, or takes what was measured before.
func (s *sweepStore) measure(ctx context.Context, f *followed, st *sweeps.State, now bool) (*results.Table, error) {
	if !now && f.view != nil {
		return f.view.Table, nil
	}
	start := time.Now()
	t, err := results.Measure(ctx, s.runs, st, s.cache)
	f.measured, f.took, f.stale = time.Now(), time.Since(start), err != nil
	return t, err
}

// steps are the last steps of the runs that are going.
func (s *sweepStore) steps(st *sweeps.State) map[string]screen.Step {
	out := map[string]screen.Step{}
	for _, p := range st.Points {
		run := p.Run()
		if p.Status != sweeps.Running || run == "" || !filepath.IsLocal(run) {
			continue
		}
		if lines, err := record.LastSteps(record.StepsPath(s.runs.Dir(run), 0), 1); err == nil && len(lines) > 0 {
			l := lines[len(lines)-1]
			out[run] = screen.Step{Step: l.Step, Seconds: time.Duration(l.WallNanos).Seconds()}
		}
	}
	return out
}

// The files of an export.
const (
	sweepCSV      = "sweep.csv"
	sweepMarkdown = "sweep.md"
)

func (s *sweepStore) Export(ctx context.Context, id, to string) ([]string, error) {
	sweep, err := s.folder.Find(id)
	if err != nil {
		return nil, err
	}
	st, err := sweep.Load(ctx)
	if err != nil {
		return nil, err
	}
	t, err := results.Measure(ctx, s.runs, st, s.cache)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	var files []string
	for _, f := range []struct {
		name  string
		write func(io.Writer) error
	}{{sweepCSV, t.CSV}, {sweepMarkdown, t.Markdown}} {
		path := filepath.Join(to, f.name)
		if err := writeNew(path, f.write); err != nil {
			return files, fmt.Errorf("export %s: %w", path, err)
		}
		files = append(files, path)
	}
	return files, nil
}

// writeNew writes a file aside and gives it its name; one that is there stays.
func writeNew(path string, write func(io.Writer) error) error {
	f, err := os.OpenFile(filepath.Join(filepath.Dir(path), ".export-"+rand.Text()), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) // less the umask
	if err != nil {
		return err
	}
	err = errors.Join(write(f), f.Close())
	if err == nil {
		err = os.Link(f.Name(), path) // unlike a rename it replaces nothing
	}
	return errors.Join(err, os.Remove(f.Name()))
}
