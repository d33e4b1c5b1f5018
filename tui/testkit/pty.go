package testkit

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Pty is a program on a pseudo terminal whose other side answers no question:
// what a terminal that knows no colour query looks like.
type Pty struct {
	Cmd     *exec.Cmd
	Started time.Time
	t       testing.TB
	master  *os.File
	mu      sync.Mutex
	out     bytes.Buffer
	paused  bool
	ended   chan struct{}
	drained chan struct{} // closed when everything written was read
	err     error
}

// StartPty runs a command on a new terminal of w x h cells. It is killed at
// the end of the test.
func StartPty(t testing.TB, w, h int, cmd *exec.Cmd) *Pty {
	t.Helper()
	master, slave, err := openPty(w, h)
	if err != nil {
		t.Fatalf("open a pseudo terminal: %v", err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	p := &Pty{Cmd: cmd, t: t, master: master, ended: make(chan struct{}), drained: make(chan struct{}), Started: time.Now()}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
	go func() {
		defer close(p.drained)
		p.read()
	}()
	go func() {
		p.err = cmd.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() {
		p.Pause(false)
		_ = cmd.Process.Kill() // it may be over
		<-p.ended
		master.Close()
		<-p.drained
	})
	return p
}

func openPty(w, h int) (master, slave *os.File, err error) {
	master, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	fd := int(master.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(h), Col: uint16(w)})
	}
	if err == nil {
		slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		master.Close()
		return nil, nil, err
	}
	return master, slave, nil
}

func (p *Pty) read() {
	buf := make([]byte, 64<<10)
	for {
		p.mu.Lock()
		paused := p.paused
		p.mu.Unlock()
		if paused {
			time.Sleep(5 * time.Millisecond)
			continue
		}
		n, err := p.master.Read(buf)
		p.mu.Lock()
		p.out.Write(buf[:n])
		p.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// Pause stops or resumes taking bytes from the program: a stalled connection.
func (p *Pty) Pause(on bool) {
	p.mu.Lock()
	p.paused = on
	p.mu.Unlock()
}

// Send types bytes.
func (p *Pty) Send(s string) {
	p.t.Helper()
	if _, err := p.master.WriteString(s); err != nil {
		p.t.Fatal(err)
	}
}

// Output is everything that the program has written.
func (p *Pty) Output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}

// WaitFor waits until the output after offset contains a text, and returns
// when it was seen. It fails the test after the time.
func (p *Pty) WaitFor(text string, offset int, limit time.Duration) time.Time {
	p.t.Helper()
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if out := p.Output(); len(out) >= offset && bytes.Contains([]byte(out[offset:]), []byte(text)) {
			return time.Now()
		}
	}
	p.t.Fatalf("no %q within %v in %q", text, limit, p.Output())
	return time.Time{}
}

// Wait waits for the end of the program and returns its exit code.
func (p *Pty) Wait(limit time.Duration) int {
	p.t.Helper()
	select {
	case <-p.ended:
		select {
		case <-p.drained:
		case <-time.After(time.Second): // a paused reader
		}
		return p.Cmd.ProcessState.ExitCode()
	case <-time.After(limit):
		p.t.Fatalf("the program has not ended within %v", limit)
		return -1
	}
}

// Raw reports whether the terminal's line discipline is in raw mode.
func (p *Pty) Raw() bool {
	p.t.Helper()
	tio, err := unix.IoctlGetTermios(int(p.master.Fd()), unix.TCGETS)
	if err != nil {
		p.t.Fatal(err)
	}
	return tio.Lflag&unix.ICANON == 0
}

// CPU is the processor time that the program has used.
func (p *Pty) CPU() time.Duration {
	p.t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.Cmd.Process.Pid))
	if err != nil {
		p.t.Fatal(err)
	}
	fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	var user, system int64
	fmt.Sscan(string(fields[11]), &user)
	fmt.Sscan(string(fields[12]), &system)
	return time.Duration(user+system) * 10 * time.Millisecond
}
