package runner

import (
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"boost-tui/runner/protocol"

	"golang.org/x/sys/unix"
)

// far is a process of another machine, of which only files can be seen.
func far(t *testing.T, host string) Process {
	t.Helper()
	me, err := self()
	if err != nil {
		t.Fatal(err)
	}
	me.Host, me.Boot = host, "boot of "+host
	return me
}

// unlocked makes it a place on a file system that keeps no locks between machines.
func (p *post) unlocked(t *testing.T) {
	t.Helper()
	if err := unix.Flock(int(p.file.Fd()), unix.LOCK_UN); err != nil {
		t.Fatal(err)
	}
}

// Two machines do not both stand over a run, though the file system keeps no locks between them; the second comes when the first has
// gone, or has shown no sign of life for long, and then the first notices.
func TestStandOver(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	here, there := far(t, "login1"), far(t, "login2")
	if stoodOver(dir, here) {
		t.Error("nobody stands over it")
	}
	a, busy, err := standAs(dir, here, time.Hour)
	if err != nil || busy {
		t.Fatal(busy, err)
	}
	a.unlocked(t)
	if _, busy, err := standAs(dir, there, time.Hour); err != nil || !busy {
		t.Fatalf("two stand over it: %v", err)
	}
	a.leave()
	if stoodOver(dir, there) {
		t.Error("who has left still stands there")
	}
	if a, busy, err = standAs(dir, here, 300*time.Millisecond); err != nil || busy {
		t.Fatal(busy, err)
	}
	a.unlocked(t)
	path := filepath.Join(dir, protocol.ConductFile)
	old := time.Now().Add(-staleAfter - time.Second)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second) // it goes on showing that it is there
	if !stoodOver(dir, there) {
		t.Error("who lives counts as gone")
	}
	close(a.stop) // it stands still
	a.wg.Wait()
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	b, busy, err := standAs(dir, there, time.Hour)
	if err != nil || busy {
		t.Fatal(busy, err)
	}
	a.stop = make(chan struct{})
	a.wg.Go(func() { a.keep(path, 10*time.Millisecond) })
	select {
	case <-a.lost:
	case <-time.After(5 * time.Second):
		t.Error("it does not notice that another one has come")
	}
	a.leave()
	if !stoodOver(dir, here) {
		t.Error("who was superseded took the other one's place away")
	}
	b.leave()
}

// Of many that come at once one stands over the run.
func TestStandOverAtOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	var first atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		p := far(t, "login"+nonce())
		wg.Go(func() {
			s, busy, err := standAs(dir, p, time.Hour)
			if err != nil {
				t.Error(err)
			} else if !busy {
				first.Add(1)
				s.unlocked(t)
				t.Cleanup(s.leave)
			}
		})
	}
	wg.Wait()
	if first.Load() != 1 {
		t.Errorf("%d stand over it", first.Load())
	}
}

// A process of this machine that died is found out at once, and one that lives keeps its place however long it stands still.
func TestStandOfThisMachine(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	me, err := self()
	if err != nil {
		t.Fatal(err)
	}
	a, _, err := standAs(dir, me, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	a.unlocked(t)
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(dir, protocol.ConductFile), old, old); err != nil {
		t.Fatal(err)
	}
	if !stoodOver(dir, me) {
		t.Error("it lives")
	}
	a.leave()
	gone := me
	gone.StartTicks++ // no such process
	if a, _, err = standAs(dir, gone, time.Hour); err != nil {
		t.Fatal(err)
	}
	defer a.leave()
	a.unlocked(t)
	if stoodOver(dir, me) {
		t.Error("it is dead")
	}
}
