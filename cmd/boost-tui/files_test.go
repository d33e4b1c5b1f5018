package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"boost-tui/profiler/record"
	"boost-tui/runner"
	"boost-tui/runner/protocol"
)

func TestJSONHoldsNothingThatSteersATerminal(t *testing.T) {
	const text = "a\u009b31m\u007f\u0080 \u202e\u2066\u200f\u2028\u061c \u00e4\u4e16 \\ \" \n <b>"
	var out bytes.Buffer
	a := &app{streams: streams{out: &out}}
	if err := a.printJSON(map[string]string{"x": text}); err != nil {
		t.Fatal(err)
	}
	for _, r := range out.String() {
		if steers(r) {
			t.Errorf("%U is in %q", r, out.String())
		}
	}
	var back map[string]string
	if err := json.Unmarshal(out.Bytes(), &back); err != nil || back["x"] != text {
		t.Errorf("%q, %v", back["x"], err)
	}
	if !strings.Contains(out.String(), "\u00e4\u4e16") || !strings.Contains(out.String(), "<b>") {
		t.Errorf("harmless text was escaped: %s", out.String())
	}
}

func FuzzEscape(f *testing.F) {
	f.Add("\u009b")
	f.Add("\xff\u202e\xc2")
	f.Fuzz(func(t *testing.T, s string) {
		data, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var want, got string
		if json.Unmarshal(data, &want) != nil || json.Unmarshal(escape(data), &got) != nil || got != want {
			t.Errorf("%q became %q", want, got)
		}
		if strings.ContainsFunc(string(escape(data)), steers) {
			t.Errorf("%q", escape(data))
		}
	})
}

// fakeRun puts a run that nothing can be said of but what run.json says into a store.
func fakeRun(t *testing.T, root, id, text string) string {
	t.Helper()
	dir := filepath.Join(root, id)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, protocol.RunFile), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

const (
	goodRun  = `{"schema": 1, "id": "good", "plan": {"scheme": "btp", "variant": "cola", "tp": 1, "pp": 1, "dp": 1}, "experiment": {"parallel": {"tp": 1, "pp": 1, "dp": 1}}}`
	newerRun = `{"schema": 99, "id": "newer"}`
)

func TestUsageOfTheStore(t *testing.T) {
	root := t.TempDir()
	file, link, runs := filepath.Join(root, "file"), filepath.Join(root, "link"), filepath.Join(root, "runs")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Symlink("nowhere", link)); err != nil {
		t.Fatal(err)
	}
	dir := fakeRun(t, runs, "good", goodRun)
	for _, c := range []struct{ args, want string }{
		{"runs --state nope", "want pending, running, finished"},
		{"logs good --tail -5", "want a number of lines"},
		{"export good --to " + dir, "choose a folder outside of runs"},
		{"export good --to " + dir + "/log/x", "choose a folder outside of runs"},
		{"completion bash --json", "leave out --json"},
		{"runs --runs " + file, "is no folder"},
		{"show good --runs " + file, "is no folder"},
		{"rm good --yes --runs " + file, "is no folder"},
		{"compare good --runs " + file, "is no folder"},
		{"run --runs " + file, "is no folder"},
		{"runs --runs " + file + "/x", "lie in something that is no folder"},
		{"runs --runs " + link, "is a link to nowhere, which is not there"},
	} {
		args := strings.Fields(c.args)
		if !strings.Contains(c.args, "--runs") {
			args = append(args, "--runs", runs)
		}
		if r := try(t, args...); r.code != exitUsage || r.stdout != "" || !strings.Contains(r.err, c.want) {
			t.Errorf("%s: exit %d, %q, %q", c.args, r.code, r.stdout, r.err)
		}
	}
	if r := try(t, "runs", "--runs", runs, "--state", "finished"); r.code != exitOK || !strings.Contains(r.err, "none of the 1 runs") {
		t.Errorf("an empty filter: exit %d, %q", r.code, r.err)
	}
	if _, err := os.Stat(filepath.Join(dir, "steps.csv")); err == nil {
		t.Error("an export went into a run")
	}
	if r := try(t, "doctor", "--runs", link); r.code != exitOK || !strings.Contains(r.stdout, "link to nowhere") {
		t.Errorf("doctor: exit %d, %s", r.code, r.stdout)
	}
}

func TestTheStateColumnIsShort(t *testing.T) {
	runs := t.TempDir()
	fakeRun(t, runs, "newer", newerRun)
	r := try(t, "runs", "--runs", runs)
	if r.code != exitOK || !strings.Contains(r.stdout, "…)") || len(strings.Split(r.stdout, "\n")[1]) > 110 {
		t.Errorf("exit %d, %s", r.code, r.stdout)
	}
}

func TestUnreadableRunsAreNamedAndTheOthersCompared(t *testing.T) {
	runs := t.TempDir()
	fakeRun(t, runs, "good", goodRun)
	fakeRun(t, runs, "newer", newerRun)
	to := filepath.Join(t.TempDir(), "csv")
	r := try(t, "compare", "good", "newer", "--json", "--runs", runs)
	var table struct{ Rows []struct{ ID string } }
	oneJSON(t, r.stdout, &table)
	if r.code != exitFailed || len(table.Rows) != 1 || table.Rows[0].ID != "good" || !strings.Contains(r.err, "run newer") {
		t.Errorf("compare: exit %d, %s, %s", r.code, r.stdout, r.err)
	}
	r = try(t, "export", "good", "newer", "--to", to, "--runs", runs)
	if _, err := os.Stat(filepath.Join(to, "steps.csv")); err != nil || r.code != exitFailed || !strings.Contains(r.err, "run newer") {
		t.Errorf("export: exit %d, %v, %s", r.code, err, r.err)
	}
	if r = try(t, "compare", "newer", "--runs", runs); r.code != exitFailed || r.stdout != "" {
		t.Errorf("only newer: exit %d, %s", r.code, r.stdout)
	}
}

func TestAdviceFitsTheCommand(t *testing.T) {
	runs := t.TempDir()
	fakeRun(t, runs, "good", goodRun)
	r := try(t, "export", "good", "--to", "/proc/nowhere", "--runs", runs)
	if r.code != exitFailed || strings.Contains(r.err, "--runs") {
		t.Errorf("exit %d, %s", r.code, r.err)
	}
}

// A launch that fails is an object all the same.
func TestFailedLaunchPrintsItsState(t *testing.T) {
	for _, args := range []string{"run --steps 1", "demo --steps 1"} {
		r := try(t, append(strings.Fields(args), "--json", "--runs", "/proc/nowhere")...)
		var v struct{ State, Cause string }
		oneJSON(t, r.stdout, &v)
		if r.code != exitFailed || v.State != string(runner.Failed) || v.Cause == "" {
			t.Errorf("%s: exit %d, %s", args, r.code, r.stdout)
		}
	}
}

// Whoever reads may leave: that fails nothing.
func TestReaderMayLeave(t *testing.T) {
	p := newProgram(t)
	fakeRun(t, p.runs, "good", goodRun)
	for _, args := range [][]string{{"runs"}, {"runs", "--json"}, {"--help"}, {"plan"}, {"completion", "bash"}} {
		cmd := p.command(args...)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		var errs bytes.Buffer
		cmd.Stderr = &errs
		if err := errors.Join(out.Close(), cmd.Start()); err != nil {
			t.Fatal(err)
		}
		stop := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %v %s", args, err, errs.String())
		}
		stop.Stop()
	}
}

// What goes on only to be read ends with its reader, long before the run does.
func TestFollowedLogEndsWithItsReader(t *testing.T) {
	p := newProgram(t)
	id := strings.TrimSpace(p.want(exitOK, shortRun("--steps", endless, "--detach")...).stdout)
	dir := filepath.Join(p.runs, id)
	p.reaches(dir, 1)
	cmd := p.command("logs", id, "--follow")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(cmd.Start(), out.Close()); err != nil {
		t.Fatal(err)
	}
	stop := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
	defer stop.Stop()
	for range 2 {
		log, err := os.OpenFile(record.LogPath(dir, 0), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.WriteString(log, "one\ntwo\n")
		if err := errors.Join(err, log.Close()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(300 * time.Millisecond)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	p.want(exitOK, "cancel", id)
}
