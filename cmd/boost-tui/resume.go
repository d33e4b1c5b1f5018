package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"boost-tui/experiment"
	"boost-tui/runner"
	"boost-tui/trainer/checkpoint"
	"boost-tui/trainer/weights"
	"boost-tui/tui/screen"
)

// findCheckpoint gives the checkpoint that a user names: a run by its id, a run's folder, or a checkpoint's. The latest whole one counts,
// unless @STEP says another.
func (c checks) findCheckpoint(name string) (dir string, m *checkpoint.Manifest, err error) {
	place, step, said := name, -1, ""
	if at := strings.LastIndexByte(name, '@'); at > 0 {
		if n, err := strconv.Atoi(name[at+1:]); err == nil && n >= 0 {
			place, step = name[:at], n
		} else {
			said = name[at+1:]
		}
	}
	path, err := c.checkpointPlace(place)
	if err != nil && said != "" {
		return "", nil, fmt.Errorf("%w; behind an @ stands the step of a checkpoint, a whole number, and %q is none", err, said)
	}
	if err != nil {
		return "", nil, err
	}
	if step >= 0 {
		path = checkpoint.Dir(path, step)
	}
	dir, skipped, err := checkpoint.Find(path)
	if errors.Is(err, fs.ErrNotExist) && step >= 0 {
		steps, _ := checkpoint.Steps(filepath.Dir(path)) // none, where they cannot be listed
		return "", nil, fmt.Errorf("%s has no checkpoint of step %d; there are those of %v", place, step, steps)
	}
	if err != nil {
		return "", nil, err
	}
	for _, why := range skipped {
		c.note("note: passed over: %v", why)
	}
	opened, err := checkpoint.Open(dir)
	if err != nil {
		return "", nil, err
	}
	return dir, opened.Manifest, opened.Close()
}

// checkpointPlace is the folder that a run's id or a path means.
func (c checks) checkpointPlace(name string) (string, error) {
	s, err := c.store()
	if err != nil {
		return "", err
	}
	id, missing := s.Find(name)
	if missing == nil {
		return s.Dir(id), nil
	}
	path, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	if st, err := os.Stat(path); err != nil || !st.IsDir() {
		return "", missing
	}
	return path, nil
}

// resumed is the experiment that continues a checkpoint: what the command line says about it, over what the checkpoint's run was. A file given with
// --config says everything itself.
func (a *app) resumed(f *experimentFlags, name string) (experiment.Experiment, error) {
	dir, m, err := a.checks().findCheckpoint(name)
	if err != nil {
		return experiment.Experiment{}, usage(fmt.Errorf("--resume %s: %w", name, err))
	}
	e := m.Experiment.Continued()
	if f.config != "" {
		if e, err = f.experiment(); err != nil {
			return e, err
		}
	} else {
		was := e
		if e, err = f.over(e); err != nil {
			return e, err
		}
		e = e.ForPlace(was)
	}
	e.Train.Resume = dir
	if text := keptName(m.Experiment, e); text != "" {
		a.note("note: %s", text)
	}
	return e, nil
}

// keptName says that a run which computes on another device has the name of one on the emulated device, which may tell of that; empty: it
// has not.
func keptName(was, e experiment.Experiment) string {
	if e.Name == "" || e.Name != was.Name || was.Step.Device != experiment.DeviceEmu || e.Step.Device == was.Step.Device {
		return ""
	}
	return fmt.Sprintf("it keeps the name %s of a run on the %s; --name says another", runner.Clean(e.Name), experiment.EmulatedDevice)
}

// start is what an experiment's weights start from, for the UI: as prepare sees it.
func (a *app) start(e experiment.Experiment) (out screen.Start) {
	c := checks{a.store, func(string, ...any) {}}
	if name := e.Train.Resume; name != "" {
		_, m, err := c.findCheckpoint(name)
		if err != nil {
			return screen.Start{Err: err}
		}
		was := m.Experiment.Continued()
		out.Continued = &was
		_, out.Err = c.resume(&e)
		return out
	}
	return screen.Start{Err: c.start(&e)}
}

// begins is an error about what an experiment starts from, where it could not.
func (a *app) begins(e *experiment.Experiment) error {
	c := a.checks()
	if err := c.start(e); err != nil {
		return err
	}
	_, err := c.resume(e)
	return err
}

// start replaces what the weights start from by its path, and says whether the experiment can.
func (c checks) start(e *experiment.Experiment) error {
	from := &e.Train.InitFrom
	if *from == "" {
		return nil
	}
	path, err := c.startOf(*from)
	if err != nil {
		return fmt.Errorf("init-from %s: %w", *from, err)
	}
	src, err := weights.Open(path)
	if err == nil {
		err = errors.Join(weights.Check(src, *e), src.Close())
	}
	if err != nil {
		return fmt.Errorf("init-from %s: %w", *from, err)
	}
	*from = path
	return nil
}

// weightsExt ends the name of a file of weights; no id of a run ends so.
const weightsExt = ".safetensors"

// startOf is the file or the checkpoint's folder that a value of init-from means.
func (c checks) startOf(from string) (string, error) {
	path, err := filepath.Abs(from)
	if err != nil {
		return "", err
	}
	st, missing := os.Stat(path)
	switch {
	case missing == nil && !st.IsDir():
		return path, nil
	case missing != nil && strings.EqualFold(filepath.Ext(from), weightsExt):
		return "", fmt.Errorf("the file is not there: %w", missing)
	}
	path, _, err = c.findCheckpoint(from)
	if missing != nil && errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w; nor is there a file of that name", err)
	}
	return path, err
}

// resume replaces what an experiment resumes by the folder of the checkpoint, and says whether it fits.
func (c checks) resume(e *experiment.Experiment) (*runner.Resumed, error) {
	if e.Train.Resume == "" {
		return nil, nil
	}
	dir, m, err := c.findCheckpoint(e.Train.Resume)
	if err == nil {
		err = checkpoint.Fits(m, *e)
	}
	if err != nil {
		return nil, fmt.Errorf("resume %s: %w", e.Train.Resume, err)
	}
	if was, is := m.Experiment.TokensPerStep(), e.TokensPerStep(); was != is {
		c.note("note: a step sees %d tokens, those of the run that is resumed saw %d", is, was)
	}
	e.Train.Resume = dir
	was := m.Experiment.Continued()
	return &runner.Resumed{Run: m.Run, Step: m.Step, Dir: dir, Experiment: &was}, nil
}
