package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"boost-tui/internal/parallel"
	"boost-tui/runner/protocol"
)

// SweepRef says which attempt at which point of which sweep a run is. It is written with the run, so that whoever
// looks after the sweep finds the run again although its launcher died before it could say a word about it.
type SweepRef struct {
	ID      string `json:"id"`
	Point   string `json:"point"`
	Attempt int    `json:"attempt"` // from 1
}

// maxAttempts bounds a damaged number.
const maxAttempts = 1 << 20

// check refuses what cannot have been written by a sweep: its names reach paths and terminals.
func (s *SweepRef) check() error {
	if s == nil {
		return nil
	}
	if checkID(s.ID) != nil || checkID(s.Point) != nil || s.Attempt < 1 || s.Attempt > maxAttempts {
		return fmt.Errorf("it names attempt %d at point %q of sweep %q", s.Attempt, clean(s.Point, 40), clean(s.ID, 40))
	}
	return nil
}

// OfSweep describes the runs that name a sweep, oldest first. A run that cannot be read names none: no agent
// would take it on either.
func (s *Store) OfSweep(ctx context.Context, sweep string) ([]Info, error) {
	ids, err := s.ids()
	if err != nil {
		return nil, err
	}
	mine := make([]bool, len(ids))
	if err := parallel.Each(ctx, len(ids), func(i int) { mine[i] = sweepOf(s.Dir(ids[i])) == sweep }); err != nil {
		return nil, fmt.Errorf("look for the runs of sweep %s: %w", sweep, err)
	}
	var infos []Info
	me, now := here(), time.Now()
	for i, id := range ids {
		if !mine[i] {
			continue
		}
		if in := s.info(id, me, now); !errors.Is(in.Err, errNoRun) {
			infos = append(infos, in)
		}
	}
	return infos, nil
}

// sweepOf is the sweep that the run in a directory names, empty where it names none. It decodes nothing else of
// run.json: a store may hold thousands.
func sweepOf(dir string) string {
	data, err := protocol.ReadFile(filepath.Join(dir, protocol.RunFile), maxFileBytes)
	if err != nil {
		return ""
	}
	var r struct {
		Sweep *SweepRef `json:"sweep"`
	}
	if json.Unmarshal(data, &r) != nil || r.Sweep == nil || r.Sweep.check() != nil {
		return ""
	}
	return r.Sweep.ID
}

// StartError says that a run was created and did not start. Its directory says why, as far as anybody knows.
type StartError struct {
	ID  string // of the run
	Err error
}

func (e *StartError) Error() string { return e.Err.Error() }
func (e *StartError) Unwrap() error { return e.Err }
