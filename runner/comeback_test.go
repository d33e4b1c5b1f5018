package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"boost-tui/runner/protocol"
)

// comingRun is a run that Slurm ended and whose job waits in the queue again; the mark is there once the job was cancelled.
func comingRun(t *testing.T, id string) (s *Store, in Info, mark string) {
	t.Helper()
	mark = filepath.Join(t.TempDir(), "cancelled")
	slurmTools(t, map[string]string{
		"squeue": `[ -e ` + mark + ` ] && { ` + squeueGone + `; }; printf '%-16s%-20s%-120s\n' ` + id + ` PENDING BeginTime`,
		"scontrol": "[ -e " + mark + " ] || {\n" + controls(id, "JobState=PENDING Reason=BeginTime") + "; exit; }\n" +
			controls(id, "JobState=CANCELLED Reason=None"),
		"scancel": "echo $* >" + mark,
	})
	s, in = queuedRun(t, id)
	run, err := readRun(in.Dir)
	if err != nil {
		t.Fatal(err)
	}
	run.Experiment.Where.MaxRestarts = 1
	data, err := json.Marshal(run)
	if err == nil {
		err = protocol.WriteFile(filepath.Join(in.Dir, protocol.RunFile), data)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := writeResult(in.Dir, Result{State: Cancelled, Cause: jobOver + id + " was put back into the queue", Fault: MachineFault, Started: time.Now(), Ended: time.Now()}); err != nil {
		t.Fatal(err)
	}
	if in, err = s.Load(in.ID); err != nil || in.State != Cancelled {
		t.Fatal(err, in.State)
	}
	return s, in, mark
}

// What comes back by itself is not deleted: its job would stay in the queue and find no run.
func TestWhatComesBackIsNotDeleted(t *testing.T) {
	s, in, mark := comingRun(t, "950001")
	want := "its Slurm job 950001 comes back: `boost-tui cancel " + in.ID + "` first"
	if done, err := s.Trash(in.ID); err == nil || !strings.Contains(err.Error(), want) || len(done) > 0 {
		t.Fatal(done, err)
	}
	if err := s.Remove(in.ID); err == nil || !strings.Contains(err.Error(), want) {
		t.Fatal(err)
	}
	if _, err := Cancel(t.Context(), s, in.ID, "enough"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(mark); err != nil {
		t.Error("the job was not taken back: ", err)
	}
	if done, err := s.Trash(in.ID); err != nil || len(done) != 1 {
		t.Fatal(done, err)
	}
}

// A run whose job waits to go on says so, and who follows it hears of its successor.
func TestNextOfARunThatComesBack(t *testing.T) {
	s, in, _ := comingRun(t, "950002")
	if why := in.ComesBack(time.Now()); !strings.HasPrefix(why, "waits to go on as restart 1 of 1: Slurm job 950002 waits for its start time") {
		t.Error(why)
	}
	var told []string
	go func() {
		time.Sleep(2 * stateEvery)
		next, _, err := s.Create(in.Run.Experiment, CreateOptions{Restart: &Restart{Of: in.ID, Number: 1}})
		was := *in.Result
		was.RestartedAs = next.ID
		if err == nil {
			err = writeResult(in.Dir, was)
		}
		if err != nil {
			t.Error(err)
		}
	}()
	next, ok, err := Next(t.Context(), in, func(why string) { told = append(told, why) })
	if err != nil || !ok || next.Run.Restart == nil || next.Run.Restart.Of != in.ID || len(told) != 1 {
		t.Fatal(err, ok, next.ID, told)
	}
	// One whose job was taken back has none.
	s, in, mark := comingRun(t, "950003")
	if _, err := Cancel(t.Context(), s, in.ID, "enough"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(mark); err != nil {
		t.Error(err)
	}
	if _, ok, err := Next(t.Context(), in, nil); ok || err != nil {
		t.Error(ok, err)
	}
	if why := in.ComesBack(time.Now()); why != "" {
		t.Error(why)
	}
}

// A run whose job was taken back while it waited ended then, and not when it was made.
func TestEndOfAQueuedRun(t *testing.T) {
	for name, end := range map[string]string{"of Slurm": "2026-01-02T03:04:05", "unknown": "Unknown"} {
		id := fmt.Sprint(960000 + len(name))
		slurmTools(t, map[string]string{"squeue": squeueGone, "scontrol": controls(id, "JobState=CANCELLED Reason=None EndTime="+end)})
		s, in := queuedRun(t, id)
		run, err := readRun(in.Dir)
		if err != nil {
			t.Fatal(err)
		}
		run.Created = time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
		rewrite(t, in.Dir, protocol.RunFile, run)
		seen, err := s.Load(in.ID)
		if err != nil || seen.State != Cancelled || seen.Ended.IsZero() != (name == "unknown") {
			t.Errorf("%s: %v %s %v", name, err, seen.State, seen.Ended)
		}
		began := wallNow()
		got, err := Settle(t.Context(), s, in.ID)
		if err != nil || got.Result == nil {
			t.Fatalf("%s: %v", name, err)
		}
		switch {
		case name == "unknown" && got.Ended.Before(began.Add(-time.Second)):
			t.Errorf("it ended %v, before it was settled", got.Ended)
		case name != "unknown" && got.Ended.Format(time.DateTime) != "2026-01-02 03:04:05":
			t.Errorf("it ended %v", got.Ended)
		}
	}
}

// The first run of a chain stays for as long as its job goes on with another one, which is known by it.
func TestFirstOfAChainIsNotDeleted(t *testing.T) {
	s, in, _ := comingRun(t, "950004")
	next, dir, err := s.Create(in.Run.Experiment, CreateOptions{Restart: &Restart{Of: in.ID, Number: 1}})
	if err != nil {
		t.Fatal(err)
	}
	was := *in.Result
	was.RestartedAs = next.ID
	f, _ := readJob(in.Dir)
	if err := errors.Join(writeResult(in.Dir, was), writeJob(dir, f)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Trash(in.ID); err == nil || !strings.Contains(err.Error(), "run "+next.ID+" goes on from it") {
		t.Fatal(err)
	}
	if err := writeResult(dir, Result{State: Finished}); err != nil {
		t.Fatal(err)
	}
	if done, err := s.Trash(in.ID); err != nil || len(done) != 1 {
		t.Fatal(done, err)
	}
}

// A job that Slurm has started again goes on with a successor of the last run of its chain, also where that failed before any agent
// of it began; a run that was called off, or that somebody else has written off, starts nothing.
func TestRejoin(t *testing.T) {
	failed := Result{State: Failed, Fault: MachineFault, Cause: "start the agents by srun: no such node"}
	for name, c := range map[string]struct {
		result   Result
		restarts int  // that are left
		chained  bool // it is the successor of another run
		unknown  bool // nobody knows of its job
		goesOn   bool
	}{
		"successor that never began":                {failed, 1, true, false, true},
		"successor without a job file":              {failed, 1, true, true, true},
		"first run that never began":                {failed, 1, false, false, true},
		"first run whose job nobody knows of":       {failed, 1, false, true, false},
		"no restarts left":                          {failed, 0, true, false, false},
		"called off":                                {Result{State: Cancelled, Fault: UserFault, Cause: "cancelled by its user"}, 1, true, false, false},
		"written off":                               {Result{State: Lost, Fault: MachineFault, Cause: "it was never started"}, 1, true, false, false},
		"wrong input":                               {Result{State: Failed, Fault: ConfigurationFault, Cause: "host node1: interface"}, 1, true, false, false},
		"job that was put back before agents began": {Result{State: Cancelled, Fault: UserFault, Cause: jobOver + "970001 was put back into the queue"}, 1, true, false, true},
	} {
		s, in := queuedRun(t, "970001")
		t.Setenv("SLURM_JOB_ID", "970001")
		run, err := readRun(in.Dir)
		if err != nil {
			t.Fatal(err)
		}
		first := run
		first.Experiment.Where.MaxRestarts = c.restarts
		dir := in.Dir
		if c.chained {
			first.Experiment.Where.MaxRestarts++
			if err := writeResult(in.Dir, Result{State: Failed, Fault: MachineFault, Cause: "host node2 was lost: it is gone"}); err != nil {
				t.Fatal(err)
			}
			next, path, err := s.Create(first.Experiment, CreateOptions{Hosts: []string{}, Restart: &Restart{Of: run.ID, Number: 1}})
			if err != nil {
				t.Fatal(err)
			}
			before := readInfo(in.Dir, here(), time.Now())
			was := *before.Result
			was.RestartedAs = next.ID
			f, _ := readJob(in.Dir)
			if err := errors.Join(writeResult(in.Dir, was), writeJob(path, f)); err != nil {
				t.Fatal(err)
			}
			dir = path
		}
		rewrite(t, in.Dir, protocol.RunFile, first)
		if c.unknown {
			err = os.Remove(filepath.Join(dir, protocol.JobFile))
		}
		if err = errors.Join(err, writeResult(dir, c.result)); err != nil {
			t.Fatal(err)
		}
		next, err := (&conduct{o: ConductOptions{Inside: true}}).rejoin(t.Context(), in.Dir)
		if err != nil || (next != "") != c.goesOn {
			t.Errorf("%s: it goes on in %q, %v", name, next, err)
			continue
		}
		if next == "" {
			continue
		}
		if after := Last(readInfo(in.Dir, here(), time.Now())); after.Dir != next || after.Run.Restart.Of != filepath.Base(dir) {
			t.Errorf("%s: the chain ends with %s", name, after.Dir)
		}
	}
}
