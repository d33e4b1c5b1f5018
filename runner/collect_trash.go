package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"boost-tui/profiler/record"
	"boost-tui/runner/protocol"
)

// Other programs delete runs and bring them back while a store is collected. So nothing is freed under a name that they know: it
// first moves to a name of this program's own, is looked at again there, and moves back when it is not what was meant. A second
// name says that it was. What a program that was killed left under the first name goes back, and under the second is freed.
const (
	checkPrefix = ".check-"
	gonePrefix  = ".gone-"
)

// leftoverAfter is the age, by the clock of the file system, from which what is in the trash and no run is of no use.
const leftoverAfter = 24 * time.Hour

// trash finds deleted runs, and what an emptying that was interrupted left of them.
func (c *collector) trash() {
	root, trash, err := c.store.openTrash()
	if err != nil {
		c.errs = append(c.errs, fmt.Errorf("look into the trash: %w", err))
		return
	}
	defer root.Close()
	if trash == "" {
		return
	}
	for _, name := range c.names(root, trash) {
		path := filepath.Join(trash, name)
		st := mine(root, path)
		switch {
		case c.ctx.Err() != nil || st == nil:
		case strings.HasPrefix(name, gonePrefix):
			if c.abandoned(strings.TrimPrefix(name, gonePrefix), st) {
				c.take(root, path, Garbage{Kind: GarbageTrash, Path: path, Why: "what is left of a deleted run"})
			}
		case strings.HasPrefix(name, checkPrefix):
			if rest := strings.TrimPrefix(name, checkPrefix); c.o.Delete && c.abandoned(rest, st) {
				c.back(root, path, filepath.Join(trash, known(rest)))
			}
		case name[0] != '.':
			c.deleted(root, trash, name, st)
		}
	}
}

// deleted frees what lies in the trash under a name that others know, where it is old enough.
func (c *collector) deleted(root *os.Root, trash, name string, st fs.FileInfo) {
	path := filepath.Join(trash, name)
	g := Garbage{Kind: GarbageTrash, Path: path, Why: "what is left of a deleted run"}
	meant := func(path string) bool {
		return !holdsRun(root, path) && c.fsNow.Sub(changed(st)) > leftoverAfter
	}
	if holdsRun(root, path) {
		g.Run, g.Why = name, "deleted "+deletedAt(root, path, st).UTC().Format(time.DateTime)+" UTC"
		meant = func(path string) bool {
			return holdsRun(root, path) && c.now.Sub(deletedAt(root, path, st)) >= c.o.TrashAge
		}
	}
	if !meant(path) {
		return
	}
	if !c.o.Delete {
		c.take(root, path, g)
		return
	}
	private := c.mark() + "-" + newBatch() + "-" + name
	check, gone := filepath.Join(trash, checkPrefix+private), filepath.Join(trash, gonePrefix+private)
	err := root.Rename(path, check)
	if errors.Is(err, fs.ErrNotExist) { // brought back, or freed by another program
		return
	}
	if err == nil {
		if now := mine(root, check); now == nil || !os.SameFile(now, st) || !meant(check) {
			c.back(root, check, path)
			return
		}
		err = root.Rename(check, gone)
	}
	if err != nil {
		c.errs = append(c.errs, fmt.Errorf("free %s: %w", path, record.Explain(err)))
		return
	}
	c.take(root, gone, g)
}

// back gives something the name again that others know it by, where that is free.
func (c *collector) back(in *os.Root, private, name string) {
	_, err := in.Lstat(name)
	if err == nil {
		err = fs.ErrExist
	} else {
		err = in.Rename(private, name)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.errs = append(c.errs, fmt.Errorf("leave %s as it was: %w: it is whole and called %s", name, record.Explain(err), filepath.Join(in.Name(), private)))
	}
}

// mark names this program in names of its own.
func (c *collector) mark() string {
	me, err := self()
	if err != nil {
		me = c.me
	}
	return me.mark()
}

// abandoned reports whether the program that gave a name, here without its prefix, is gone.
func (c *collector) abandoned(rest string, st fs.FileInfo) bool {
	if p, here := marked(rest, c.me); here {
		return p.look(c.me) == dead
	}
	return c.fsNow.Sub(changed(st)) > foreignAfter
}

// known is the name that others know, behind the mark of a program and something random.
func known(rest string) string {
	const before = 4 // place, pid, start, random
	parts := strings.SplitN(rest, "-", before+1)
	if len(parts) <= before || parts[before] == "" {
		return "recovered-" + newBatch()
	}
	return parts[before]
}

// holdsRun reports whether there is, or may be, a run under a name.
func holdsRun(in *os.Root, path string) bool {
	_, err := in.Lstat(filepath.Join(path, protocol.RunFile))
	return err == nil || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR)
}

// deletedAt is when a run was deleted: as its record says, or when a damaged record was written. Without one it is when the folder
// had last changed as it was found: a move changes that, and so does one of this program's own.
func deletedAt(in *os.Root, path string, found fs.FileInfo) time.Time {
	var n deletion
	name := filepath.Join(path, deletedFile)
	st, err := in.Lstat(name)
	if err != nil {
		return changed(found)
	}
	if st.Mode().IsRegular() && st.Size() < maxFileBytes {
		if data, err := in.ReadFile(name); err == nil && json.Unmarshal(data, &n) == nil && !n.Time.IsZero() {
			return n.Time
		}
	}
	return st.ModTime()
}

// changed is when a name, or what is in it, last changed.
func changed(st fs.FileInfo) time.Time {
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		if moved := time.Unix(sys.Ctim.Unix()); moved.After(st.ModTime()) {
			return moved
		}
	}
	return st.ModTime()
}

// idle frees what nobody has written to for a time. It moves to a private name in between, which a later call finds too: who was
// about to write to it after all gets it back.
func (c *collector) idle(in *os.Root, path, private string, since time.Duration, g Garbage) {
	if c.fsNow.Sub(newest(in, path)) <= since {
		return
	}
	if !c.o.Delete {
		c.take(in, path, g)
		return
	}
	err := in.Rename(path, private)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		c.errs = append(c.errs, fmt.Errorf("free %s: %w", g.Path, record.Explain(err)))
	case c.fsNow.Sub(newest(in, private)) <= since:
		c.back(in, private, path)
	default:
		c.take(in, private, g)
	}
}

// newest is when something under a name was last written to. What cannot be looked at counts as written to now.
func newest(in *os.Root, name string) (last time.Time) {
	err := fs.WalkDir(in.FS(), name, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := d.Info()
		if err == nil && st.ModTime().After(last) {
			last = st.ModTime()
		}
		return err
	})
	if err != nil {
		return time.Now().Add(foreignAfter)
	}
	return last
}
