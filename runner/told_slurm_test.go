package runner

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestWhoTold asks Slurm why it ends a job: again where it does not answer, and nothing is made of what it says of a job that goes on.
func TestWhoTold(t *testing.T) {
	const preempted = "JobState=RUNNING Reason=None PreemptTime=2026-11-30T04:00:00"
	for name, c := range map[string]struct {
		scontrol string
		state    State
		cause    string
	}{
		"preempted":             {controls("12", preempted), Cancelled, "its Slurm job 12 was preempted"},
		"preempted, busy at it": {"echo x >>COUNT; [ $(wc -l <COUNT) -gt 2 ] || { echo 'slurm_load_jobs error: Socket timed out' >&2; exit 1; }\n" + controls("12", preempted), Cancelled, "its Slurm job 12 was preempted"},
		"lost a node":           {controls("12", "JobState=NODE_FAIL Reason=None"), Failed, "its Slurm job 12 lost a node"},
		"goes on":               {controls("12", "JobState=RUNNING Reason=None"), Cancelled, agentTold},
		"nobody's":              {`echo "slurm_load_jobs error: Invalid job id specified" >&2; exit 1`, Cancelled, agentTold},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("RUN", "any")
			slurmTools(t, map[string]string{"scontrol": strings.ReplaceAll(c.scontrol, "COUNT", filepath.Join(t.TempDir(), "count"))})
			t.Setenv("SLURM_JOB_ID", "12")
			a := &agent{why: inquire()}
			if a.why == nil {
				t.Fatal("not in a job")
			}
			if state, cause := a.whoTold(Cancelled, agentTold); state != c.state || !strings.HasPrefix(cause, c.cause) {
				t.Errorf("the run is %s: %s", state, cause)
			}
		})
	}
	t.Setenv("SLURM_JOB_ID", "")
	if q := inquire(); q != nil {
		t.Error("Slurm is asked where there is no job")
	}
}
