package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
