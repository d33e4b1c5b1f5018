package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"boost-tui/runner"
	"boost-tui/runner/protocol"
)

// overRun puts a finished run into a store.
func overRun(t *testing.T, root, id string) string {
	t.Helper()
	dir := fakeRun(t, root, id, strings.ReplaceAll(goodRun, "good", id))
	text := fmt.Sprintf(`{"schema":1,"state":"finished","ranks":[],"ended":%q}`, time.Now().Add(-time.Hour).Format(time.RFC3339))
	if err := os.WriteFile(filepath.Join(dir, protocol.ResultFile), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// inStore runs a command line on a store and wants an exit code.
func inStore(t *testing.T, root string, code int, args ...string) result {
	t.Helper()
	r := try(t, append(args, "--runs", root)...)
	if r.code != code {
		t.Fatalf("%v: exit %d, want %d\n%s%s", args, r.code, code, r.stdout, r.err)
	}
	return r
}

func idsOf(t *testing.T, r result) string {
	t.Helper()
	var views []struct{ ID string }
	oneJSON(t, r.stdout, &views)
	var ids []string
	for _, v := range views {
		ids = append(ids, v.ID)
	}
	return strings.Join(ids, " ")
}

func TestArchivedRunsAreLeftOut(t *testing.T) {
	root := t.TempDir()
	overRun(t, root, "one")
	overRun(t, root, "two")
	inStore(t, root, exitOK, "archive", "one")
	for args, want := range map[string]string{"runs --json": "two", "runs --json --archived": "one", "runs --json --all": "two one", "runs --json --all -n 1": "two"} {
		if got := idsOf(t, inStore(t, root, exitOK, strings.Fields(args)...)); got != want {
			t.Errorf("%s: %s, want %s", args, got, want)
		}
	}
	if r := inStore(t, root, exitOK, "runs"); !strings.Contains(r.err, "1 archived run") || strings.Contains(r.stdout, "one") {
		t.Errorf("%s%s", r.stdout, r.err)
	}
	inStore(t, root, exitOK, "show", "one")
	inStore(t, root, exitOK, "archive", "--undo", "one", "--json")
	if got := idsOf(t, inStore(t, root, exitOK, "runs", "--json")); got != "two one" {
		t.Errorf("put back: %s", got)
	}
	inStore(t, root, exitUsage, "runs", "--archived", "--deleted")
	inStore(t, root, exitUsage, "runs", "--limit", "-1")
	inStore(t, root, exitUsage, "archive", "nobody")
}

func TestRmUndoAndGC(t *testing.T) {
	root := t.TempDir()
	for _, id := range []string{"one", "two", "three"} {
		overRun(t, root, id)
	}
	inStore(t, root, exitOK, "rm", "--yes", "three")
	var gone removed
	oneJSON(t, inStore(t, root, exitOK, "rm", "--yes", "one", "two", "--json").stdout, &gone)
	if len(gone.Removed) != 2 || !gone.Undo {
		t.Errorf("%+v", gone)
	}
	if got := idsOf(t, inStore(t, root, exitOK, "runs", "--deleted", "--json", "--disk")); len(strings.Fields(got)) != 3 {
		t.Errorf("in the trash: %s", got)
	}
	if r := inStore(t, root, exitUsage, "show", "one"); !strings.Contains(r.err, "runs undo") {
		t.Errorf("show: %s", r.err)
	}
	var back restored
	oneJSON(t, inStore(t, root, exitOK, "rm", "--undo", "--json").stdout, &back)
	if len(back.Restored) != 2 {
		t.Errorf("undone: %+v", back)
	}
	if got := idsOf(t, inStore(t, root, exitOK, "runs", "--json")); got != "two one" {
		t.Errorf("after the undo: %s", got)
	}
	for _, c := range []struct {
		args  string
		items int
		freed bool
	}{{"", 0, false}, {"--now", 1, false}, {"--trash-days 0", 1, false}, {"--now --yes", 1, true}, {"--now --yes", 0, true}} {
		var v freed
		oneJSON(t, inStore(t, root, exitOK, append([]string{"runs", "gc", "--json"}, strings.Fields(c.args)...)...).stdout, &v)
		v.Items = slices.DeleteFunc(v.Items, func(g garbage) bool { return filepath.IsAbs(g.Path) }) // of others on this machine
		if len(v.Items) != c.items || v.Freed != c.freed || (v.Bytes > 0) != (c.items > 0) {
			t.Errorf("gc %s: %+v", c.args, v)
		}
	}
	if r := inStore(t, root, exitUsage, "runs", "undo"); r.stdout != "" {
		t.Errorf("undo of nothing: %s", r.stdout)
	}
	inStore(t, root, exitOK, "rm", "--now", "--yes", "one")
	if entries, err := os.ReadDir(filepath.Join(root, ".trash")); err != nil || len(entries) != 0 {
		t.Errorf("for good: %v, %v", entries, err)
	}
	inStore(t, root, exitUsage, "rm")
	inStore(t, root, exitUsage, "rm", "two") // nobody to ask
	inStore(t, root, exitUsage, "runs", "gc", "--keep-last", "-2")
	inStore(t, root, exitUsage, "runs", "gc", "--trash-days", "99999999")
}

// What others wrote into names, tags, notes and causes reaches no terminal as it is.
func TestRunsOfHostileFolders(t *testing.T) {
	root := t.TempDir()
	dir := overRun(t, root, "evil")
	const evil = "\x1b]0;owned\x07\x1b[2J\u202ea\nb\t$(touch /tmp/owned)`id`'\""
	name, err := json.Marshal(evil)
	if err != nil {
		t.Fatal(err)
	}
	run := strings.Replace(strings.ReplaceAll(goodRun, "good", "evil"), `"schema": 1,`, `"schema": 1, "name": `+string(name)+`,`, 1)
	notes := fmt.Sprintf(`{"schema":1,"tags":["t\u001b[31m"],"note":%s}`, name)
	if err := errors.Join(os.WriteFile(filepath.Join(dir, protocol.RunFile), []byte(run), 0o600), os.WriteFile(filepath.Join(dir, protocol.NotesFile), []byte(notes), 0o600),
		os.Symlink("/etc", filepath.Join(root, "link"))); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"runs"}, {"runs", "--json"}, {"runs", "--disk"}, {"show", "evil"}, {"show", "evil", "--json"}, {"runs", "gc"}} {
		r := inStore(t, root, exitOK, args...)
		if strings.ContainsAny(r.stdout+r.err, "\x1b\x07\u202e") {
			t.Errorf("%v: %q %q", args, r.stdout, r.err)
		}
		if args[0] == "runs" && len(args) == 1 && (!strings.Contains(r.err, "link is a link to /etc") || strings.Count(r.stdout, "\n") != 2) {
			t.Errorf("%q %q", r.stdout, r.err)
		}
	}
	var views []runView
	oneJSON(t, inStore(t, root, exitOK, "runs", "--json").stdout, &views)
	if len(views) != 1 || views[0].Name != evil || views[0].State != string(runner.Finished) {
		t.Errorf("%+v", views)
	}
}

// Scripts learn how a run's ranks share the work, in every dimension that there is more than one of.
func TestRunsTellEveryDimension(t *testing.T) {
	root := t.TempDir()
	fakeRun(t, root, "good", goodRun)
	text := strings.Replace(strings.ReplaceAll(goodRun, "good", "wide"), `"parallel": {"tp": 1, "pp": 1, "dp": 1`, `"parallel": {"tp": 2, "pp": 3, "dp": 4, "zero": 1, "sp": true`, 1)
	fakeRun(t, root, "wide", text)
	var views []map[string]any
	oneJSON(t, inStore(t, root, exitOK, "runs", "--json").stdout, &views)
	for _, v := range views {
		for name, want := range map[string]any{"pp": 3.0, "dp": 4.0, "zero": 1.0, "sp": true} {
			if v["id"] == "wide" && v[name] != want || v["id"] == "good" && v[name] != nil {
				t.Errorf("%v: %s is %v", v["id"], name, v[name])
			}
		}
	}
}
