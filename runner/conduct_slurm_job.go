package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"boost-tui/internal/regular"
	"boost-tui/runner/protocol"
	"boost-tui/runner/slurm"
)

const (
	// jobEvery is how often Slurm is asked about a job that somebody waits for in front: it is one small question.
	jobEvery = 5 * time.Second
	// jobSoon is how often before an agent is there: what goes wrong then goes wrong soon.
	jobSoon = 2 * time.Second
	// jobLate is how long after the end of a job its records may come: a network file system shows them late.
	jobLate = 3 * time.Second
	// resultEvery is how often a result is looked for.
	resultEvery = 100 * time.Millisecond
	// jobSilence is how long Slurm may not answer while a job is being killed, before nobody waits for it any more.
	jobSilence = 90 * time.Second
	// frontEvery is how often the program in front of a foreground run shows that it is there, frontPatience how long
	// the run goes on without: it and the one that waits for it were killed at once, or their machine went down.
	frontEvery    = 2 * time.Second
	frontPatience = 30 * time.Second
)

// slurmJob is a job that was submitted for a run in front, as the program that submitted it sees it.
type slurmJob struct {
	client *slurm.Client
	file   jobFile
	dir    string
	once   sync.Once
	killed chan struct{} // closed when the job was to be ended at once
}

func watchJob(c *slurm.Client, f jobFile, j conductJob) *slurmJob {
	return &slurmJob{client: c, file: f, dir: j.Dir, killed: make(chan struct{})}
}

// Cancel implements Agents. Agents end their ranks in order, and are told by file; a job that none has begun is just taken back.
func (s *slurmJob) Cancel(reason string) error {
	in := Last(readInfo(s.dir, here(), time.Now()))
	asked := requestCancel(in.Dir, reason)
	if _, err := readAgent(in.Dir); asked == nil && in.Result == nil && !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return s.Kill()
}

// Kill implements Agents.
func (s *slurmJob) Kill() error {
	s.once.Do(func() { close(s.killed) })
	dir, f := s.current()
	return endJob(context.Background(), s.client, dir, f)
}

// current is the job of the last run of the chain, which may be another one than that of the first.
func (s *slurmJob) current() (dir string, f jobFile) {
	dir = Last(readInfo(s.dir, here(), time.Now())).Dir
	if f, ok := ownJob(dir); ok {
		return dir, f
	}
	return s.dir, s.file
}

// endTold says for which cause agents ended, where the scheduler that started them knows it.
type endTold struct {
	cause string
	lost  []string // the hosts that were, if that was it
}

func (e *endTold) Error() string { return e.cause }

// jobSays is the end of a job in a sentence.
func jobSays(j slurm.Job) string {
	return clean(fmt.Sprintf("its Slurm job %s %s", j.ID, j.Ending()), maxLineRunes)
}

// Wait implements Agents.
func (s *slurmJob) Wait() error {
	front := newFront(s.dir)
	defer front.gone()
	ask := newAsking(s.client)
	defer ask.stop()
	tick := time.NewTicker(resultEvery)
	defer tick.Stop()
	var limit <-chan time.Time
	killed := s.killed
	for {
		select {
		case <-tick.C:
			in := Last(readInfo(s.dir, here(), time.Now()))
			front.beat(in.Dir)
			if in.Result != nil && !mayRestart(in) {
				return nil
			}
			_, f := s.current()
			ask.about(f.Ref, s.patience(killed == nil))
		case <-killed:
			killed, limit = nil, time.After(jobSilence)
		case <-limit:
			return fmt.Errorf("its Slurm job %s was to end and %v later nobody knows whether it did", s.file.ID, jobSilence)
		case j := <-ask.answers:
			ask.out = false
			if dir, f := s.current(); j.Over() && f.Ref == j.Ref && belongs(dir, f, j) {
				if j.State == slurm.Cancelled { // somebody does not want it to go on
					_ = requestCancel(Last(readInfo(s.dir, here(), time.Now())).Dir, jobSays(j))
				}
				return s.last(j)
			}
		}
	}
}

// patience is how long Slurm is left alone between two questions.
func (s *slurmJob) patience(ending bool) time.Duration {
	switch {
	case ending:
		return time.Second
	case s.began():
		return jobEvery
	}
	return jobSoon
}

// asking has Slurm asked about a job beside whatever else has to be done meanwhile: it may take long to answer.
type asking struct {
	client  *slurm.Client
	answers chan slurm.Job // empty where there was none
	out     bool           // a question is
	asked   time.Time
	ctx     context.Context
	cancel  context.CancelFunc
	wg      sync.WaitGroup
}

func newAsking(c *slurm.Client) *asking {
	a := &asking{client: c, answers: make(chan slurm.Job, 1), asked: time.Now()}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	return a
}

// about asks, where the last question was that long ago and is answered.
func (a *asking) about(r slurm.Ref, every time.Duration) {
	if a.out || time.Since(a.asked) < every {
		return
	}
	a.out, a.asked = true, time.Now()
	a.wg.Go(func() {
		found, _ := a.client.Find(a.ctx, []slurm.Ref{r}) // what is not known is asked again
		a.answers <- found[r]
	})
}

func (a *asking) stop() {
	a.cancel()
	a.wg.Wait()
}

// began reports whether an agent has taken the run on.
func (s *slurmJob) began() bool {
	_, err := readAgent(s.dir)
	return !errors.Is(err, fs.ErrNotExist)
}

// last waits for the records of a job that is over.
func (s *slurmJob) last(j slurm.Job) error {
	late := time.Now().Add(jobLate)
	for began := s.began(); began && time.Now().Before(late); time.Sleep(resultEvery) {
		if in := Last(readInfo(s.dir, here(), time.Now())); in.Result != nil {
			return nil
		}
	}
	in := Last(readInfo(s.dir, here(), time.Now()))
	in.judgeJobOver(QueuedJob{Job: j})
	return &endTold{cause: in.Cause}
}

// front is the sign of life of the program in front of a run.
type front struct {
	dir    string
	beaten time.Time
}

func newFront(dir string) *front { return &front{dir: dir} }

// beat shows it, where it is due. Whoever looks at it compares what it sees with what it saw, so no clocks need agree.
func (f *front) beat(dir string) {
	if dir == f.dir && time.Since(f.beaten) < frontEvery {
		return
	}
	f.dir, f.beaten = dir, time.Now()
	w, err := regular.OpenFile(filepath.Join(dir, frontFile), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, protocol.FileMode)
	if err != nil {
		return // the next one may succeed
	}
	_, _ = fmt.Fprintln(w, f.beaten.UnixNano())
	_ = w.Close()
}

// gone takes it away: the run is over.
func (f *front) gone() { _ = os.Remove(filepath.Join(f.dir, frontFile)) }
