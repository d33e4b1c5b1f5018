package runner

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"
)

func TestLockKeepsOthersOut(t *testing.T) {
	dir := t.TempDir()
	path, file := filepath.Join(dir, "lock"), filepath.Join(dir, "count")
	put(t, file, "0")
	var wg sync.WaitGroup
	const programs, times = 8, 50
	for range programs {
		wg.Go(func() {
			for range times {
				l, err := TakeLock(path, time.Minute)
				if err != nil {
					t.Error(err)
					return
				}
				data, err := os.ReadFile(file)
				n, err2 := strconv.Atoi(string(data))
				err = errors.Join(err, err2, l.Held(), os.WriteFile(file, []byte(strconv.Itoa(n+1)), 0o600))
				l.Release()
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if data, _ := os.ReadFile(file); string(data) != strconv.Itoa(programs*times) {
		t.Errorf("%s of %d", data, programs*times)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// A holder of this machine that died is found out at once; one that lives keeps its lock however long it takes.
func TestLockOfADeadProcess(t *testing.T) {
	me, err := self()
	if err != nil {
		t.Fatal(err)
	}
	gone := me
	gone.StartTicks++ // no such process
	path := filepath.Join(t.TempDir(), "lock")
	if err := os.Symlink(gone.mark()+"-abcdef", path); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	l, err := TakeLock(path, time.Minute)
	if err != nil || time.Since(start) > 30*time.Second {
		t.Fatalf("%v after %v", err, time.Since(start))
	}
	if _, err := TakeLock(path, 100*time.Millisecond); err == nil {
		t.Error("taken twice")
	}
	l.Release()
	if _, err := os.Readlink(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("still there: %v", err)
	}
}

// One of another machine is broken when it has not changed for long, and tells its holder.
func TestLockOfAnotherMachine(t *testing.T) {
	if testing.Short() {
		t.Skip("waits until a lock is stale")
	}
	path := filepath.Join(t.TempDir(), "lock")
	there := &Lock{path: path, token: "00000000-77-88-abcdefabcdef", taken: time.Now()}
	if err := os.Symlink(there.token, path); err != nil {
		t.Fatal(err)
	}
	if _, err := TakeLock(path, time.Second); err == nil {
		t.Fatal("taken from a holder that may live")
	}
	l, err := TakeLock(path, 2*lockStale)
	if err != nil {
		t.Fatal(err)
	}
	there.taken = there.taken.Add(-lockStale)
	if err := there.Held(); !errors.Is(err, ErrLockLost) {
		t.Errorf("its holder learns %v", err)
	}
	there.Release() // takes away nothing that is another's
	if err := l.Held(); err != nil {
		t.Error(err)
	}
	if got, err := os.Readlink(path); err != nil || got != l.token {
		t.Errorf("%s, %v", got, err)
	}
	l.Release()
}

func TestLockInThePlaceOfSomethingElse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	put(t, path, "x")
	if _, err := TakeLock(path, time.Second); err == nil {
		t.Error("a file was taken for a lock")
	}
}
