package runner

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"boost-tui/internal/parallel"
	"boost-tui/internal/wallclock"
	"boost-tui/profiler/record"
	"boost-tui/runner/protocol"
)

// A run that is deleted moves, as it is, into a hidden folder of its store, from where Undo brings it back. Collect empties
// that folder. Moving frees nothing, and needs no room on a disk that is full.

// trashFolder holds what was deleted. Where it is another user's, a user has one of their own, named by the uid.
const trashFolder = ".trash"

// deletedFile says in a deleted run when and with which others it was deleted.
const deletedFile = "deleted.json"

// deletion is deleted.json.
type deletion struct {
	Schema int       `json:"schema"`
	Time   time.Time `json:"time"`
	Batch  string    `json:"batch"` // the same for runs that were deleted together
}

// Deleted is a run in the trash. Its Dir is where it lies there.
type Deleted struct {
	Info
	When  time.Time // it was deleted; where nothing says so, when its directory last changed
	batch string
}

// Trash deletes runs so that Undo brings them back, and says which. It touches only directories directly under the store's
// root that the user owns, that hold a run.json and that are not running, and follows no link. What fails is in the error,
// and the others are deleted.
func (s *Store) Trash(ids ...string) (done []string, err error) {
	root, err := os.OpenRoot(s.Root)
	if err != nil {
		return nil, fmt.Errorf("delete: %w", err)
	}
	defer root.Close()
	batch := newBatch()
	var errs []error
	for _, prefix := range ids {
		id, err := s.Find(prefix)
		if err == nil {
			if err = s.moveToTrash(root, id, batch); err != nil {
				err = fmt.Errorf("delete run %s: %w", id, record.ExplainFor(err, "use rm --now, which deletes for good", "a run can be deleted only where its folder may be written"))
			}
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		done = append(done, id)
	}
	return done, join(errs...)
}

func (s *Store) moveToTrash(root *os.Root, id, batch string) error {
	dir, err := openRun(root, id)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := s.notAlive(id); err != nil {
		return err
	}
	trash, err := trashIn(root, true)
	if err != nil {
		return err
	}
	to := filepath.Join(trash, id)
	if _, err := root.Lstat(to); err == nil {
		return fmt.Errorf("the trash holds a run of that id already: `boost-tui runs gc --now --yes` empties it")
	}
	// Before it moves, so that whoever finds it in the trash finds when it got there. Where the disk is full, the time of the move
	// stands for it.
	data, err := json.Marshal(deletion{Schema: Schema, Time: wallclock.Now().UTC(), Batch: batch})
	if err == nil {
		_ = dir.WriteFile(deletedFile, append(data, '\n'), protocol.FileMode)
	}
	if err := root.Rename(id, to); err != nil {
		_ = dir.Remove(deletedFile) // it says nothing of a run that is not deleted
		return err
	}
	return nil
}

// notAlive refuses a run that goes on, or whose job waits to go on with another one. The state is read through the name.
func (s *Store) notAlive(id string) error {
	in, err := s.Load(id)
	if err != nil {
		return err
	}
	if in.State == Running || in.State == Pending {
		return fmt.Errorf("it is %s: `boost-tui cancel %s` ends it", in.State, id)
	}
	if j, back := comingBack(in); back {
		return fmt.Errorf("its Slurm job %s comes back: `boost-tui cancel %s` first", j.ID, id)
	}
	return in.chainNotAlive()
}

// openTrash opens the store and names the user's trash in it; empty: there is none.
func (s *Store) openTrash() (root *os.Root, trash string, err error) {
	if root, err = os.OpenRoot(s.Root); err != nil {
		return nil, "", err
	}
	if trash, err = trashIn(root, false); err != nil {
		return nil, "", errors.Join(err, root.Close())
	}
	return root, trash, nil
}

// trashIn names the user's trash in a store, which is made where that is asked for; empty: there is none.
func trashIn(root *os.Root, create bool) (trash string, err error) {
	for _, name := range []string{trashFolder, fmt.Sprintf("%s-%d", trashFolder, os.Geteuid())} {
		if create {
			if err := root.Mkdir(name, protocol.DirMode); err != nil && !errors.Is(err, fs.ErrExist) {
				return "", err
			}
		}
		st, err := root.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		if st.IsDir() && owned(st) {
			return name, nil
		}
	}
	if create {
		return "", fmt.Errorf("%s and %[1]s-%d are not folders of this user: rm --now deletes without them", trashFolder, os.Geteuid())
	}
	return "", nil
}

func newBatch() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // it never fails
	return hex.EncodeToString(b[:])
}

// Deleted lists the runs in this user's trash, the one that was deleted last first.
func (s *Store) Deleted(ctx context.Context) ([]Deleted, error) {
	root, trash, err := s.openTrash()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list what was deleted: %w", err)
	}
	defer root.Close()
	if trash == "" {
		return nil, nil
	}
	bin := NewStore(filepath.Join(s.Root, trash))
	ids, err := bin.ids()
	if err != nil {
		return nil, fmt.Errorf("list what was deleted: %w", err)
	}
	all, me, now := make([]Deleted, len(ids)), here(), time.Now()
	if err := parallel.Each(ctx, len(ids), func(i int) {
		in := readInfo(bin.Dir(ids[i]), me, now)
		all[i] = Deleted{Info: in}
		all[i].read()
	}); err != nil {
		return nil, fmt.Errorf("list what was deleted: %w", err)
	}
	all = slices.DeleteFunc(all, func(d Deleted) bool { return errors.Is(d.Err, errNoRun) })
	slices.SortStableFunc(all, func(a, b Deleted) int { return b.When.Compare(a.When) })
	return all, nil
}

// read finds out when the run was deleted.
func (d *Deleted) read() {
	var n deletion
	data, err := protocol.ReadFile(filepath.Join(d.Dir, deletedFile), maxFileBytes)
	if err == nil && json.Unmarshal(data, &n) == nil && !n.Time.IsZero() {
		d.When, d.batch = n.Time, clean(n.Batch, 64)
		return
	}
	if st, err := os.Lstat(d.Dir); err == nil {
		d.When = st.ModTime()
		if sys, ok := st.Sys().(*syscall.Stat_t); ok { // a move changes this one
			d.When = time.Unix(sys.Ctim.Unix())
		}
	}
}

// Undo brings deleted runs back, and says which. Without ids it takes those that were deleted last, together.
func (s *Store) Undo(ctx context.Context, ids ...string) (done []string, err error) {
	all, err := s.Deleted(ctx)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, noRun(fmt.Sprintf("nothing that was deleted is left in %s", s.Root))
	}
	var chosen []Deleted
	if len(ids) == 0 {
		for _, d := range all {
			if d.ID == all[0].ID || d.batch != "" && d.batch == all[0].batch {
				chosen = append(chosen, d)
			}
		}
	}
	for _, id := range ids {
		d, err := findDeleted(all, id)
		if err != nil {
			return nil, err
		}
		chosen = append(chosen, d)
	}
	root, trash, err := s.openTrash()
	if err != nil {
		return nil, fmt.Errorf("undo: %w", err)
	}
	defer root.Close()
	var errs []error
	for _, d := range chosen {
		if err := restore(root, trash, d.ID); err != nil {
			errs = append(errs, fmt.Errorf("bring back run %s: %w", d.ID, record.Explain(err)))
			continue
		}
		done = append(done, d.ID)
	}
	return done, join(errs...)
}

func findDeleted(all []Deleted, prefix string) (Deleted, error) {
	var fit []Deleted
	for _, d := range all {
		if d.ID == prefix {
			return d, nil
		}
		if strings.HasPrefix(d.ID, prefix) || strings.HasSuffix(d.ID, "-"+prefix) {
			fit = append(fit, d)
		}
	}
	switch len(fit) {
	case 0:
		return Deleted{}, noRun(fmt.Sprintf("no deleted run %q; `boost-tui runs --deleted` lists them", clean(prefix, 60)))
	case 1:
		return fit[0], nil
	}
	return Deleted{}, fmt.Errorf("%q fits %d deleted runs (%s, %s): say more of the id", clean(prefix, 60), len(fit), fit[0].ID, fit[1].ID)
}

// inTrash reports whether a run of that id, or of the ending that people remember, is in the trash.
func (s *Store) inTrash(prefix string) bool {
	root, trash, err := s.openTrash()
	if err != nil {
		return false
	}
	defer root.Close()
	if trash == "" {
		return false
	}
	ids, err := NewStore(filepath.Join(s.Root, trash)).ids()
	return err == nil && slices.ContainsFunc(ids, func(id string) bool { return id == prefix || strings.HasSuffix(id, "-"+prefix) })
}

// restore moves a run out of the trash.
func restore(root *os.Root, trash, id string) error {
	if _, err := root.Lstat(id); err == nil {
		return errors.New("the store holds a run of that id again")
	}
	dir, err := openRun(root, filepath.Join(trash, id))
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := root.Rename(filepath.Join(trash, id), id); err != nil {
		return err
	}
	if err := dir.Remove(deletedFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
