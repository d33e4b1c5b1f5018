package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"boost-tui/runner/protocol"
	"boost-tui/runner/slurm"
)

// requeuePatience is how long a job that was put back into the queue may take to end here.
const requeuePatience = 2 * time.Minute

// rejoin finds the run that a job has to go on with: the run itself, or a successor where Slurm has started the job again, after a
// node failed, another job took its nodes, or its time was up; empty: there is none. The run that it was before is over with that,
// whatever it came to write, and whether or not an agent of it came to begin.
func (c *conduct) rejoin(ctx context.Context, dir string) (string, error) {
	if !c.o.Inside {
		return dir, nil
	}
	in := Last(readInfo(dir, here(), time.Now()))
	if in.Err != nil {
		return "", in.Err
	}
	if _, err := readAgent(in.Dir); errors.Is(err, fs.ErrNotExist) {
		if in.Result == nil {
			return in.Dir, nil // it was about to start
		}
		if _, known := ownJob(in.Dir); in.State == Lost || in.Run.Restart == nil && !known {
			return "", nil // nobody knew that its job had been taken: it may never start
		}
	}
	if in.Result == nil {
		why := fmt.Sprintf("%s%s was started again by Slurm, after a node failed or another job took its nodes", jobOver, os.Getenv("SLURM_JOB_ID"))
		h := newHandle(in.Run, in.Dir, ended{&endTold{cause: why}})
		<-h.ended
		in = h.settle()
	}
	if in.State == Finished {
		return "", nil
	}
	if err := forgetOrder(in.Dir); err != nil {
		return "", err
	}
	if in.State == Cancelled && in.Fault == UserFault && strings.HasPrefix(in.Cause, jobOver) {
		in.Fault = MachineFault // a job that its user cancelled does not come back
	}
	if err := takeDecision(in.Dir); err != nil {
		return "", err
	}
	return c.restart(ctx, in)
}

// forgetOrder takes back the order to end a run that this program gave itself, because the time of its job was up.
func forgetOrder(dir string) error {
	reason, asked := cancelRequest(dir)
	if !asked || !strings.HasPrefix(reason, limitNear) && !strings.HasPrefix(reason, agentTold) {
		return nil
	}
	return os.Remove(filepath.Join(dir, protocol.CancelFile))
}

// leaves reports that a run ended because its job ends: there is no use in starting another one in it.
func (c *conduct) leaves(in Info) bool {
	return c.o.Inside && ofJob(in.Cause)
}

// comeBack has Slurm start this job again when its run ended only because the job's time was up or another job needs its nodes,
// and may go on.
func (c *conduct) comeBack(dir string) error {
	in := Last(readInfo(dir, here(), time.Now()))
	if in.Result == nil || !c.leaves(in) || !mayRestart(in) {
		return nil
	}
	if f, own := ownJob(in.Dir); own && f.ID == os.Getenv("SLURM_JOB_ID") {
		if first, err := decide(in.Dir, byQueue); err != nil {
			return err
		} else if !first { // an agent does it, which ends this process as well
			time.Sleep(requeuePatience)
			return nil
		}
		return requeue(&slurm.Client{}, f)
	}
	return nil
}

// requeue puts this job back into the queue, which ends this process with it.
func requeue(c *slurm.Client, f jobFile) error {
	if err := c.Requeue(context.Background(), f.Ref); err != nil {
		return err
	}
	time.Sleep(requeuePatience)
	return fmt.Errorf("job %s was put back into the queue, and %v later it still runs", f.ID, requeuePatience)
}
