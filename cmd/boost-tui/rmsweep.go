package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"boost-tui/runner"
	"boost-tui/sweeps"
)

// sweepOf says what deleting a run does to the sweep that it is part of: nothing, or losing its figures, which the note says. It
// is refused where a program looks after the sweep: that one may be reading the run.
func sweepOf(ctx context.Context, s *runner.Store, id string) (note string, err error) {
	in, err := s.Load(id)
	if err != nil || in.Run.Sweep == nil {
		return "", nil // whoever removes it says what is wrong with it
	}
	ref := in.Run.Sweep
	sw, err := sweeps.OpenFolder(s).Find(ref.ID)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	st, err := sw.Load(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	switch p := st.Point(ref.Point); {
	case st.Held && st.Phase != sweeps.PhaseFinished:
		return "", fmt.Errorf("remove run %s: process %d on %s looks after its sweep %s: `boost-tui sweep pause %s` first", id, st.Holder.PID, st.Holder.Host, st.ID, st.ID)
	case p != nil && p.Run() == id && p.Status == sweeps.Finished:
		return fmt.Sprintf("sweep %s has no figures of point %s any more", st.ID, p.ID), nil
	}
	return "", nil
}
