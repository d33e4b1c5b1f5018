package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"boost-tui/experiment"
	"boost-tui/runner/protocol"
)

// The command of a run is the one that starts the same again, whoever started it and with what.
func TestShowOfACancelledRunFromTheUI(t *testing.T) {
	e := experiment.Default()
	for _, kv := range []assignment{{"tp", "2"}, {"steps", "40"}, {"scheme", "vanilla"}, {"name", "from the UI"}} {
		if err := e.Set(kv.key, kv.value); err != nil {
			t.Fatal(err)
		}
	}
	resolved, err := e.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]any{"schema": 1, "id": "r", "argv": []string{"boost-tui"}, "experiment": resolved})
	if err != nil {
		t.Fatal(err)
	}
	runs := t.TempDir()
	dir := fakeRun(t, runs, "r", string(text))
	if err := os.WriteFile(filepath.Join(dir, "result.json"), []byte(`{"schema": 1, "state": "cancelled", "cause": "asked for"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, x := range []protocol.ExitRecord{{Rank: 0, Code: protocol.CodeCancelled}, {Rank: 1, Code: -1, Signal: "SIGKILL", Cause: "it did not stop"}, {Rank: 2, Code: 1, Cause: "odd"}} {
		if err := os.MkdirAll(filepath.Join(dir, "exit"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := protocol.WriteExit(dir, x); err != nil {
			t.Fatal(err)
		}
	}
	r := try(t, "show", "r", "--runs", runs)
	for _, want := range []string{"boost-tui run --name 'from the UI' --scheme vanilla --tp 2 --steps 40\n", "rank 0: cancelled\n", "rank 1: SIGKILL: it did not stop\n", "rank 2: exit code 1: odd\n"} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("no %q in\n%s%s", want, r.stdout, r.err)
		}
	}
	members(t, "show", try(t, "show", "r", "--runs", runs, "--json").stdout, "argv", "command")
}
