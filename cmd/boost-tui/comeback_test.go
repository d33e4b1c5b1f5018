package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"boost-tui/profiler/record"
	"boost-tui/runner/protocol"
)

// chainOfRuns puts a run that failed into a store, and the one that it goes on as.
func chainOfRuns(t *testing.T, root string) {
	t.Helper()
	dir := overRun(t, root, "one")
	overRun(t, root, "two")
	when := time.Now().Add(-2 * time.Hour).Format(time.RFC3339)
	result := fmt.Sprintf(`{"schema":1,"state":"failed","cause":"a node failed","fault":"machine","ranks":[],"ended":%q,"restarted_as":"two"}`, when)
	next := strings.Replace(strings.ReplaceAll(goodRun, "good", "two"), `{"schema": 1,`, `{"schema": 1, "restart": {"of": "one", "number": 1},`, 1)
	for path, text := range map[string]string{filepath.Join(dir, protocol.ResultFile): result, filepath.Join(root, "two", protocol.RunFile): next} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// Who follows a run follows what it goes on as, and the end of that is the command's.
func TestAttachFollowsRestarts(t *testing.T) {
	root := t.TempDir()
	chainOfRuns(t, root)
	r := inStore(t, root, exitOK, "attach", "one", "--json")
	if !strings.Contains(r.err, "run one is failed: a node failed; it goes on as run two") || !strings.Contains(r.stdout, `"id": "two"`) {
		t.Errorf("%s%s", r.stdout, r.err)
	}
}

// Who follows the log of a run goes on with that of the one that it goes on as.
func TestLogsFollowRestarts(t *testing.T) {
	root := t.TempDir()
	chainOfRuns(t, root)
	for _, id := range []string{"one", "two"} {
		path := record.LogPath(filepath.Join(root, id), 0)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("said by "+id+"\n"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	r := inStore(t, root, exitOK, "logs", "one", "--follow")
	before, after, _ := strings.Cut(r.stdout, "said by one\n")
	if before != "" || !strings.Contains(after, "said by two") || !strings.Contains(r.err, "run one is failed; its log goes on in that of run two") {
		t.Errorf("%s%s", r.stdout, r.err)
	}
	if r := inStore(t, root, exitOK, "logs", "one"); strings.Contains(r.stdout, "two") {
		t.Error(r.stdout)
	}
}

// A run that goes on as another one names it, and that one what it goes on from.
func TestShowNamesRestarts(t *testing.T) {
	root := t.TempDir()
	chainOfRuns(t, root)
	for id, want := range map[string]string{"one": "goes on as  two", "two": "one (restart 1 of "} {
		if r := inStore(t, root, exitOK, "show", id); !strings.Contains(r.stdout, want) {
			t.Errorf("no %q in\n%s", want, r.stdout)
		}
	}
	members(t, "show", inStore(t, root, exitOK, "show", "one", "--json").stdout, "restarted_as")
	members(t, "show", inStore(t, root, exitOK, "show", "two", "--json").stdout, "restart.of", "restart.number")
	if r := inStore(t, root, exitOK, "runs", "--json"); !strings.Contains(r.stdout, `"restarted_as": "two"`) || !strings.Contains(r.stdout, `"of": "one"`) {
		t.Error(r.stdout)
	}
}

// Names find no run, and whoever tries is told the id.
func TestNamesAreNoIDs(t *testing.T) {
	root := t.TempDir()
	fakeRun(t, root, "one", strings.Replace(strings.ReplaceAll(goodRun, "good", "one"), `{"schema": 1,`, `{"schema": 1, "name": "my best",`, 1))
	for _, args := range [][]string{{"show", "my best"}, {"rm", "--yes", "my best"}} {
		if r := inStore(t, root, exitUsage, args...); !strings.Contains(r.err, "a name is no id: run one is called so") {
			t.Errorf("%v: %s", args, r.err)
		}
	}
	overRun(t, root, "two")
	if r := inStore(t, root, exitOK, "rm", "--yes", "two"); !strings.Contains(r.err, "after 14 days, `boost-tui runs gc --now --yes` at once") {
		t.Error(r.err)
	}
}

// A list says of a run that waits what for, in as much room as an error has.
func TestRunsSayWhatIsWaitedFor(t *testing.T) {
	for cause, want := range map[string]string{
		"Slurm job 12 waits for free nodes; place 2 of 2 in partition gpu": "pending (waits for free nodes)",
		"to be started again: Slurm job 12 waits for its start time":       "pending (waits for its start time)",
		"Slurm job 12: Slurm does not answer":                              "pending (Slurm does not answer)",
		"waits for 20260102-030405-a-longer-k3fz":                          "pending (waits for 20260102-030405-a-lon…)",
		"": "pending\t",
	} {
		if row := (runView{ID: "r", State: "pending", Cause: cause}).row(time.Now()); !strings.Contains(row, want) {
			t.Errorf("no %q in %q", want, row)
		}
	}
	back := runView{ID: "r", State: "cancelled", ComesBack: "waits to go on as restart 1 of 1: Slurm job 12 waits for its start time"}
	if row := back.row(time.Now()); !strings.Contains(row, "cancelled (waits to go on as restart 1 of 1)") {
		t.Error(row)
	}
	if row := (runView{ID: "r", State: "failed", Cause: "rank 0: exit code 1"}).row(time.Now()); strings.Contains(row, "rank 0") {
		t.Error(row)
	}
}

// The number of its job and its host are said of a run that is over, too.
func TestShowOfAJobThatIsOver(t *testing.T) {
	root := t.TempDir()
	dir := overRun(t, root, "one")
	overRun(t, root, "two")
	if err := os.MkdirAll(filepath.Dir(record.LogPath(dir, 0)), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{protocol.JobFile: `{"schema":1,"kind":"slurm","id":"12"}`, protocol.AgentFile: `{"schema":1,"host":"node7","pid":4}`, "log/r00000.log": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := inStore(t, root, exitOK, "show", "one")
	for _, want := range []string{"Slurm job 12\n", "node7\n"} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("no %q in\n%s", want, r.stdout)
		}
	}
	members(t, "show", inStore(t, root, exitOK, "show", "one", "--json").stdout, "job.id")
	if r := inStore(t, root, exitOK, "show", "two", "--json"); !strings.Contains(r.stdout, `"hosts": []`) {
		t.Error(r.stdout)
	}
}
