package trainer

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"boost-tui/kernels"
	"boost-tui/runner/protocol"

	"golang.org/x/sys/unix"
)

// TestLostRendezvousIsSecondary: who meets no rank 0 is not the first to fail.
func TestLostRendezvousIsSecondary(t *testing.T) {
	for name, answer := range map[string]func(net.Conn){
		"before the greeting": func(c net.Conn) { _ = c.(*net.TCPConn).SetLinger(0) },
		"without a word":      func(net.Conn) {},
	} {
		t.Run(name, func(t *testing.T) {
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer ln.Close()
			go func() {
				for { // one that is reset at once is dialled again
					c, err := ln.Accept()
					if err != nil {
						return
					}
					answer(c)
					c.Close()
				}
			}()
			s := specs(t, t.TempDir(), small(t, map[string]string{"tp": "2"}))[1]
			s.Rendezvous = ln.Addr().String()
			err = run(context.Background(), s, nil, world{out: io.Discard, exit: func(int) {}, open: openDevice})
			rec, e := protocol.ReadExit(s.RunDir, 1)
			if e != nil || !rec.Secondary || !strings.HasPrefix(rec.Cause, "rank 0 failed: it could not be reached: ") {
				t.Errorf("%+v, %v", rec, e)
			}
			if ExitCode(err) != protocol.CodeSecondary {
				t.Errorf("exits %d: %v", ExitCode(err), err)
			}
		})
	}
}

func TestExitCodes(t *testing.T) {
	mine, other := &cause{Rank: 1, Text: "broke"}, &cause{Rank: 0, Text: "broke"}
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, 0}, {ErrCancelled, protocol.CodeCancelled}, {errors.New("broke"), ExitFailed},
		{&followed{other, kernels.ErrAborted}, protocol.CodeSecondary},
	} {
		if got := ExitCode(c.err); got != c.want {
			t.Errorf("%v: %d", c.err, got)
		}
	}
	if mine.exitCode(1) != ExitFailed || other.exitCode(1) != protocol.CodeSecondary || (&cause{Rank: nobody}).exitCode(1) != protocol.CodeSecondary {
		t.Error("codes of causes")
	}
	if !errors.Is(&followed{other, kernels.ErrAborted}, kernels.ErrAborted) {
		t.Error("what it looked like here is lost")
	}
}

// TestLauncherGone: a rank whose agent does not end the run leaves by itself.
func TestLauncherGone(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	fd, err := unix.Dup(int(r.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if _, err := io.WriteString(w, "a word for the agent\n"); err != nil {
		t.Fatal(err)
	}
	var gone time.Time
	j := &job{e: small(t, map[string]string{"tp": "1", "steps": "1000000"}), wrap: at(0, 3, func() error {
		gone = time.Now()
		return w.Close()
	}), launcher: fd}
	j.run(t)
	took := time.Since(gone)
	rec, err := protocol.ReadExit(j.dir, 0)
	if err != nil || !rec.Secondary || !strings.Contains(rec.Cause, "its agent does not end the run") || rec.Step < 3 {
		t.Errorf("%+v, %v", rec, err)
	}
	if took < leaveAfter || took > 5*time.Second {
		t.Errorf("after %v", took)
	}
}

// TestRecordOnAFullDisk: the room that is kept for last words is used for them.
func TestRecordOnAFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=128k"); err != nil {
		t.Skipf("a small file system cannot be mounted here (%v): run this as root", err)
	}
	defer unix.Unmount(dir, unix.MNT_DETACH)
	if err := os.WriteFile(filepath.Join(dir, protocol.ReserveFile), make([]byte, 64<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	for i, err := 0, error(nil); err == nil; i++ {
		err = os.WriteFile(filepath.Join(dir, "ballast"+strings.Repeat("x", i)), make([]byte, 4096), 0o600)
	}
	e := &ending{spec: protocol.RankSpec{RunDir: dir}, say: t.Logf}
	e.write(protocol.ExitRecord{Cause: "broke"})
	if rec, err := protocol.ReadExit(dir, 0); err != nil || rec.Cause != "broke" {
		t.Errorf("%+v, %v", rec, err)
	}
}
