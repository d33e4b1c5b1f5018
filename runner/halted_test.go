package runner

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"boost-tui/runner/protocol"
)

// Ranks that are all stopped are told of, with how they go on; nothing is ended, and the word is taken back when they do.
func TestRanksThatAreAllStoppedAreToldOf(t *testing.T) {
	for _, tp := range []int{1, 2} {
		h := launch(t, "hang", tp, true)
		inCollective(t, h.Dir, tp)
		pids := processes(h.Dir, "rank")
		all := func(sig syscall.Signal) {
			for _, pid := range pids {
				if err := syscall.Kill(pid, sig); err != nil {
					t.Fatal(err)
				}
			}
		}
		cause := func() string {
			in, err := Read(h.Dir)
			if err != nil || in.State != Running {
				t.Fatalf("%s: %q, %v", in.State, in.Cause, err)
			}
			return in.Cause
		}
		all(syscall.SIGSTOP)
		want := map[int]string{1: "its rank is stopped (SIGSTOP)", 2: "all ranks are stopped (SIGSTOP)"}[tp]
		eventually(t, "the word that they are stopped", func() bool { return strings.HasPrefix(cause(), want) })
		if s := cause(); !strings.Contains(s, "kill -CONT ") {
			t.Errorf("how they go on is not told: %s", s)
		}
		all(syscall.SIGCONT)
		eventually(t, "the word to be taken back", func() bool { return cause() == "" })
		all(syscall.SIGSTOP)
		eventually(t, "the word again", func() bool { return cause() != "" })
		if err := requestCancel(h.Dir, "enough"); err != nil {
			t.Fatal(err)
		}
		if in := wait(t, h); in.State != Cancelled || in.Cause != "enough" {
			t.Errorf("%s: %s", in.State, in.Cause)
		}
		if _, err := os.Lstat(filepath.Join(h.Dir, protocol.StoppedFile)); !os.IsNotExist(err) {
			t.Errorf("the word is left behind: %v", err)
		}
	}
}

func TestAllStopped(t *testing.T) {
	goes, stopped, ended := standing{}, standing{Stopped: true}, standing{Ended: true}
	for name, c := range map[string]struct {
		all   []standing
		world int
		want  bool
	}{
		"all":                        {[]standing{stopped, stopped}, 2, true},
		"one of two":                 {[]standing{stopped, goes}, 2, false},
		"the only one that is left":  {[]standing{ended, stopped}, 2, true},
		"none is left":               {[]standing{ended, ended}, 2, false},
		"some that nobody hears of":  {[]standing{stopped}, 2, false},
		"none has begun":             {nil, 2, false},
		"none of two, one has ended": {[]standing{ended, goes}, 2, false},
	} {
		if got := allStopped(c.all, c.world); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
