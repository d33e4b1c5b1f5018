package runner

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

const envBlocked = "BOOST_TEST_BLOCKED_STORE"

// Where everybody may write, somebody else can take the names first that a user's programs need.
func TestNamesTakenByAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can be somebody else")
	}
	root, err := os.MkdirTemp("", "shared")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	s := NewStore(root)
	id, dir := finished(t, s, "r")
	trash := filepath.Join(root, trashFolder)
	cmd := exec.CommandContext(t.Context(), "true") // a process that is over
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	me, err := self()
	if err != nil {
		t.Fatal(err)
	}
	me.PID = cmd.Process.Pid
	if err := errors.Join(os.Mkdir(trash, 0o755), os.Mkdir(trash+"-"+strconv.Itoa(stranger), 0o755),
		os.Symlink("00000000-77-88-abcdefabcdef", filepath.Join(dir, notesLock)), os.Symlink(me.mark()+"-abcdefabcdef", filepath.Join(root, "dead")),
		os.Chmod(root, 0o777|os.ModeSticky), os.Chown(dir, stranger, stranger)); err != nil {
		t.Fatal(err)
	}
	said := asStranger(t, "TestNamesTaken", envBlocked+"="+root, "BOOST_TEST_ID="+id)
	if !strings.Contains(said, "PASS: TestNamesTaken") {
		t.Error(said)
	}
}

func TestNamesTaken(t *testing.T) {
	root, id := os.Getenv(envBlocked), os.Getenv("BOOST_TEST_ID")
	if root == "" {
		t.Skip("a part of TestNamesTakenByAnotherUser")
	}
	s := NewStore(root)
	if _, err := s.Trash(id); err == nil || !strings.Contains(err.Error(), "rm --now") {
		t.Errorf("deleted: %v", err)
	}
	done := make(chan error, 2)
	go func() {
		done <- s.Tag(id, []string{"x"}, nil)
		_, err := TakeLock(filepath.Join(root, "dead"), notesPatience)
		done <- err
	}()
	for _, what := range []string{"tagged", "the lock of a dead process"} {
		select {
		case err := <-done:
			if err == nil || !strings.Contains(err.Error(), "root") {
				t.Errorf("%s: %v", what, err)
			}
		case <-time.After(8 * time.Second): // before a lock is stale
			t.Fatalf("%s: it waits", what)
		}
	}
}
