package runner

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"boost-tui/runner/slurm"
)

const (
	// queueFresh is how long an answer of Slurm's is good: a screen looks every second, and hundreds of screens are open on a
	// cluster.
	queueFresh = 5 * time.Second
	// queueFailed is how long nobody asks again after Slurm has not answered.
	queueFailed = 15 * time.Second
	// queueWait is how long a list of runs waits for Slurm; what comes later is shown by the next one.
	queueWait = 3 * time.Second
	// queueWanted is how long after somebody looked at a job it is asked about with the others.
	queueWanted = time.Minute
)

// Jobs says what a scheduler knows of the jobs that runs are.
type Jobs interface {
	// Job describes a job, waiting a moment for the answer at most; an error says that nobody knows.
	Job(slurm.Ref) (QueuedJob, error)
}

// QueuedJob is a job, and where it stands in its queue.
type QueuedJob struct {
	slurm.Job
	Place slurm.Place
}

// queue is Slurm's queue as this process last heard of it. All who look at runs share it, so that Slurm is asked once for all
// jobs, and no oftener than it should be.
type queue struct {
	client *slurm.Client
	mu     sync.Mutex
	known  map[slurm.Ref]heard
	asking chan struct{} // closed when the question that is out is answered; nil: none is
	asked  time.Time     // when it was
}

// heard is the last answer about a job.
type heard struct {
	job    QueuedJob
	err    error
	at     time.Time // of the answer; zero: there is none yet
	wanted time.Time // when somebody last looked
}

// theQueue is shared by the process, as the process table is: it only remembers what others said.
var theQueue = sync.OnceValue(func() *queue { return newQueue(&slurm.Client{}) })

func newQueue(c *slurm.Client) *queue { return &queue{client: c, known: map[slurm.Ref]heard{}} }

// Job implements Jobs.
func (q *queue) Job(r slurm.Ref) (QueuedJob, error) {
	h, asking, asked := q.look(r)
	if asking != nil && (h.at.IsZero() || time.Since(h.at) > queueWanted) {
		limit := time.NewTimer(queueWait - time.Since(asked)) // all who ask wait for the same answer
		defer limit.Stop()
		select {
		case <-asking:
		case <-limit.C:
		}
		h, _, _ = q.look(r)
	}
	if h.at.IsZero() {
		return QueuedJob{}, &slurm.UnreachableError{Tool: "squeue", Message: fmt.Sprintf("no answer within %v", queueWait)}
	}
	return h.job, h.err
}

// look gives what is known, and has Slurm asked where that is old.
func (q *queue) look(r slurm.Ref) (heard, <-chan struct{}, time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	h := q.known[r]
	h.wanted = time.Now()
	q.known[r] = h
	good := queueFresh
	if h.err != nil {
		good = queueFailed
	}
	if q.asking == nil && (h.at.IsZero() || time.Since(h.at) > good) {
		q.asking, q.asked = make(chan struct{}), time.Now()
		go q.ask(q.due()) // it ends by the deadlines of its questions
	}
	return h, q.asking, q.asked
}

// forget has the next one who looks at a job ask about it: something was just done to it.
func (q *queue) forget(r slurm.Ref) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.known, r)
}

// due are the jobs that somebody looks at. What nobody looks at is forgotten, and so is nothing that is over.
func (q *queue) due() (refs []slurm.Ref) {
	for r, h := range q.known {
		switch {
		case time.Since(h.wanted) > queueWanted:
			delete(q.known, r)
		case !h.at.IsZero() && h.err == nil && h.job.Over() && time.Since(h.at) < queueWanted:
		default:
			refs = append(refs, r)
		}
	}
	return refs
}

// ask asks about jobs and lets those hear who wait.
func (q *queue) ask(refs []slurm.Ref) {
	ctx := context.Background()
	found, err := q.client.Find(ctx, refs)
	answers := map[slurm.Ref]heard{}
	for _, r := range refs {
		j, ok := found[r]
		h := heard{job: QueuedJob{Job: j}, at: time.Now()}
		if !ok {
			h.err = cmp.Or(err, error(&slurm.UnreachableError{Tool: "squeue", Message: "nothing about job " + r.ID}))
		} else if j.Waits() {
			h.job.Place, _ = q.client.Queue(ctx, j) // how many are before it is good to know, and no more
		}
		answers[r] = h
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for r, h := range answers {
		h.wanted = q.known[r].wanted
		q.known[r] = h
	}
	close(q.asking)
	q.asking = nil
}

// Waiting says in words what a job that waits is waiting for.
func (j QueuedJob) Waiting(now time.Time) string {
	text := "Slurm job " + j.ID + " " + slurm.Words(j.Reason)
	if j.Place.Position > 0 {
		text += fmt.Sprintf("; place %d of %d in partition %s", j.Place.Position, j.Place.Of, j.Partition)
	}
	if in := j.Start.Sub(now); !j.Start.IsZero() && in > 0 && !slurm.Hopeless(j.Reason) {
		text += fmt.Sprintf("; may start in %s (%s)", about(in), j.Start.Local().Format("Mon 15:04"))
	}
	return clean(text, maxLineRunes)
}

// about is a duration as people say it.
func about(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", max(1, int(d.Seconds())))
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

// TimeLeft is how long a job that runs may go on; ok is false where nobody knows, or it may for ever.
func (j QueuedJob) TimeLeft(now time.Time) (left time.Duration, ok bool) {
	if j.State.Phase() != slurm.Runs || j.Unlimited || j.End.IsZero() {
		return 0, false
	}
	return max(0, j.End.Sub(now)), true
}

// JobView is what is known of the job that a run is, or is part of.
type JobView struct {
	ID        string     `json:"id"`
	Cluster   string     `json:"cluster,omitempty"`
	State     string     `json:"state,omitempty"` // in Slurm's word; absent: nobody knows
	Reason    string     `json:"reason,omitempty"`
	Partition string     `json:"partition,omitempty"`
	Nodes     string     `json:"nodes,omitempty"` // in Slurm's short form
	Position  int        `json:"position,omitempty"`
	Of        int        `json:"of,omitempty"`    // jobs that wait for the partition
	Start     *time.Time `json:"start,omitempty"` // of one that waits: Slurm's estimate
	Left      *float64   `json:"left_s,omitempty"`
	Problem   string     `json:"problem,omitempty"` // why nobody knows
}

// Job describes the job of a run that is not over; nil: it has none.
func (in *Info) Job(now time.Time) *JobView {
	f, err := readJob(in.Dir)
	if err != nil || in.State.Over() && !comesBack(*in) {
		return nil
	}
	v := &JobView{ID: f.ID, Cluster: f.Cluster}
	j, err := askJob(in.Dir, f)
	if err != nil {
		v.Problem = clean(err.Error(), maxLineRunes)
		return v
	}
	v.State, v.Reason, v.Partition, v.Nodes = clean(string(j.State), 40), clean(j.Reason, maxLineRunes), clean(j.Partition, 80), clean(j.Nodes, maxLineRunes)
	v.Position, v.Of = j.Place.Position, j.Place.Of
	if !j.Start.IsZero() {
		v.Start = &j.Start
	}
	if left, ok := j.TimeLeft(now); ok {
		seconds := left.Seconds()
		v.Left = &seconds
	}
	return v
}

// String is the job in a line.
func (v JobView) String() string {
	text := "Slurm job " + v.ID
	if v.Cluster != "" {
		text += " on cluster " + v.Cluster
	}
	switch {
	case v.Problem != "":
		return text + ": " + v.Problem
	case v.Nodes != "":
		text += " on " + v.Nodes
	case v.State != "":
		text += ", " + strings.ToLower(v.State)
	}
	if v.Left != nil {
		text += ", " + about(time.Duration(*v.Left*float64(time.Second))) + " left"
	}
	return text
}
