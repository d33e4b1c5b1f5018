package prove

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// names are what a folder holds.
func names(t *testing.T, dir string) (out []string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		out = append(out, e.Name())
	}
	return out
}

// Where no report can be, nothing is measured, and nothing is left or replaced.
func TestNoPlaceForReport(t *testing.T) {
	dir := t.TempDir()
	there, link := filepath.Join(dir, "there.json"), filepath.Join(dir, "link.json")
	if err := errors.Join(os.WriteFile(there, []byte("mine"), 0o600), os.Symlink("/nowhere", link)); err != nil {
		t.Fatal(err)
	}
	for name, out := range map[string]string{
		"empty": "", "folder": dir, "folder to be": filepath.Join(dir, "x") + "/", "taken": there, "link": link, "device": os.DevNull,
		"no folder": filepath.Join(dir, "no", "x.json"), "below a file": filepath.Join(there, "x.json"),
	} {
		o := faulty(t)
		o.Out = out
		measured := filepath.Join(dir, "measured")
		if err := os.WriteFile(o.Program, []byte("#!/bin/sh\n: >"+measured+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		if _, err := All(t.Context(), o); !errors.Is(err, ErrOut) {
			t.Errorf("%s: %v", name, err)
		}
		if left := names(t, dir); strings.Join(left, " ") != "link.json there.json" {
			t.Errorf("%s: there are %v", name, left)
		}
	}
	if text, err := os.ReadFile(there); err != nil || string(text) != "mine" {
		t.Errorf("%q, %v", text, err)
	}
}

// What cannot be written leaves nothing beside what was there, and a name is taken once.
func TestReportFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "r.json")
	f := reportFile{path: path}
	for _, text := range []string{"one", "another"} {
		if err := f.write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("%q, %v", got, err)
		}
	}
	second := reportFile{path: path}
	if err := second.write([]byte("x")); !errors.Is(err, os.ErrExist) {
		t.Errorf("a second one: %v", err)
	}
	if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o700)); err != nil {
		t.Fatal(err)
	}
	if err := f.write([]byte("x")); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("over a folder: %v", err)
	}
	if left := names(t, dir); len(left) != 1 {
		t.Errorf("there are %v", left)
	}
}

// Folders of programs that were killed go, those of others that work stay.
func TestWorkFolders(t *testing.T) {
	dir := t.TempDir()
	killed, err := newWork(dir)
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, workPrefix+name) }
	elsewhere := t.TempDir()
	err = errors.Join(os.WriteFile(filepath.Join(killed.dir, "run"), nil, 0o600), killed.lock.Close(),
		os.WriteFile(at("file"), nil, 0o600), os.Symlink(elsewhere, at("link")), os.Mkdir(filepath.Join(dir, "others"), 0o700))
	if err != nil {
		t.Fatal(err)
	}
	works, err := newWork(dir)
	if err != nil {
		t.Fatal(err)
	}
	if there(filepath.Join(killed.dir, "run")) {
		t.Error("what a killed program left is there yet")
	}
	again, err := newWork(dir)
	if err != nil {
		t.Fatal(err)
	}
	if left := names(t, dir); len(left) != 5 {
		t.Errorf("there are %v", left)
	}
	if err := errors.Join(again.remove(), works.remove()); err != nil {
		t.Error(err)
	}
	if left := names(t, dir); len(left) != 3 {
		t.Errorf("there are %v", left)
	}
}

// Of many programs that begin at once none takes another's folder away.
func TestWorkFoldersAtOnce(t *testing.T) {
	dir := t.TempDir()
	done := make(chan error)
	const n = 16
	for range n {
		go func() {
			w, err := newWork(dir)
			if err == nil {
				err = os.WriteFile(filepath.Join(w.dir, "x"), nil, 0o600)
				err = errors.Join(err, w.remove())
			}
			done <- err
		}()
	}
	for range n {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if left := names(t, dir); len(left) != 0 {
		t.Errorf("there are %v", left)
	}
}
