package runner

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"boost-tui/runner/protocol"
	"boost-tui/runner/slurm"
)

const (
	// limitEvery is how often Slurm is asked for the job's time limit, which its user or an administrator may change.
	limitEvery = time.Minute
	// limitMargin is how long before the end of its time a run is ended, so that ranks can finish a step and write a
	// checkpoint; of a short limit it is at most a fifth, and never less than limitLeast.
	limitMargin = 3 * time.Minute
	limitLeast  = 10 * time.Second
	// startSlack is how long a job may have been going before its script began.
	startSlack = 5 * time.Second
)

// limitNear begins the reason for which a run is ended before the time of its job is up.
const limitNear = "the time limit of its Slurm job is near"

// limitWatch knows how much time a job has left. It goes by this process's own clock: the hosts of a cluster need not agree.
type limitWatch struct {
	client *slurm.Client
	job    slurm.Ref
	began  time.Time // of the job, on this process's clock; zero: unknown
	asked  time.Time
	limit  time.Duration  // 0: unknown, or none
	answer chan slurm.Job // of the question that is out; nil: none is
}

// newLimitWatch asks at once, and waits for the answer no longer than the context allows.
func newLimitWatch(ctx context.Context, c *slurm.Client, a slurm.Allocation) *limitWatch {
	w := &limitWatch{client: c, job: a.Job, asked: time.Now()}
	j, err := c.Past(ctx, a.Job)
	if err != nil {
		return w // asked again by and by
	}
	if seconds, err := strconv.ParseUint(os.Getenv(envJobSeconds), 10, 31); err == nil && os.Getenv(envJobSeconds) != "" {
		w.began = processStart.Add(-time.Duration(seconds)*time.Second - startSlack)
	}
	if w.began.IsZero() && !j.Start.IsZero() { // a job that was there before: there is only the cluster's clock
		w.began = time.Now().Add(-time.Since(j.Start))
	}
	w.take(j)
	return w
}

// processStart is when this process began.
var processStart = time.Now()

func (w *limitWatch) take(j slurm.Job) {
	switch {
	case j.Unlimited:
		w.limit = 0
	case !j.Start.IsZero() && j.End.After(j.Start): // as it is now: limits change
		w.limit = j.End.Sub(j.Start)
	case j.Limit > 0:
		w.limit = j.Limit
	}
}

// near is the reason to end the run now; empty: there is time left, or nobody knows.
func (w *limitWatch) near() string {
	if w.answer != nil {
		select {
		case j := <-w.answer:
			w.answer = nil
			w.take(j)
		default:
		}
	} else if time.Since(w.asked) > limitEvery {
		w.asked, w.answer = time.Now(), make(chan slurm.Job, 1)
		go func(answer chan<- slurm.Job) { // it ends by the question's own deadline, and the channel has room
			j, _ := w.client.Past(context.Background(), w.job)
			answer <- j
		}(w.answer)
	}
	if w.limit <= 0 || w.began.IsZero() || time.Since(w.began) < w.limit-margin(w.limit) {
		return ""
	}
	return fmt.Sprintf("%s: job %s may take %s", limitNear, w.job.ID, slurm.Clock(w.limit))
}

func margin(limit time.Duration) time.Duration {
	return max(limitLeast, min(limitMargin, limit/5))
}

// frontWatch notices when the program in front of a run is gone: its sign of life changes no more.
type frontWatch struct {
	dir    string
	wanted bool
	seen   string
	at     time.Time // this process saw it change
}

// gone is the reason to end the run; empty: the program is there, or nobody ever was.
func (f *frontWatch) gone() string {
	if !f.wanted {
		return ""
	}
	data, err := protocol.ReadFile(filepath.Join(f.dir, frontFile), 64)
	if text := string(data); err == nil && text != f.seen || f.at.IsZero() {
		f.seen, f.at = text, time.Now()
	}
	if time.Since(f.at) < frontPatience {
		return ""
	}
	return fmt.Sprintf("%s%d s: it was killed or cut off", frontUnheard, int(frontPatience.Seconds()))
}
