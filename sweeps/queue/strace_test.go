package queue

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"boost-tui/runner"
	"boost-tui/sweeps"
)

// TestKilledAtEachCall kills the engine in one system call after the other, as strace can do it: at each write, each
// rename, each fork. What an engine does between two runs is made of these, and none of them may be the wrong one.
func TestKilledAtEachCall(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("there is no strace here")
	}
	const n = 2000 // more than it comes to
	b := points(t, n, nil)
	self, _ := os.Executable()
	killed, tried := map[string]int{}, 0
	for _, call := range []string{"fsync", "write", "flock", "mkdirat", "renameat", "renameat2", "clone", "clone3"} {
		for when := 1; when <= 8; when++ {
			// Children are let go at their execve: it is the engine alone that is killed.
			cmd := exec.Command(strace, "-f", "-b", "execve", "-o", filepath.Join(t.TempDir(), "calls"), "-e", "trace="+call,
				"-e", fmt.Sprintf("inject=%s:signal=SIGKILL:when=%d", call, when), self, "engine", b.sweep.Dir)
			timer := time.AfterFunc(350*time.Millisecond, func() { // it makes no such call that often
				if st := b.state(); st.Held {
					_ = syscall.Kill(st.Holder.PID, syscall.SIGKILL)
				}
			})
			out, err := cmd.CombinedOutput()
			stopped := timer.Stop()
			if err == nil && b.state().Phase != sweeps.PhaseFinished {
				t.Skipf("strace does not work here: %s", out)
			}
			if tried++; err != nil && stopped {
				killed[call]++
			}
		}
	}
	b.skipRest()
	b.run()
	unborn, unstarted, adopted := 0, 0, 0
	for _, p := range b.once(n).Points {
		for _, a := range p.Attempts {
			switch {
			case a.Adopted:
				adopted++
			case a.Run == "":
				unborn++
			case a.State == string(runner.Lost):
				unstarted++
			}
		}
	}
	t.Logf("killed in %v, of %d tries; %d runs adopted, %d attempts died before their run was created, %d before it was started", killed, tried, adopted, unborn, unstarted)
}
