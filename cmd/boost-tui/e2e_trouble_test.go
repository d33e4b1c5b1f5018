package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"boost-tui/profiler/record"
)

// mountSmall puts a small file system of memory into a folder, for disks that fill up or cannot be written.
func mountSmall(t *testing.T, size string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("mounting a small file system needs root")
	}
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("a small file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func TestFullDiskEndsTheRunWithAReason(t *testing.T) {
	p := newProgram(t)
	p.runs = filepath.Join(mountSmall(t, "512k"), "runs")
	first := strings.TrimSpace(p.want(exitOK, shortRun("--steps", "5", "--detach")...).stdout)
	p.eventually(goneWithin*2, "end of the first run", func() bool { return p.view(filepath.Join(p.runs, first)).State == "finished" })
	r := p.run(shortRun("--steps", endless, "--json")...)
	var v runView
	oneJSON(t, r.stdout, &v)
	if r.code != exitFailed || v.State != "failed" || !strings.Contains(v.Cause, "space") {
		t.Errorf("exit %d, state %q, cause %q\n%s", r.code, v.State, v.Cause, r.err)
	}
	p.gone(filepath.Join(p.runs, v.ID))
	if v := p.view(filepath.Join(p.runs, first)); v.State != "finished" {
		t.Errorf("the run before is %s", v.State)
	}
	if r := p.run(shortRun("--steps", "5")...); r.code == exitOK || !strings.Contains(r.err, "space") {
		t.Errorf("a run on the full disk: exit %d, %s", r.code, r.err)
	}
	p.want(exitOK, "rm", "--yes", v.ID)
}

func TestReadOnlyStore(t *testing.T) {
	p := newProgram(t)
	root := mountSmall(t, "1m")
	p.runs = filepath.Join(root, "runs")
	id := strings.TrimSpace(p.want(exitOK, shortRun("--steps", "3", "--detach")...).stdout)
	p.eventually(goneWithin*2, "end of the run", func() bool { return p.view(filepath.Join(p.runs, id)).State == "finished" })
	p.gone(filepath.Join(p.runs, id)) // an agent that is just leaving has files open for writing
	if err := syscall.Mount("tmpfs", root, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Skipf("the file system cannot be made read-only here: %v", err)
	}
	if r := p.run(shortRun("--steps", "3")...); r.code != exitFailed || !strings.Contains(r.err, "read-only") {
		t.Errorf("a run in a read-only store: exit %d, %s", r.code, r.err)
	}
	p.want(exitOK, "runs")
	p.want(exitOK, "show", id)
	p.want(exitOK, "compare", id)
	for _, args := range [][]string{{"tag", id, "x"}, {"rm", "--yes", id}} {
		if r := p.run(args...); r.code != exitFailed || !strings.Contains(r.err, "read-only") {
			t.Errorf("%v: exit %d, %s", args, r.code, r.err)
		}
	}
}

func TestDataThatCannotBeUsed(t *testing.T) {
	p := newProgram(t)
	empty := filepath.Join(t.TempDir(), "empty.txt")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/nowhere/data.txt", empty} {
		r := p.run(shortRun("--steps", "3", "--data", path)...)
		if r.code != exitUsage || r.stdout != "" || !strings.Contains(r.err, path) {
			t.Errorf("--data %s: exit %d, stdout %q, stderr %s", path, r.code, r.stdout, r.err)
		}
	}
}

func TestDamagedAndNewerRunsDisturbNoOthers(t *testing.T) {
	p := newProgram(t)
	p.want(exitOK, shortRun("--steps", "8", "--name", "good")...)
	good := p.onlyRun()
	damaged, newer := good+"x", good+"y"
	for _, to := range []string{damaged, newer} {
		if err := os.CopyFS(to, os.DirFS(good)); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{record.StepsPath(damaged, 0), record.EventsPath(damaged), record.RollupPath(damaged)} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, info.Size()-20); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(newer, "run.json")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, bytes.Replace(data, []byte(`"schema": 1`), []byte(`"schema": 99`), 1), 0o600); err != nil {
		t.Fatal(err)
	}

	var all []runView
	oneJSON(t, p.want(exitOK, "runs", "--json").stdout, &all)
	if len(all) != 3 {
		t.Fatalf("%d runs, want 3", len(all))
	}
	for _, v := range all {
		if newerOne := v.Dir == newer; newerOne != strings.Contains(v.Error, "newer") {
			t.Errorf("%s: error %q", v.ID, v.Error)
		}
	}
	if v := p.view(damaged); v.State != "finished" || v.Step == nil || *v.Step < 7 {
		t.Errorf("the damaged run: %+v", v.runView)
	}
	p.want(exitOK, "compare", filepath.Base(good), filepath.Base(damaged))
	if r := p.run("show", filepath.Base(newer)); r.code != exitFailed || !strings.Contains(r.err, "newer") {
		t.Errorf("show of a newer run: exit %d, %s", r.code, r.err)
	}
	// A prefix that fits three runs is no run.
	if r := p.run("show", filepath.Base(good)[:12]); r.code != exitUsage || !strings.Contains(r.err, "fits 3") {
		t.Errorf("an ambiguous id: exit %d, %s", r.code, r.err)
	}
}
