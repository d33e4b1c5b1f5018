package runner

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestStepSays reads what srun said on the development cluster when a step ended as a whole: the tasks that it killed for that are
// no cause.
func TestStepSays(t *testing.T) {
	for name, c := range map[string]struct {
		said []string
		want string // in the cause
		lost []string
	}{
		"a node that is cut off when tasks start": {[]string{
			"srun: error: Task launch for StepId=38.0 failed on node node2: Communication connection failure",
			"srun: error: Application launch failed: Communication connection failure",
			"srun: Job step aborted: Waiting up to 7 seconds for job step to finish.",
			"srun: error: node1: task 0: Killed"}, "host node2 was lost: srun could not start its agent there: Communication connection failure", []string{"node2"}},
		"a node that fails": {[]string{"srun: error: Node failure on node2", "srun: Job step aborted: Waiting up to 7 seconds for job step to finish.",
			"srun: error: node1: task 0: Killed"}, "host node2 was lost: Slurm does not reach it any more", []string{"node2"}},
		"a node that started anew": {[]string{"srun: error: _server_write write failed: Bad file descriptor", "srun: error: Aborting, io error and missing step on node 1",
			"srun: Job step aborted: Waiting up to 7 seconds for job step to finish.", "srun: error: node1: task 0: Killed"},
			"host node2 was lost: Slurm finds its agent there no more: it went down, and may have started anew", []string{"node2"}},
		"SIGTERM of srun": {[]string{"srun: forcing job termination", "srun: Job step aborted: Waiting up to 7 seconds for job step to finish.",
			"srun: error: node1: task 0: Killed", "srun: error: node2: task 1: Killed"}, "srun, which had started its agents, was told to end (SIGTERM)", nil},
		"an agent that ended before": {[]string{"srun: error: node1: task 0: Exited with exit code 2", "srun: forcing job termination"}, "its agent on node1 ended: Exited with exit code 2", nil},
		"nothing":                    {[]string{"srun: got SIGCONT"}, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := &step{dir: t.TempDir(), hosts: []string{"node1", "node2"}}
			s.run.Experiment.Where.Nodes = 2
			log, err := os.Create(filepath.Join(s.dir, "agent.log"))
			if err != nil {
				t.Fatal(err)
			}
			defer log.Close()
			l := &stepLog{log: log, failed: s.failed, ended: s.ended}
			if _, err := l.Write([]byte(strings.Join(c.said, "\n") + "\n")); err != nil {
				t.Fatal(err)
			}
			var told *endTold
			switch err := s.told(); {
			case c.want == "":
				if err != nil {
					t.Error(err)
				}
			case !errors.As(err, &told) || told.cause != c.want || !slices.Equal(told.lost, c.lost):
				t.Errorf("%v", err)
			case len(c.lost) > 0 && faultOf(Run{}, Failed, told.cause, nil) != MachineFault:
				t.Error("a node that is lost is no fault of the machine")
			}
		})
	}
}
