package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"boost-tui/runner/protocol"
)

// Restart says that a run goes on where another one of the same store was failed by the machine.
type Restart struct {
	Of     string `json:"of"`     // id of the run before
	Number int    `json:"number"` // of the restart, from 1 on
}

func (r *Restart) check() error {
	if r == nil {
		return nil
	}
	if checkID(r.Of) != nil || r.Number < 1 || r.Number > maxRestarts { // it becomes a path
		return fmt.Errorf("it is restart %d of a run %q", r.Number, clean(r.Of, 40))
	}
	return nil
}

// maxRestarts bounds a chain of runs that is followed, so that a damaged one cannot lead in circles.
const maxRestarts = 1000

// restartNumber is how many restarts led to this run.
func (r Run) restartNumber() int {
	if r.Restart == nil {
		return 0
	}
	return r.Restart.Number
}

// restart creates the successor of a run that the machine failed, where its experiment asks for one, and gives the
// successor's folder; empty: there is none.
func (c *conduct) restart(ctx context.Context, in Info) (next string, err error) {
	switch {
	case ctx.Err() != nil || in.Err != nil || in.Result == nil || in.Result.RestartedAs != "":
		return "", nil
	case !mayRestart(in):
		return "", nil
	}
	if _, asked := cancelRequest(in.Dir); asked {
		return "", nil
	}
	if _, err := os.Lstat(filepath.Join(in.Dir, protocol.RunFile)); err != nil { // it was deleted
		return "", nil
	}
	c.lost = append(c.lost, in.Result.Lost...)
	s := NewStore(filepath.Dir(in.Dir))
	e, resumed := in.Run.Experiment, in.Run.Resumed
	switch dir, step, err := c.checkpoint(in.Dir); {
	case err == nil:
		e.Train.Resume, e.Train.InitFrom = dir, "" // what its weights began with is in the checkpoint
		was := in.Run.Experiment.Continued()
		resumed = &Resumed{Run: in.Run.ID, Step: step, Dir: dir, Experiment: &was}
	case !errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("find a checkpoint of run %s to go on from: %w", in.ID, err)
	}
	r, dir, err := s.Create(e, CreateOptions{Argv: in.Run.Argv, Predicted: in.Run.Predicted, Versions: in.Run.Versions, GPUs: in.Run.GPUs, Foreground: in.Run.Foreground,
		Sweep: in.Run.Sweep, Resumed: resumed, Hosts: successorHosts(in.Run, c.lost), Restart: &Restart{Of: in.Run.ID, Number: in.Run.restartNumber() + 1}})
	if err != nil {
		return "", fmt.Errorf("restart run %s: %w", in.ID, err)
	}
	was := *in.Result
	was.RestartedAs = r.ID
	if err := writeResult(in.Dir, was); err != nil { // nobody would find the successor
		return "", errors.Join(fmt.Errorf("restart run %s: %w", in.ID, err), os.RemoveAll(dir))
	}
	return dir, nil
}

// successorHosts are the hosts that the successor of a run is started on, after some were lost: where hosts are named, spare ones take
// the places of those.
func successorHosts(was Run, lost []string) []string {
	by, err := conductorOf(was.Experiment.Where)
	if c, ok := by.(sshConductor); ok && err == nil {
		return c.without(lost)
	}
	return was.Hosts
}

func (c *conduct) checkpoint(dir string) (string, int, error) {
	if c.o.Checkpoint == nil {
		return "", 0, fs.ErrNotExist
	}
	return c.o.Checkpoint(dir)
}

// successor describes the run that another one was restarted as, in the folder beside it; false: it was not.
func successor(in Info) (Info, bool) {
	if in.Result == nil || checkID(in.Result.RestartedAs) != nil {
		return in, false
	}
	next := readInfo(filepath.Join(filepath.Dir(in.Dir), in.Result.RestartedAs), here(), wallNow())
	if next.Err != nil || next.Run.Restart == nil || next.Run.Restart.Of != in.ID || next.Run.restartNumber() != in.Run.restartNumber()+1 {
		return in, false
	}
	return next, true
}

// Last follows a chain of restarts to its last run, which is the run itself where there is none.
func Last(in Info) Info {
	for range maxRestarts {
		next, ok := successor(in)
		if !ok {
			break
		}
		in = next
	}
	return in
}
