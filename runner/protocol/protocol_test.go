package protocol

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"boost-tui/experiment"
)

func spec() RankSpec {
	return RankSpec{
		RunDir: "/runs/a", Rank: 1, World: 2, LocalRank: 1, LocalWorld: 2, Threads: 1,
		Rendezvous: "127.0.0.1:4000", Secret: "s", Experiment: experiment.Default(), Version: "v",
		SegmentFD: 3, BoardFD: 4, ListenerFD: NoFD,
	}
}

func TestSpecRoundTrip(t *testing.T) {
	var b bytes.Buffer
	if err := WriteSpec(&b, spec()); err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(b.Bytes(), []byte{'\n'}); n != 1 {
		t.Fatalf("%d lines", n)
	}
	got, err := ReadSpec(&b)
	if err != nil {
		t.Fatal(err)
	}
	want := spec()
	want.Schema = Schema
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("got %+v\nwant %+v", got, want)
	}
}

// TestSpecLeavesLifeline reads from a pipe that stays open: the reader must not wait for more.
func TestSpecLeavesLifeline(t *testing.T) {
	r, w := io.Pipe()
	go func() {
		if err := WriteSpec(w, spec()); err != nil {
			t.Error(err)
		}
	}()
	if _, err := ReadSpec(r); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if n, err := r.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Fatalf("lifeline gives %d bytes, %v", n, err)
	}
}

func TestSpecRefused(t *testing.T) {
	for name, edit := range map[string]func(*RankSpec){
		"relative directory": func(s *RankSpec) { s.RunDir = "runs/a" },
		"rank":               func(s *RankSpec) { s.Rank = 2 },
		"negative rank":      func(s *RankSpec) { s.Rank = -1 },
		"world":              func(s *RankSpec) { s.World = MaxRanks + 1 },
		"local rank":         func(s *RankSpec) { s.LocalRank = 5 },
		"local world":        func(s *RankSpec) { s.LocalWorld = 3 },
		"threads":            func(s *RankSpec) { s.Threads = 0 },
		"descriptor":         func(s *RankSpec) { s.BoardFD = -2 },
		"size":               func(s *RankSpec) { s.Secret = strings.Repeat("x", MaxSpecBytes) },
	} {
		s := spec()
		edit(&s)
		if err := WriteSpec(io.Discard, s); err == nil {
			t.Errorf("%s: written", name)
		}
	}
	for name, line := range map[string]string{
		"cut off":     `{"schema":1`,
		"empty":       "",
		"not json":    "hello\n",
		"other":       `{"schema":2}` + "\n",
		"two lines":   "{}\n{}\n",
		"line so far": strings.Repeat(" ", MaxSpecBytes+10),
	} {
		if _, err := ReadSpec(strings.NewReader(line)); err == nil {
			t.Errorf("%s: read", name)
		}
	}
}

func TestExitRoundTrip(t *testing.T) {
	dir := t.TempDir()
	if _, err := ReadExit(dir, 3); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("a record that is not there: %v", err)
	}
	e := ExitRecord{Schema: Schema, Rank: 3, Code: -1, Signal: "SIGKILL", Cause: "killed", Step: 9, Operation: "forward", TSNanos: 5, LogTail: []string{"a"}}
	if err := WriteExit(dir, e); err != nil {
		t.Fatal(err)
	}
	got, err := ReadExit(dir, 3)
	if err != nil || !reflect.DeepEqual(got, e) {
		t.Fatalf("%+v, %v", got, err)
	}
	if err := os.Rename(ExitPath(dir, 3), ExitPath(dir, 4)); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadExit(dir, 4); err == nil {
		t.Fatal("a record of another rank")
	}
	names, _ := filepath.Glob(filepath.Join(ExitDir(dir), ".*"))
	if len(names) != 0 {
		t.Fatalf("left behind: %v", names)
	}
}

func TestExitRefused(t *testing.T) {
	for _, text := range []string{"", "{", `{"schema":2}`, `{"schema":1,"rank":-1}`, `{"schema":1,"rank":70000}`, `[1]`} {
		if _, err := ParseExit([]byte(text)); err == nil {
			t.Errorf("%q parsed", text)
		}
	}
}

func TestReadFileBounds(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	if err := WriteFile(path, bytes.Repeat([]byte{'x'}, 100)); err != nil {
		t.Fatal(err)
	}
	if st, _ := os.Stat(path); st.Mode().Perm() != FileMode {
		t.Errorf("mode %v", st.Mode())
	}
	if _, err := ReadFile(path, 99); err == nil {
		t.Error("longer than the limit")
	}
	if data, err := ReadFile(path, 100); err != nil || len(data) != 100 {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	if _, err := ReadFile(dir, 100); err == nil {
		t.Error("a directory")
	}
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFile(fifo, 100); err == nil {
		t.Error("a FIFO")
	}
	if err := WriteFile(filepath.Join(dir, "none", "f"), nil); err == nil || !strings.Contains(err.Error(), "none/f") {
		t.Errorf("into nowhere: %v", err)
	}
}

func TestWriteNew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := WriteNew(path, []byte("first")); err != nil {
		t.Fatal(err)
	}
	if err := WriteNew(path, []byte("second")); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "first" {
		t.Errorf("%q, %v", data, err)
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
		t.Errorf("left %v", entries)
	}
}

func FuzzReadSpec(f *testing.F) {
	var b bytes.Buffer
	if err := WriteSpec(&b, spec()); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte("{}\n"))
	f.Fuzz(func(t *testing.T, line []byte) {
		s, err := ReadSpec(bytes.NewReader(line))
		if err == nil && s.Check() != nil {
			t.Fatalf("accepted %+v", s)
		}
	})
}

func FuzzParseExit(f *testing.F) {
	good, _ := json.Marshal(ExitRecord{Schema: Schema, Rank: 1, LogTail: []string{"x"}})
	f.Add(good)
	f.Fuzz(func(t *testing.T, data []byte) {
		if e, err := ParseExit(data); err == nil && (e.Rank < 0 || e.Schema > Schema) {
			t.Fatalf("accepted %+v", e)
		}
	})
}
