package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"boost-tui/runner/slurm"
)

// stepLog keeps what srun says, and tells of tasks that failed. srun alone writes to it.
type stepLog struct {
	log    *os.File
	line   []byte
	failed func(slurm.TaskFailure)
	ended  func(slurm.StepEnd)
}

// maxStepLine bounds a line of srun's that is looked at.
const maxStepLine = 4096

// Write implements io.Writer. A log that cannot be written ends no run.
func (l *stepLog) Write(p []byte) (int, error) {
	_, _ = l.log.Write(p)
	for _, b := range p {
		if b != '\n' {
			if len(l.line) < maxStepLine {
				l.line = append(l.line, b)
			}
			continue
		}
		if f, ok := slurm.ParseTaskFailure(string(l.line)); ok {
			l.failed(f)
		} else if e, ok := slurm.ParseStepEnd(string(l.line)); ok {
			l.ended(e)
		}
		l.line = l.line[:0]
	}
	return len(p), nil
}

// failed writes the account of a host whose agent could not: the program is missing there, or the folder.
func (s *step) failed(f slurm.TaskFailure) {
	for _, task := range f.Tasks {
		if task >= max(1, s.run.Experiment.Where.Nodes) {
			return
		}
		cause := fmt.Sprintf("its agent on %s ended: %s", clean(f.Nodes, 64), clean(f.How, 120))
		if f.Nodes == "" {
			cause = fmt.Sprintf("its agent %s: does %s share the folder of runs?", clean(f.How, 120), s.hostOf(task))
		}
		if said := lastLine(filepath.Join(s.dir, "agent-"+strconv.Itoa(task)+".log")); said != "" {
			cause += ": " + said
		}
		if task > 0 {
			_ = writePart(s.dir, task, part{Cause: clean(cause, maxLineRunes)}) // one that is there is the agent's own
			continue
		}
		s.mu.Lock()
		s.leader = cause
		s.mu.Unlock()
	}
}

// ended notes why the step as a whole ends: what srun says of tasks after that follows from it.
func (s *step) ended(e slurm.StepEnd) {
	told := &endTold{cause: "srun, which had started its agents, was told to end (SIGTERM)"}
	node := clean(e.Node, 64)
	switch {
	case e.Number > 0:
		node = s.hostOf(e.Number - 1)
		told.cause = "host " + node + hostLost + "Slurm finds its agent there no more: it went down, and may have started anew"
	case node != "" && e.How != "":
		told.cause = "host " + node + hostLost + "srun could not start its agent there: " + clean(e.How, 120)
	case node != "":
		told.cause = "host " + node + hostLost + "Slurm does not reach it any more"
	}
	if node != "" && (e.Number == 0 || containsHost(s.hosts, node)) {
		told.lost = []string{node}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.why == nil && s.leader == "" {
		s.why = told
	}
}

// hostOf names the host of a task. Where the allocation has more nodes than the run, srun picked some.
func (s *step) hostOf(task int) string {
	if len(s.hosts) == max(1, s.run.Experiment.Where.Nodes) && task < len(s.hosts) {
		return clean(s.hosts[task], 64)
	}
	return fmt.Sprintf("node number %d", task+1)
}

// ledNoMore is why the agent that looks after the whole run has ended; empty: it has not.
func (s *step) ledNoMore() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.leader
}

// told is why the agents have ended, as srun has told it; nil: it has not.
func (s *step) told() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.why != nil:
		return s.why
	case s.leader != "":
		return &endTold{cause: s.leader}
	}
	return nil
}
