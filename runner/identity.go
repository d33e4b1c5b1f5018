package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"boost-tui/profiler/record"
	"boost-tui/runner/protocol"
)

// StaleAfter is the age of a sign of life from which a process that cannot be looked at counts as dead.
const StaleAfter = staleAfter

// FileNow is the time that the file system gives to what changes now beside a folder, or here where that cannot be
// learnt. Signs of life of other machines are held against it: their clocks, this one's and the file server's may differ.
func FileNow(dir string, here time.Time) time.Time { return fileNow(dir, here) }

// Self names this process, for files that say who looks after something.
func Self() (Process, error) { return self() }

// Alive reports whether the process lives; known is false for one of another machine or pid namespace, which
// cannot be looked at from here.
func (p Process) Alive() (alive, known bool) {
	switch p.look(here()) {
	case elsewhere:
		return false, false
	case dead:
		return false, true
	}
	return true, true
}

// CheckID refuses what cannot be the id of a run: it becomes part of a path.
func CheckID(id string) error { return checkID(id) }

// CleanTo is Clean for another limit of runes.
func CleanTo(s string, limit int) string { return clean(s, limit) }

// Reserve is the content of a file that keeps room on a disk which fills up. Not zeros: a file system that compresses
// or leaves holes would keep nothing.
func Reserve(bytes int) []byte {
	data := make([]byte, bytes)
	for i := range data {
		data[i] = byte(i*i>>3 ^ i)
	}
	return data
}

// NewFolder makes a folder directly under root, which is made when it is not there. The folder appears filled or not
// at all, under the first name of newID that is free; what a killed process left of its own is removed by the next.
func NewFolder(root string, newID func() (string, error), fill func(tmp string) error) (id string, err error) {
	if err := os.MkdirAll(root, protocol.DirMode); err != nil {
		return "", record.Explain(err)
	}
	me, err := self()
	if err != nil {
		return "", err
	}
	NewStore(root).tidy(me)
	tmp, err := makeFolder(root, me, fill)
	if err == nil {
		id, err = placeFolder(root, tmp, func(string) (string, error) { return newID() })
	}
	return id, record.Explain(err)
}

// makeFolder makes a folder under a hidden name that tells who made it, and fills it.
func makeFolder(root string, me Process, fill func(tmp string) error) (tmp string, err error) {
	if tmp, err = os.MkdirTemp(root, newPrefix+me.mark()+"-"); err != nil {
		return "", err
	}
	if err := fill(tmp); err != nil {
		return "", errors.Join(err, os.RemoveAll(tmp))
	}
	return tmp, nil
}

// placeFolder gives a folder that is filled the first free one of the names that name draws.
func placeFolder(root, tmp string, name func(tmp string) (string, error)) (id string, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(tmp))
		}
	}()
	for range createTries {
		if id, err = name(tmp); err != nil {
			return "", err
		}
		if err = renameNew(tmp, filepath.Join(root, id)); !errors.Is(err, fs.ErrExist) {
			return id, err
		}
	}
	return "", fmt.Errorf("no free id after %d tries", createTries)
}
