package trainer

import (
	"context"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"boost-tui/internal/wallclock"
)

// stopSignals tell a rank to stop. Its agent sends the first; the others come from outside.
var stopSignals = [...]syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP}

// watchSignals turns signals and the end of the caller's context into a request to stop. The function it returns
// ends the watching.
func (e *ending) watchSignals(ctx context.Context) (stop func()) {
	signals := make(chan os.Signal, 1)
	for _, s := range stopSignals {
		signal.Notify(signals, s)
	}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		by := ""
		select {
		case s := <-signals:
			by = unix.SignalName(s.(syscall.Signal))
		case <-ctx.Done():
			by = whoEnded(ctx)
		case <-done:
			return
		}
		e.say("told to stop (%s): finishing the step", by)
		e.ask(by)
		<-done
	}()
	return func() {
		signal.Stop(signals)
		close(done)
		<-ended
	}
}

// whoEnded names the signal that ended a context (signal.NotifyContext gives it as text alone).
func whoEnded(ctx context.Context) string {
	name, _ := strings.CutSuffix(context.Cause(ctx).Error(), " signal received")
	for _, s := range stopSignals {
		if name == s.String() {
			return unix.SignalName(s)
		}
	}
	return "its caller"
}

// After the program in front is gone, the agent ends the run. Where it does not, it may be stopped: ranks wake it,
// and when that does not help either they leave.
const (
	launcherLook = 250 // milliseconds between two looks
	wakePatience = time.Second
	leaveAfter   = 3 * time.Second
)

// watchLauncher watches the descriptor that hangs up when the program in front of a foreground run is gone. The
// function it returns ends the watching.
func (e *ending) watchLauncher(fd int, at func() (step int, operation string)) (release func()) {
	if fd <= 0 {
		return func() {}
	}
	done, ended := make(chan struct{}), make(chan struct{})
	agent := os.Getppid()
	go func() {
		defer close(ended)
		if !hungUp(fd, done) || pause(done, wakePatience) {
			return
		}
		if os.Getppid() == agent {
			_ = unix.Kill(agent, unix.SIGCONT) // one that cannot be woken is left
		}
		if pause(done, leaveAfter-wakePatience) {
			return
		}
		c := &cause{Rank: nobody, Text: "the program that the run belonged to is gone, and its agent does not end the run", TSNanos: wallclock.UnixNano()}
		step, operation := at()
		e.fail(c, orphanLimit)
		e.write(recordOf(e.spec.Rank, step, operation, c))
	}()
	return func() {
		close(done)
		<-ended
	}
}

// hungUp blocks until the other end of a pipe is closed, true, or done is. It reads nothing: what is said there is for the agent.
func hungUp(fd int, done <-chan struct{}) bool {
	for {
		p := []unix.PollFd{{Fd: int32(fd)}}
		if n, err := unix.Poll(p, launcherLook); err == nil && n > 0 {
			return p[0].Revents&unix.POLLNVAL == 0
		}
		select {
		case <-done:
			return false
		default:
		}
	}
}

// pause waits so long; true when done came first.
func pause(done <-chan struct{}, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-done:
		return true
	case <-t.C:
		return false
	}
}
