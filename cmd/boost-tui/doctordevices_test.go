package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"boost-tui/kernels/cuda"
)

// What doctor says of the emulated device fits together, whatever is at its place, and nothing of it is a control sequence.
func TestDoctorOnTheEmulatedDevice(t *testing.T) {
	dir := t.TempDir()
	odd := filepath.Join(dir, "ca\x1b[2J\nche")
	t.Setenv("XDG_CACHE_HOME", odd)
	t.Setenv("BOOST_EMU", "")
	path, err := cuda.Compiled()
	if err == nil {
		t.Fatal("it is there")
	}
	gpp := func(name, script string) string {
		bin := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(bin, 0o700), os.WriteFile(filepath.Join(bin, "g++"), []byte("#!/bin/sh\n"+script+"\n"), 0o700)); err != nil {
			t.Fatal(err)
		}
		return bin
	}
	good, bad := gpp("good", "echo g++ 12"), gpp("bad", "exit 1")
	for _, c := range []struct {
		name, path    string
		library       int // bytes that are there; none where negative
		mode          os.FileMode
		want, missing string
	}{
		{"not yet", good, -1, 0o700, "not compiled yet; the first use does, with g++ 12 (", ""},
		{"no compiler", "/nowhere", -1, 0o700, "none: no g++ to compile it with", "g++: no g++"},
		{"a compiler that fails", bad, -1, 0o700, "not compiled yet; the first use does, if its g++ answers then", "a g++ that answers: "},
		{"damaged", good, 10, 0o700, "damaged: it is not what was compiled; the next use compiles it anew, with g++ 12 (", ""},
		{"damaged, no compiler", "/nowhere", 10, 0o700, "none: ", "g++: no g++"},
		{"no place", good, -2, 0o700, "none: the folder for the compiled library will not do: ", "a folder for the compiled library: "},
		{"of others", good, 10, 0o722, "none: library ", "a library that can be used: library "},
	} {
		t.Setenv("PATH", c.path)
		if c.library >= 0 {
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, make([]byte, c.library), 0o700), os.Chmod(path, c.mode)); err != nil {
				t.Fatal(err)
			}
		}
		if t.Setenv("XDG_CACHE_HOME", odd); c.library == -2 {
			t.Setenv("XDG_CACHE_HOME", "/dev/null/x")
		}
		var d diagnosis
		d.examineEmulated(t.Context())
		text := d.Emulated.String()
		var lacks string
		for _, m := range d.Missing {
			lacks += m.What + ": " + m.How
		}
		if !strings.Contains(text, c.want) || !strings.HasPrefix(lacks, c.missing) || (lacks == "") != (c.missing == "") {
			t.Errorf("%s: %q; missing %q", c.name, text, lacks)
		}
		if strings.ContainsAny(text+lacks, "\x1b\n") {
			t.Errorf("%s: control characters: %q, %q", c.name, text, lacks)
		}
	}
	d := diagnosis{CUDA: cudaHere{Library: odd, Driver: odd}, Emulated: emulatedHere{Library: odd}}
	var out bytes.Buffer
	d.printDevices(func(name, text string, args ...any) { fmt.Fprintf(&out, "%s\t%s\n", name, fmt.Sprintf(text, args...)) })
	if strings.Contains(out.String(), "\x1b") || strings.Count(out.String(), "\n") != 4 {
		t.Errorf("%q", out.String())
	}
}
