package runner

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"boost-tui/runner/slurm"
)

// stuckRun is a run that is over in state s and whose job holds its nodes until it is cancelled.
func stuckRun(t *testing.T, id string, state State, ended time.Time, name string) (st *Store, in Info, mark string) {
	t.Helper()
	mark = filepath.Join(t.TempDir(), "cancelled")
	controls := func(rest string) string {
		return strings.ReplaceAll(controls(id, rest), "boost-tui-", name)
	}
	slurmTools(t, map[string]string{
		"squeue":   `[ -e ` + mark + ` ] && { ` + squeueGone + `; }; printf '%-16s%-20s%-120s\n' ` + id + ` RUNNING None`,
		"scontrol": "[ -e " + mark + " ] || {\n" + controls("JobState=RUNNING Reason=None") + "; exit; }\n" + controls("JobState=CANCELLED Reason=None"),
		"scancel":  "echo $* >" + mark,
	})
	st, in = queuedRun(t, id)
	if err := writeResult(in.Dir, Result{State: state, Cause: "enough", Started: ended, Ended: ended}); err != nil {
		t.Fatal(err)
	}
	return st, in, mark
}

// TestCancelEndsTheJob: a run is over, and what runs in its job stands still. The job is ended, now and by a second try.
func TestCancelEndsTheJob(t *testing.T) {
	s, in, mark := stuckRun(t, "970001", Cancelled, time.Now(), "boost-tui-")
	if _, err := Cancel(t.Context(), s, in.ID, "again"); err != nil || !there(t, mark) {
		t.Error("the job holds its nodes: ", err)
	}
	if _, err := Cancel(t.Context(), s, in.ID, "again"); err == nil || !strings.Contains(err.Error(), "is not running") {
		t.Error(err)
	}

	s, in, mark = stuckRun(t, "970002", Finished, time.Now(), "boost-tui-")
	if _, err := Cancel(t.Context(), s, in.ID, "late"); err == nil || there(t, mark) {
		t.Error("it has just finished, and its job is about to end: ", err)
	}

	_, in, mark = stuckRun(t, "970003", Failed, time.Now(), "boost-tui-")
	f := jobFile{Kind: jobSlurm, Ref: slurm.Ref{ID: "970003"}}
	if err := leftQueue(t.Context(), &slurm.Client{}, in.Dir, f); err != nil || !there(t, mark) {
		t.Error("the job does not leave by itself: ", err)
	}

	s, in, mark = stuckRun(t, "970004", Cancelled, time.Now(), "others-")
	if _, err := Cancel(t.Context(), s, in.ID, "again"); err == nil || there(t, mark) {
		t.Error("the number is another job's by now: ", err)
	}
	if _, err := os.Stat(filepath.Join(in.Dir, "job.json")); errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
