package tui_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"boost-tui/experiment"
	"boost-tui/profiler/record"
	"boost-tui/runner"
	"boost-tui/tui/testkit"
)

// P17: a log that grows by 5000 lines a second costs little, and keys answer.
func TestChattyLogCostsLittle(t *testing.T) {
	cmd := program(t)
	store := runner.NewStore(filepath.Join(home(cmd), "runs"))
	e, err := experiment.Default().Resolve()
	if err != nil {
		t.Fatal(err)
	}
	// This process is the launcher and alive, so the run counts as pending.
	_, dir, err := store.Create(e, runner.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	stop, done := make(chan struct{}), make(chan error)
	go func() { done <- chat(record.LogPath(dir, 0), stop) }()
	defer func() {
		close(stop)
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()

	p := testkit.StartPty(t, 120, 36, cmd)
	p.WaitFor("Configuration", 0, 4*time.Second)
	p.Send("5")
	p.WaitFor("pending", 0, 4*time.Second)
	p.Send("l")
	p.WaitFor("Log of", 0, 4*time.Second)
	p.WaitFor("a chatty line", 0, 4*time.Second)
	before, start := p.CPU(), time.Now()
	time.Sleep(4 * time.Second)
	share := float64(p.CPU()-before) / float64(time.Since(start))
	t.Logf("%.1f %% of a core", share*100)
	if share > 0.10 {
		t.Errorf("the log costs %.1f %% of a core, want 10 at most", share*100)
	}
	best := time.Hour
	for _, key := range []string{"/", "\x1b", "/"} {
		at := len(p.Output())
		pressed := time.Now()
		p.Send(key)
		for len(p.Output()) == at && time.Since(pressed) < 2*time.Second {
			time.Sleep(time.Millisecond)
		}
		best = min(best, time.Since(pressed))
	}
	if best > 100*time.Millisecond {
		t.Errorf("a key was answered after %v", best)
	}
}

// chat writes 5000 lines a second.
func chat(path string, stop <-chan struct{}) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	lines := strings.Repeat("a chatty line: step 145 loss 4.312 tok/s 81402 step_ms 201.1\n", 50)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return f.Close()
		case <-tick.C:
			if _, err := f.WriteString(lines); err != nil {
				return err
			}
		}
	}
}

// P25: a home folder that cannot be written costs the session, nothing else.
func TestUnwritableHome(t *testing.T) {
	cmd := program(t)
	temp := home(cmd)
	for i, e := range cmd.Env {
		if strings.HasPrefix(e, "HOME=") {
			cmd.Env[i] = "HOME=/proc/none"
		}
	}
	p := testkit.StartPty(t, 80, 24, cmd)
	p.WaitFor("Configuration", 0, 4*time.Second)
	p.Send("q")
	if code := p.Wait(2 * time.Second); code != 0 {
		t.Errorf("exit %d: %s", code, tail(p.Output(), 200))
	}
	if logs, _ := filepath.Glob(filepath.Join(temp, "boost-tui-*.log")); len(logs) != 1 {
		t.Errorf("logs in the temporary folder: %v", logs)
	}
}
