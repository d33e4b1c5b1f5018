package main

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"boost-tui/planner"
	"boost-tui/profiler/record"
	"boost-tui/runner"
	"boost-tui/runner/protocol"
)

// Whatever the umask lets through, what the program makes is its owner's alone.
func TestFilesArePrivate(t *testing.T) {
	p := newProgram(t)
	config := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", config)
	old := syscall.Umask(0) // of this process, which no other test shares
	defer syscall.Umask(old)
	out := filepath.Join(filepath.Dir(p.runs), "out")
	var run runResult
	oneJSON(t, p.want(exitOK, shortRun("--steps", "4", "--checkpoint-every", "2", "--json")...).stdout, &run)
	p.want(exitOK, "tag", run.ID, "keep", "--note", "mine")
	p.want(exitOK, "export", run.ID, "--to", out)
	p.want(exitOK, "sweep", "--axis", "lr=1e-3,2e-3", "--set", "steps=2", "--set", "layers=1", "--set", "seq=16", "--set", "micro-batch=1")
	t.Setenv(runner.EnvTestHosts, "2")
	p.want(exitOK, shortRun("--steps", "4", "--dp", "2", "--json")...)
	if r := p.run("preflight", "--dp", "2", "--save", "mine"); r.code != exitOK && r.code != exitCheck {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
	for _, root := range []string{p.runs, filepath.Join(config, "boost-tui")} {
		count := 0
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			st, err := d.Info()
			if err != nil {
				return err
			}
			count++
			if st.Mode().Perm()&0o077 != 0 || st.Mode()&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeSymlink) != 0 {
				t.Errorf("%s: %v", path, st.Mode())
			}
			return nil
		})
		if err != nil || count == 0 {
			t.Errorf("%s: %d files, %v", root, count, err)
		}
	}
	// Exports are for others too, as the umask says, but not for everybody to change.
	_ = filepath.WalkDir(out, func(path string, d fs.DirEntry, err error) error {
		if st, err := d.Info(); err != nil || st.Mode().Perm()&0o002 != 0 {
			t.Errorf("%s: %v, %v", path, st, err)
		}
		return nil
	})
}

// startTwo starts a run on two hosts that lasts, and gives what the agents tell each other.
func (p program) startTwo(args ...string) (f *foreground, secret string) {
	p.t.Helper()
	p.t.Setenv(runner.EnvTestHosts, "2")
	f = p.foreground(args...)
	data, err := os.ReadFile(filepath.Join(f.dir, protocol.MeetFile))
	if err != nil {
		p.t.Fatal(err)
	}
	var m struct {
		Secret string `json:"secret"`
	}
	if err := json.Unmarshal(data, &m); err != nil || len(m.Secret) < 32 {
		p.t.Fatalf("%v: a secret of %d bytes", err, len(m.Secret))
	}
	return f, m.Secret
}

// The secret of a run is in one file of its owner's as long as the run lasts: no argument, no variable, no log, no other
// file, nothing that a command prints.
func TestSecretStaysWhereItIs(t *testing.T) {
	p := newProgram(t)
	f, secret := p.startTwo()
	raw, err := hex.DecodeString(secret)
	if err != nil {
		t.Fatal(err)
	}
	meet := filepath.Join(f.dir, protocol.MeetFile)
	if st, err := os.Stat(meet); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st, err)
	}
	for _, q := range processesOf(t, f.dir) {
		for _, what := range []string{"cmdline", "environ"} {
			data, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", q.pid, what))
			if err == nil && (bytes.Contains(data, []byte(secret)) || bytes.Contains(data, raw)) {
				t.Errorf("the %s of a process (%s) has the secret", what, q.role())
			}
		}
	}
	nowhere := func(root, but string) {
		t.Helper()
		_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() || path == but {
				return nil // gone meanwhile
			}
			if data, err := os.ReadFile(path); err == nil && (bytes.Contains(data, []byte(secret)) || bytes.Contains(data, raw)) {
				t.Errorf("%s has the secret", path)
			}
			return nil
		})
	}
	nowhere(p.runs, meet)
	id := filepath.Base(f.dir)
	for _, c := range [][]string{{"show", id}, {"show", id, "--json"}, {"logs", id}, {"runs", "--json"}, {"export", id, "--to", filepath.Join(filepath.Dir(p.runs), "out")}} {
		if r := p.run(c...); strings.Contains(r.stdout+r.err, secret) {
			t.Errorf("%v prints the secret", c)
		}
	}
	nowhere(filepath.Join(filepath.Dir(p.runs), "out"), "")
	if err := f.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	f.ended()
	f.gone(f.dir)
	nowhere(p.runs, "")
	if strings.Contains(f.out.String()+f.errs.String(), secret) {
		t.Error("the command printed the secret")
	}
}

// listeners are the addresses that processes of a run listen at.
func listeners(t *testing.T, dir string) (out []netip.AddrPort) {
	t.Helper()
	sockets := map[string]bool{}
	for _, q := range processesOf(t, dir) {
		fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", q.pid))
		for _, fd := range fds {
			if to, err := os.Readlink(fd); err == nil {
				if inode, ok := strings.CutPrefix(to, "socket:["); ok {
					sockets[strings.TrimSuffix(inode, "]")] = true
				}
			}
		}
	}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		data, err := os.ReadFile(table)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(data)) {
			w := strings.Fields(line)
			const listen = "0A"
			if len(w) < 10 || w[3] != listen || !sockets[w[9]] {
				continue
			}
			host, port, _ := strings.Cut(w[1], ":")
			ip, err := hex.DecodeString(host)
			if err != nil {
				t.Fatal(err)
			}
			for i := 0; i+4 <= len(ip); i += 4 { // words of the machine, which is little-endian
				ip[i], ip[i+1], ip[i+2], ip[i+3] = ip[i+3], ip[i+2], ip[i+1], ip[i]
			}
			n, err := strconv.ParseUint(port, 16, 16)
			addr, ok := netip.AddrFromSlice(ip)
			if err != nil || !ok {
				t.Fatalf("%s: %v", w[1], err)
			}
			out = append(out, netip.AddrPortFrom(addr.Unmap(), uint16(n)))
		}
	}
	return out
}

// knock is what a stranger does who finds an open port.
func knock(at netip.AddrPort, kind int) {
	c, err := net.DialTimeout("tcp", at.String(), time.Second)
	if err != nil {
		return
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(3 * time.Second))
	switch kind % 5 {
	case 0: // says nothing
	case 1:
		_, _ = c.Write([]byte{0xff, 0xff, 0xff, 0xff})
	case 2:
		b := make([]byte, 2048)
		_, _ = rand.Read(b)
		_, _ = c.Write(b)
	case 3:
		_, _ = io.WriteString(c, "GET / HTTP/1.1\r\n\r\n")
	case 4: // says back what it hears
		b := make([]byte, 1024)
		if n, err := c.Read(b); err == nil {
			_, _ = c.Write(b[:n])
		}
	}
	_, _ = io.Copy(io.Discard, c)
}

// A run listens at the addresses of its hosts alone, and strangers who knock there by the hundred do not change what it
// computes; its logs say so in a few lines.
func TestStrangersDoNotChangeARun(t *testing.T) {
	p := newProgram(t)
	args := []string{"--dp", "2", "--steps", "400"}
	var alone runResult
	oneJSON(t, p.want(exitOK, append(shortRun("--json"), args...)...).stdout, &alone)
	q := newProgram(t)
	t.Setenv(runner.EnvTestHosts, "2")
	f := q.foreground(args...)
	at := listeners(t, f.dir)
	if len(at) < 2 {
		t.Fatalf("listens at %v", at)
	}
	for _, a := range at {
		if got := a.Addr().String(); got != "127.0.0.1" && got != "127.0.0.2" {
			t.Errorf("listens at %s", a)
		}
	}
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() { knock(at[i%len(at)], i/len(at)) })
	}
	code, _ := f.ended()
	wg.Wait()
	f.gone(f.dir)
	var said runResult
	oneJSON(t, f.out.String(), &said)
	if code != exitOK || said.State != "finished" || said.LossLast == nil || math.Abs(*said.LossLast-*alone.LossLast) > 5e-5 {
		t.Errorf("exit %d: %+v; alone %+v", code, said, alone.Summary)
	}
	logs, lines := "", 0
	for rank := range 4 {
		data, err := os.ReadFile(record.LogPath(f.dir, rank))
		if err != nil {
			t.Fatal(err)
		}
		logs += string(data)
	}
	if lines = strings.Count(logs, "refused"); lines < 1 || lines > 3*4 {
		t.Errorf("%d lines about strangers:\n%s", lines, logs)
	}
}

// On one host nothing but its own loopback is listened at.
func TestListensOnLoopbackAlone(t *testing.T) {
	f := newProgram(t).foreground()
	for _, a := range listeners(t, f.dir) {
		if !a.Addr().IsLoopback() {
			t.Errorf("listens at %s", a)
		}
	}
}

// A machine file of another user's making, or a strange one in place of it, is read with care or not at all.
func TestMachineFilesOfOthers(t *testing.T) {
	config := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", config)
	path, err := saveMachine(planner.MachineFile{Name: "m", MemoryBytes: 1 << 40})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan result, 1)
	go func() { done <- try(t, "plan", "--machine", "m") }()
	select {
	case r := <-done:
		if r.code != exitUsage {
			t.Errorf("exit %d: %s", r.code, r.err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("waits for somebody at the other end of a FIFO")
	}
}
