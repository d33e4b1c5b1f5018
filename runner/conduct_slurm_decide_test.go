package runner

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"boost-tui/runner/control"
	"boost-tui/runner/protocol"
)

// failedJob is a run of two hosts that is a job, as the agent of its second host sees it whose first has ended.
func failedJob(t *testing.T, id string) (a *agent, marks string) {
	t.Helper()
	marks = t.TempDir()
	slurmTools(t, map[string]string{"scontrol": `case "$*" in *requeue*) touch ` + marks + `/requeued;; *)` + "\n" + controls(id, "JobState=RUNNING Reason=None") + ";; esac",
		"scancel": "touch " + marks + "/cancelled"})
	_, in := queuedRun(t, id)
	t.Setenv("SLURM_JOB_ID", id)
	run, err := readRun(in.Dir)
	if err != nil {
		t.Fatal(err)
	}
	run.Experiment.Where.MaxRestarts, run.Experiment.Where.HeartbeatTimeout = 1, leastSilence
	data, err := json.Marshal(run)
	if err = errors.Join(err, protocol.WriteFile(filepath.Join(in.Dir, protocol.RunFile), data)); err != nil {
		t.Fatal(err)
	}
	a = &agent{dir: in.Dir, run: run, o: AgentOptions{Share: Share{Host: 1, Hosts: 2}}, lostLeader: control.EndedWithoutWord}
	if err := a.writeSuccession(); err != nil {
		t.Fatal(err)
	}
	return a, marks
}

func there(t *testing.T, path string) bool {
	t.Helper()
	_, err := os.Lstat(path)
	return err == nil
}

// TestOneDecides: where an agent alone has ended, whoever stands over the run starts it again and nobody queues its job; where that
// program is silent as well, the job is queued again, and that program may start nothing any more.
func TestOneDecides(t *testing.T) {
	a, marks := failedJob(t, "960001")
	in := readInfo(a.dir, here(), time.Now())
	if in.Result == nil || len(in.Result.Lost) > 0 || !mayRestart(in) {
		t.Fatalf("its node is there: %+v", in.Result)
	}
	if err := beatConduct(a.dir, time.Now()); err != nil {
		t.Fatal(err)
	}
	c := &conduct{o: ConductOptions{Inside: true}}
	stop, done := time.Now().Add(2*leastSilence*time.Second), make(chan error)
	go func() {
		for time.Now().Before(stop) {
			if err := beatConduct(a.dir, time.Now()); err != nil {
				done <- err
				return
			}
			time.Sleep(200 * time.Millisecond)
		}
		_, err := c.decides(in)
		done <- err
	}()
	if err := errors.Join(a.handJobBack(), <-done); err != nil {
		t.Fatal(err)
	}
	if there(t, marks+"/requeued") || there(t, marks+"/cancelled") {
		t.Error("whoever stands over the run is there, and its job was taken away")
	}

	a, marks = failedJob(t, "960002")
	if err := a.handJobBack(); err != nil || !there(t, marks+"/requeued") {
		t.Fatal("nobody stands over the run, and its job was not queued again: ", err)
	}
	if mine, err := c.decides(readInfo(a.dir, here(), time.Now())); err != nil || mine {
		t.Error("its job is queued again, and it may start another run: ", err)
	}
	if err := takeDecision(a.dir); err != nil || !there(t, filepath.Join(a.dir, decisionFile)) {
		t.Error(err)
	}
}
