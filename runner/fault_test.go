package runner

import (
	"encoding/json"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"boost-tui/runner/protocol"
)

func TestFaults(t *testing.T) {
	rec := func(code int, signal, cause string) protocol.ExitRecord {
		return protocol.ExitRecord{Rank: 1, Code: code, Signal: signal, Cause: cause, TSNanos: 5}
	}
	follower := protocol.ExitRecord{Rank: 0, Code: 4, Secondary: true, Cause: "its peer died", TSNanos: 1}
	small := &Predicted{MemBytes: 1 << 30, MachineBytes: 64 << 30}
	large := &Predicted{MemBytes: 24 << 30, MachineBytes: 64 << 30}
	oom := rec(-1, "SIGKILL", "was killed by SIGKILL, and "+outOfMemory+": it needs a smaller model")
	for name, c := range map[string]struct {
		state     State
		cause     string
		predicted *Predicted
		exits     []protocol.ExitRecord
		want      Fault
	}{
		"finished":         {state: Finished, want: NoFault},
		"running":          {state: Running, want: NoFault},
		"lost":             {state: Lost, cause: "its agent is gone", want: MachineFault},
		"cancelled":        {state: Cancelled, cause: "cancelled by ada", want: UserFault},
		"deleted":          {state: Cancelled, cause: directoryGone, want: UserFault},
		"agent told":       {state: Cancelled, cause: agentTold, want: MachineFault},
		"launcher killed":  {state: Cancelled, cause: launcherGone, want: MachineFault},
		"all ranks told":   {state: Cancelled, cause: "its agent is gone; " + ranksTold, want: MachineFault},
		"not finite":       {state: Failed, exits: []protocol.ExitRecord{follower, rec(1, "", "the loss of step 3 is NaN")}, want: ConfigurationFault},
		"bad data":         {state: Failed, exits: []protocol.ExitRecord{rec(1, "", "data: /x: token 300 is outside the vocabulary"), follower}, want: ConfigurationFault},
		"crash":            {state: Failed, exits: []protocol.ExitRecord{rec(-1, "SIGSEGV", "was ended by SIGSEGV"), follower}, want: ConfigurationFault},
		"panic":            {state: Failed, exits: []protocol.ExitRecord{rec(2, "", "ended with exit code 2: panic: x"), follower}, want: ConfigurationFault},
		"left early":       {state: Failed, exits: []protocol.ExitRecord{rec(0, "", leftWithoutError+" before"), follower}, want: ConfigurationFault},
		"killed":           {state: Failed, exits: []protocol.ExitRecord{rec(-1, "SIGKILL", "was killed by SIGKILL, from outside or"), follower}, want: MachineFault},
		"hung up":          {state: Failed, exits: []protocol.ExitRecord{rec(-1, "SIGHUP", "was ended by SIGHUP")}, want: MachineFault},
		"bus error":        {state: Failed, exits: []protocol.ExitRecord{rec(-1, "SIGBUS", "was ended by SIGBUS")}, want: MachineFault},
		"told":             {state: Failed, exits: []protocol.ExitRecord{rec(130, "", "was told to stop by SIGTERM, not by its agent")}, want: MachineFault},
		"full disk":        {state: Failed, exits: []protocol.ExitRecord{rec(1, "", "write x: "+syscall.ENOSPC.Error())}, want: MachineFault},
		"full, no record":  {state: Failed, cause: fullDisk + "; rank 0", exits: []protocol.ExitRecord{follower}, want: MachineFault},
		"bad disk":         {state: Failed, exits: []protocol.ExitRecord{rec(1, "", "read x: "+syscall.EIO.Error())}, want: MachineFault},
		"agent died":       {state: Failed, exits: []protocol.ExitRecord{follower}, want: MachineFault},
		"did not start":    {state: Failed, cause: "start rank 0: no such file", want: MachineFault},
		"own memory":       {state: Failed, exits: []protocol.ExitRecord{oom}, want: ConfigurationFault},
		"own, large":       {state: Failed, predicted: large, exits: []protocol.ExitRecord{oom}, want: ConfigurationFault},
		"others' memory":   {state: Failed, predicted: small, exits: []protocol.ExitRecord{oom}, want: MachineFault},
		"go out of memory": {state: Failed, exits: []protocol.ExitRecord{rec(2, "", "ended with exit code 2: fatal error: runtime: out of memory")}, want: ConfigurationFault},
	} {
		r := Run{Experiment: testExperiment("x", 2), Predicted: c.predicted}
		if got := faultOf(r, c.state, c.cause, c.exits); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestFaultOfRealRuns: results carry it, and results of earlier versions are judged by the records beside them.
func TestFaultOfRealRuns(t *testing.T) {
	for mode, want := range map[string]Fault{
		"ok": NoFault, "record:1": ConfigurationFault, "crash:1": ConfigurationFault, "panic:0": ConfigurationFault, "early:0": ConfigurationFault,
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			h := launch(t, mode, 2, false)
			if in := wait(t, h); in.Fault != want || in.Result.Fault != want {
				t.Errorf("%s: %s, fault %q, in the result %q", in.State, in.Cause, in.Fault, in.Result.Fault)
			}
			old(t, h.Dir, want)
		})
	}
	t.Run("killed rank", func(t *testing.T) {
		t.Parallel()
		h := launch(t, "hang", 2, false)
		inCollective(t, h.Dir, 2)
		if err := syscall.Kill(processes(h.Dir, "rank")[0], syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if in := wait(t, h); in.Result.Fault != MachineFault {
			t.Errorf("%s: %s, fault %q", in.State, in.Cause, in.Fault)
		}
		old(t, h.Dir, MachineFault)
	})
	t.Run("cancelled", func(t *testing.T) {
		t.Parallel()
		h := launch(t, "polite", 2, true)
		atStep3(t, h.Dir, 2)
		in, err := Cancel(t.Context(), NewStore(filepath.Dir(h.Dir)), h.Run.ID, "by ada")
		if err != nil || in.Result.Fault != UserFault {
			t.Errorf("%s: %s, fault %q, %v", in.State, in.Cause, in.Fault, err)
		}
		wait(t, h)
		old(t, h.Dir, UserFault)
	})
	t.Run("agent told to end", func(t *testing.T) {
		t.Parallel()
		h := launch(t, "polite", 2, true)
		atStep3(t, h.Dir, 2)
		if err := syscall.Kill(processes(h.Dir, "agent")[0], syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if in := wait(t, h); in.State != Cancelled || in.Result.Fault != MachineFault {
			t.Errorf("%s: %s, fault %q", in.State, in.Cause, in.Fault)
		}
		old(t, h.Dir, MachineFault)
	})
}

// old takes the fault out of a result, and puts one in that no version knows.
func old(t *testing.T, dir string, want Fault) {
	t.Helper()
	path := filepath.Join(dir, protocol.ResultFile)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []Fault{"", "\x1b[31mmoon"} {
		r, err := ParseResult(data)
		if err != nil {
			t.Fatal(err)
		}
		r.Fault = f
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		put(t, path, string(text))
		if in, err := Read(dir); err != nil || in.Fault != want {
			t.Errorf("with %q in its result: %q, want %q, %v", f, in.Fault, want, err)
		}
	}
}
