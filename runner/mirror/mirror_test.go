package mirror

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// testNames are the files of a small run.
func testNames(name string) Class {
	switch {
	case strings.HasPrefix(name, "steps/"), strings.HasPrefix(name, "log/"), strings.HasSuffix(name, ".btl"):
		return Growing
	case strings.HasPrefix(name, "ckpt/") && strings.HasSuffix(name, ".safetensors"):
		return Bulk
	case strings.HasPrefix(name, "exit/"), strings.HasSuffix(name, ".json"), name == "heartbeat":
		return Entire
	}
	return None
}

// cutter passes so many bytes and then breaks.
type cutter struct {
	w    io.WriteCloser
	left int
}

func (c *cutter) Write(p []byte) (int, error) {
	if len(p) > c.left {
		n, _ := c.w.Write(p[:c.left])
		c.left = 0
		c.w.Close()
		return n, io.ErrClosedPipe
	}
	c.left -= len(p)
	return c.w.Write(p)
}

// session mirrors from one folder to another until its budget of bytes is spent, or, where it is enough, all is the same.
func session(t *testing.T, from, to string, budget int) (same bool) {
	t.Helper()
	sink, err := NewSink(to, testNames)
	if err != nil {
		t.Fatal(err)
	}
	defer sink.Close()
	fromServer, serverOut := io.Pipe()
	fromKeeper, keeperOut := io.Pipe()
	server := &Server{In: bufio.NewReader(fromKeeper), Out: &cutter{serverOut, budget}, Source: NewSource(from, testNames),
		Handle: func(Message) error { return nil }, Status: func() []byte { return nil }}
	served := make(chan error, 1)
	go func() {
		err := server.Run(context.Background())
		serverOut.Close()
		fromKeeper.Close()
		served <- err
	}()
	k := &Keeper{In: bufio.NewReader(fromServer), Out: keeperOut, Sink: sink, Handle: func(Message) (bool, error) { return false, nil }}
	over := make(chan struct{})
	ran := make(chan error, 1)
	if _, err := k.Hello(); err == nil {
		err = k.Begin()
		go func() { err := k.Run(); close(over); ran <- err }()
		if err == nil {
			same = k.Finish(context.Background(), over) == nil
		}
		if same {
			if err := k.Send(Message{Kind: Bye}); err != nil {
				t.Error(err)
			}
		}
		keeperOut.Close()
		fromServer.Close()
		if err := <-ran; errors.Is(err, ErrMessage) {
			t.Errorf("keeper: %v", err)
		}
	}
	keeperOut.Close()
	fromServer.Close()
	if err := <-served; errors.Is(err, ErrMessage) {
		t.Errorf("server: %v", err)
	}
	return same
}

// change does something to a run's files.
func change(t *testing.T, r *rand.Rand, dir string) {
	t.Helper()
	name := []string{"steps/r00000.jsonl", "steps/r00001.jsonl", "log/r00000.log", "timeline/r00000.btl"}[r.IntN(4)]
	path := filepath.Join(dir, name)
	_ = os.MkdirAll(filepath.Dir(path), 0o700)
	data := make([]byte, r.IntN(3*markBytes))
	for i := range data {
		data[i] = byte(r.IntN(256))
	}
	var err error
	switch r.IntN(8) {
	case 0: // replaced
		err = errors.Join(os.WriteFile(path+".new", data, 0o600), os.Rename(path+".new", path))
	case 1: // cut short
		err = os.Truncate(path, int64(len(data)/3))
	case 2: // changed in place
		var f *os.File
		if f, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600); err == nil {
			_, err = f.WriteAt([]byte("header"), 24)
			err = errors.Join(err, f.Close())
		}
	case 3:
		exit := filepath.Join(dir, fmt.Sprintf("exit/r%05d.json", r.IntN(3)))
		_ = os.MkdirAll(filepath.Dir(exit), 0o700)
		err = errors.Join(os.WriteFile(exit+".new", data, 0o600), os.Rename(exit+".new", exit))
	case 4:
		err = os.Remove(filepath.Join(dir, "exit/r00001.json"))
	case 5:
		step := filepath.Join(dir, "ckpt", fmt.Sprintf(".step-%d", r.IntN(4)))
		shard := filepath.Join(step, "r00000.safetensors")
		if _, e := os.Lstat(shard); e != nil {
			err = errors.Join(os.MkdirAll(step, 0o700), os.WriteFile(shard, bytes.Repeat(data, 20), 0o600), os.WriteFile(filepath.Join(step, ".r00000.json"), data, 0o600))
		}
	default:
		var f *os.File
		if f, err = os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600); err == nil {
			_, err = f.Write(data)
			err = errors.Join(err, f.Close())
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
}

// tree reads all files of a folder that testNames knows.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		all[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestAnyCutAndResumeGivesTheSameFiles(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 7))
			from, to := t.TempDir(), t.TempDir()
			for range 5 + r.IntN(15) {
				for range r.IntN(6) {
					change(t, r, from)
				}
				session(t, from, to, r.IntN(60_000))
			}
			for range 3 { // a file that went while nobody looked is not noticed: it must be gone for a look
				if session(t, from, to, 1<<30) {
					break
				}
			}
			want, have := tree(t, from), tree(t, to)
			for name, data := range want {
				if have[name] != data {
					t.Errorf("%s: %d bytes here, %d there", name, len(have[name]), len(data))
				}
			}
			for name := range have {
				if _, ok := want[name]; !ok && !strings.HasPrefix(name, "exit/") {
					t.Errorf("%s is too many", name)
				}
			}
		})
	}
}

func TestSinkRefuses(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	if err := errors.Join(os.Symlink(outside, filepath.Join(dir, "steps")), os.Symlink(filepath.Join(outside, "x.json"), filepath.Join(dir, "result.json")),
		os.Mkdir(filepath.Join(dir, "log"), 0o700), os.Symlink(filepath.Join(outside, "log"), filepath.Join(dir, "log", "r00000.log"))); err != nil {
		t.Fatal(err)
	}
	s, err := NewSink(dir, testNames)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, m := range []Message{
		{Kind: Data, Name: "../x", Data: []byte("x")},
		{Kind: Data, Name: "/etc/passwd", Data: []byte("x")},
		{Kind: Data, Name: "steps/../../x", Data: []byte("x")},
		{Kind: Data, Name: "steps/r00000.jsonl", Data: []byte("x")}, // through a link to a folder outside
		{Kind: Data, Name: "log/r00000.log", Data: []byte("x")},     // a link itself
		{Kind: Data, Name: "log/r00001.log", Offset: 10, Data: []byte("x")},
		{Kind: Data, Name: "log/r00001.log", Offset: 1, Flags: Fresh, Data: []byte("x")},
		{Kind: Data, Name: "unknown", Data: []byte("x")},
		{Kind: Data, Name: "result.json", Data: []byte("x")},
		{Kind: Whole, Name: "log/r00002.log", Flags: Fresh | Last, Data: []byte("x")},
		{Kind: Whole, Name: "run.json", Offset: 5, Flags: Last, Data: []byte("x")},
		{Kind: Gone, Name: "other"},
		{Kind: Status, Name: "log/r00002.log"},
	} {
		if err := s.Apply(m); err == nil {
			t.Errorf("%c %q at %d was taken", m.Kind, m.Name, m.Offset)
		}
	}
	if left := tree(t, outside); len(left) > 0 {
		t.Errorf("outside: %v", left)
	}
	if err := s.Apply(Message{Kind: Whole, Name: "result.json", Flags: Fresh | Last, Data: []byte("{}")}); err != nil {
		t.Errorf("a link in the way: %v", err) // it is replaced, not followed
	}
	if left := tree(t, outside); len(left) > 0 {
		t.Errorf("outside: %v", left)
	}
}

func TestCheckpointComesBeforeItsSide(t *testing.T) {
	dir := t.TempDir()
	step := filepath.Join(dir, "ckpt", ".step-5")
	if err := errors.Join(os.MkdirAll(step, 0o700), os.WriteFile(filepath.Join(step, "r00000.safetensors"), make([]byte, 3*bulkRound), 0o600),
		os.WriteFile(filepath.Join(step, ".r00000.json"), []byte("{}"), 0o600), os.MkdirAll(filepath.Join(dir, "steps"), 0o700),
		os.WriteFile(filepath.Join(dir, "steps", "r00000.jsonl"), []byte("x\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	s := NewSource(dir, testNames)
	var names []string
	var bytes int64
	for more := true; more; {
		var err error
		if more, err = s.Round(func(m Message) error {
			if len(names) == 0 || names[len(names)-1] != m.Name {
				names = append(names, m.Name)
			}
			if m.Name == "ckpt/.step-5/.r00000.json" && bytes < 3*bulkRound {
				t.Errorf("the side came after %d bytes", bytes)
			}
			if strings.HasSuffix(m.Name, ".safetensors") {
				bytes += int64(len(m.Data))
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if len(names) != 3 || names[0] != "steps/r00000.jsonl" {
		t.Errorf("order: %v", names)
	}
}

func TestServerLeavesWithTheStream(t *testing.T) {
	r, w := io.Pipe()
	s := &Server{In: bufio.NewReader(r), Out: io.Discard, Handle: func(Message) error { return nil }, Status: func() []byte { return nil }}
	done := make(chan error, 1)
	go func() { done <- s.Run(context.Background()) }()
	for _, m := range []Message{{Kind: Hello, Name: Version}, {Kind: Go}, {Kind: Beat}} {
		if err := m.Write(w); err != nil {
			t.Fatal(err)
		}
	}
	w.Close()
	select {
	case err := <-done:
		if !errors.Is(err, io.EOF) {
			t.Errorf("%v", err)
		}
	case <-time.After(5 * time.Second):
		t.Fatal("it stays")
	}
}

func FuzzRead(f *testing.F) {
	var b bytes.Buffer
	for _, m := range []Message{{Kind: Hello, Name: Version}, {Kind: Data, Flags: Fresh, Name: "log/r00000.log", Data: []byte("text")}, {Kind: Whole, Flags: Last, Name: "a.json", Offset: 3}} {
		if err := m.Write(&b); err != nil {
			f.Fatal(err)
		}
		f.Add(bytes.Clone(b.Bytes()))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bufio.NewReader(bytes.NewReader(data))
		for {
			m, err := Read(r)
			if err != nil {
				return
			}
			var again bytes.Buffer
			if err := m.Write(&again); err != nil {
				t.Fatalf("%+v: %v", m, err)
			}
			back, err := Read(bufio.NewReader(&again))
			if err != nil || back.Kind != m.Kind || back.Name != m.Name || back.Offset != m.Offset || back.Flags != m.Flags || !bytes.Equal(back.Data, m.Data) {
				t.Fatalf("%+v became %+v, %v", m, back, err)
			}
		}
	})
}

func FuzzSink(f *testing.F) {
	f.Add("steps/r00000.jsonl", byte('d'), byte(1), int64(0), []byte("x"))
	f.Add("../../x", byte('w'), byte(3), int64(0), []byte("x"))
	f.Add("exit/r00000.json", byte('w'), byte(3), int64(0), []byte("x"))
	f.Fuzz(func(t *testing.T, name string, kind, flags byte, off int64, data []byte) {
		parent := t.TempDir()
		dir := filepath.Join(parent, "run")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		s, err := NewSink(dir, testNames)
		if err != nil {
			t.Fatal(err)
		}
		_ = s.Apply(Message{Kind: Kind(kind), Flags: flags, Name: name, Offset: off, Data: data})
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if entries, err := os.ReadDir(parent); err != nil || len(entries) != 1 {
			t.Fatalf("%q left %v, %v", name, entries, err)
		}
	})
}
