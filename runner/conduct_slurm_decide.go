package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"boost-tui/internal/regular"
	"boost-tui/runner/protocol"
)

// A run that is a job may be started again by two: by the program that stands over it on the job's first node, within the job, and
// by an agent on another node, which has Slurm queue the job again when that program is lost with its node. Doing both would end
// the new run with the old job. So whoever does it first says so in the folder of the run that is over, where one alone can.

const (
	decisionFile = "goes-on" // who starts a run again that is a job; written once, in the folder of the run that is over
	byConduct    = "conduct" // the program that stands over it, as another run in the job
	byQueue      = "queue"   // Slurm, which starts the job again

	conductFile  = "conduct-heart" // sign of life of the program that stands over a run within its job
	conductEvery = time.Second
)

// decide claims that the run of the folder is started again in one way; false: somebody else was first.
func decide(dir, way string) (first bool, err error) {
	err = protocol.WriteNew(filepath.Join(dir, decisionFile), []byte(way+"\n"))
	switch {
	case errors.Is(err, fs.ErrExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("say who starts the run again: %w", err)
	}
	return true, nil
}

func decided(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, decisionFile))
	return err == nil
}

// takeDecision makes the decision that of a job that Slurm has started again: whoever decided before ended with the job.
func takeDecision(dir string) error {
	return protocol.WriteFile(filepath.Join(dir, decisionFile), []byte(byConduct+"\n"))
}

// decides reports whether it is this program that may start a run again which is over.
func (c *conduct) decides(in Info) (bool, error) {
	if !c.o.Inside || !mayRestart(in) {
		return true, nil
	}
	return decide(in.Dir, byConduct)
}

// beatConduct shows that the program is there. Whoever looks at the file goes by its changes.
func beatConduct(dir string, at time.Time) error {
	f, err := regular.OpenFile(filepath.Join(dir, conductFile), os.O_CREATE|os.O_WRONLY, protocol.FileMode)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "%019d\n", at.UnixNano())
	return errors.Join(err, f.Close())
}

// conductLost waits until the program that stands over the run in its job is known to be lost: nothing is heard of it for as long as a
// host may be silent. False: it decides what comes next, and ends this process with the step.
func (a *agent) conductLost() bool {
	heart := staleness{dir: a.dir, file: conductFile}
	for limit := time.Now().Add(2 * (a.silence() + succeedPatience)); time.Now().Before(limit); time.Sleep(succeedEvery) {
		switch {
		case decided(a.dir):
			return false
		case heart.age() >= a.silence():
			return true
		}
	}
	return false
}
