package tool

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const envGently = "BOOST_TEST_GENTLY"

// TestMain is also the program that RunGentlyKilled kills: it runs the script that the variable names.
func TestMain(m *testing.M) {
	if path := os.Getenv(envGently); path != "" {
		if RunGently(exec.CommandContext(context.Background(), path), time.Second) != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// Of a process that is killed no program is left.
func TestRunGentlyKilled(t *testing.T) {
	said := filepath.Join(t.TempDir(), "pid")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envGently+"="+script(t, "echo $$ >"+said+".tmp && mv "+said+".tmp "+said+"; exec sleep 300"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := 0
	until(t, "the program runs", func() bool {
		text, err := os.ReadFile(said)
		if err != nil {
			return false
		}
		pid, err = strconv.Atoi(strings.TrimSpace(string(text)))
		return err == nil
	})
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	until(t, "the program is gone", func() bool {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		return err != nil || strings.Contains(string(stat), ") Z ") || syscall.Kill(pid, 0) != nil
	})
}

func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("in a minute, it is not so that " + what)
		}
	}
}
