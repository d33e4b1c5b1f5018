package runner

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// stop stops the one process of a role of the run.
func stop(t *testing.T, dir, role string) {
	t.Helper()
	pids := processes(dir, role)
	if len(pids) != 1 {
		t.Fatalf("%s: processes %v", role, pids)
	}
	if err := syscall.Kill(pids[0], syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	eventually(t, role+" to stop", func() bool { st, err := procStat(pids[0]); return err == nil && st.state == 'T' })
}

// Who is stopped when the program in front is killed is found by the next look, and ends with its run.
func TestStoppedIsFoundWhenTheFrontIsKilled(t *testing.T) {
	for role, restarts := range map[string]string{"conduct": "1", "agent": "0"} {
		t.Run(role, func(t *testing.T) {
			t.Setenv("BOOST_FAKE_RESTARTS", restarts)
			dir, cmd := frontend(t, "polite", "foreground")
			atStep3(t, dir, 2)
			stop(t, dir, role)
			s := NewStore(filepath.Dir(dir))
			in, err := s.Load(filepath.Base(dir))
			if err != nil || in.State != Running {
				t.Fatal(err, in.State, in.Cause)
			}
			if told := strings.HasPrefix(in.Cause, "its agent is stopped (SIGSTOP, process "); told != (role == "agent") {
				t.Errorf("a stopped %s: %q", role, in.Cause)
			}
			if st, _ := procStat(processes(dir, role)[0]); st.state != 'T' {
				t.Error("it was woken while the program in front lives")
			}
			kill9(t, cmd)
			eventually(t, "the end of the run", func() bool {
				list, _ := s.List(t.Context())
				if len(list) == 1 {
					in = list[0]
				}
				return in.Result != nil
			})
			if in.State != Cancelled || in.Cause != launcherGone {
				t.Errorf("%s: %s", in.State, in.Cause)
			}
			gone(t, dir, 10*time.Second)
		})
	}
}

// One that is stopped when its run is over already is found as well, and by a store that has seen the run.
func TestStoppedConductorOfARunThatIsOver(t *testing.T) {
	t.Setenv("BOOST_FAKE_RESTARTS", "1")
	dir, cmd := frontend(t, "polite", "foreground")
	atStep3(t, dir, 2)
	stop(t, dir, "conduct")
	s := NewStore(filepath.Dir(dir))
	if err := requestCancel(dir, "enough"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the result", func() bool { return resultThere(dir) && len(processes(dir, "rank")) == 0 })
	kill9(t, cmd)
	eventually(t, "the end of the conductor", func() bool {
		_, errs := s.List(t.Context())
		return len(errs) == 0 && len(processes(dir, "conduct")) == 0
	})
	in, err := s.Load(filepath.Base(dir))
	if err != nil || in.State != Cancelled || in.Cause != "enough" {
		t.Error(in.State, in.Cause, err)
	}
}

// A folder that names another process of this user wakes none.
func TestForgedConductorIsLetBe(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { kill9(t, cmd) }()
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it to stop", func() bool { st, err := procStat(cmd.Process.Pid); return err == nil && st.state == 'T' })
	p := here()
	st, err := procStat(cmd.Process.Pid)
	if p.PID, p.StartTicks = cmd.Process.Pid, st.startTicks; err != nil {
		t.Fatal(err)
	}
	if l := wakeRole(p, "conduct", t.TempDir(), here()); l != alive {
		t.Errorf("it is %v", l)
	}
	if st, err := procStat(p.PID); err != nil || st.state != 'T' {
		t.Errorf("it was woken: %c, %v", st.state, err)
	}
}

// kill9 kills a process and waits for its end.
func kill9(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	err := cmd.Process.Kill()
	var exit *exec.ExitError
	if waited := cmd.Wait(); err != nil || waited != nil && !errors.As(waited, &exit) {
		t.Fatal(err, waited)
	}
}
