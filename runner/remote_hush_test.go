package runner

import (
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A session that hears nothing ends; what it hears puts that off.
func TestASessionEndsWhenNothingIsHeard(t *testing.T) {
	in, out := io.Pipe()
	defer in.Close()
	h := newHearing(in)
	h.at = time.Now().Add(-time.Hour)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.ReadFull(h, make([]byte, 3)) // it ends with the pipe
	}()
	if _, err := out.Write([]byte("abc")); err != nil {
		t.Fatal(err)
	}
	<-done
	if s := h.silence(time.Now()); s > time.Minute*30 {
		t.Errorf("silent for %v after a word", s)
	}
	ended := make(chan struct{})
	stop := h.watch(150*time.Millisecond, func() { close(ended) })
	<-ended // nothing more is said
	stop()

	stop = newHearing(in).watch(time.Hour, func() { t.Error("ended at once") })
	stop()
}

func TestKin(t *testing.T) {
	name, parent, uid, err := kin(os.Getpid())
	if err != nil || parent != os.Getppid() || uid != os.Getuid() || !strings.HasPrefix(os.Args[0][strings.LastIndexByte(os.Args[0], '/')+1:], name[:min(len(name), 8)]) {
		t.Errorf("%q of %d, user %d: %v", name, parent, uid, err)
	}
	if _, _, _, err := kin(1); err == nil {
		t.Error("the first process is somebody's session")
	}
}

// The server of a connection is ended by what runs for it, and nobody else is.
func TestEndConnection(t *testing.T) {
	if os.Getenv("BOOST_TEST_ENDS_CONNECTION") != "" {
		endConnection()
		return
	}
	for name, want := range map[string]bool{"sshd": true, "bash": false} {
		// The kernel calls a process after the file: the shell has a link of the name.
		shell, err := exec.LookPath("bash")
		if err != nil {
			t.Skip("bash is missing")
		}
		path := t.TempDir() + "/" + name
		if err := os.Symlink(shell, path); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(path, "-c", `sh -c '"$1" -test.run "^TestEndConnection$"; exit 0' sh "$1"; exit 7`, path, os.Args[0])
		cmd.Env = append(os.Environ(), "BOOST_TEST_ENDS_CONNECTION=1")
		err = cmd.Run()
		st, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
		if got := st.Signaled() && st.Signal() == syscall.SIGTERM; got != want || !got && st.ExitStatus() != 7 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
