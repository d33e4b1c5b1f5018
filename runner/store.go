package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"boost-tui/experiment"
	"boost-tui/profiler/record"
	"boost-tui/runner/protocol"

	"golang.org/x/sys/unix"
)

// Store is the folder that holds the runs, one directory each. Several programs may use a folder at
// once; a Store may be used by several goroutines.
type Store struct {
	Root    string // absolute
	cache   cache
	index   index
	program program
	ahead   ahead
	clock   storeClock
}

// NewStore is the store in a folder, which is made when the first run is.
func NewStore(root string) *Store { return &Store{Root: root} }

// Dir is the directory of a run, given its whole id.
func (s *Store) Dir(id string) string { return filepath.Join(s.Root, id) }

// CreateOptions is what the store cannot find out by itself.
type CreateOptions struct {
	Argv       []string
	Predicted  *Predicted
	Versions   Versions // Go is filled in
	Foreground bool
	After      string // a run of this store, as Find takes it, whose end the new one waits for; empty: none
	Sweep      *SweepRef
	Resumed    *Resumed
	Restart    *Restart
	Preflight  *protocol.PreflightSpec // nil: it trains
	Hosts      []string                // that its ranks are on; nil: this one
	GPUs       []GPU                   // that its ranks compute on; nil: none, or not known
}

// reserveBytes is kept free for a run's last words on a disk that fills up.
const reserveBytes = 64 << 10

// createTries is how often another id is drawn when one is taken.
const createTries = 20

// Create makes the directory of a new run from a resolved experiment. It appears with run.json in it
// or not at all.
func (s *Store) Create(e experiment.Experiment, o CreateOptions) (Run, string, error) {
	if err := os.MkdirAll(s.Root, protocol.DirMode); err != nil {
		return Run{}, "", fmt.Errorf("make the runs folder %s: %w", s.Root, record.Explain(err))
	}
	me, err := self()
	if err != nil {
		return Run{}, "", err
	}
	if o.After, err = s.before(o.After); err != nil {
		return Run{}, "", err
	}
	if err := absoluteData(&e.Train); err != nil {
		return Run{}, "", err
	}
	r := Run{
		Schema: Schema, Name: e.Name, Tags: e.Tags, Argv: o.Argv,
		Host: me.Host, User: userName(), Launcher: me, Foreground: o.Foreground, After: o.After, Sweep: o.Sweep, Resumed: o.Resumed, Restart: o.Restart,
		Preflight: o.Preflight, Experiment: e, Model: shapeOf(e.Model), Plan: planOf(e), Predicted: o.Predicted, Versions: o.Versions,
		Hosts: []string{me.Host}, CPU: cpuName(), Cores: runtime.GOMAXPROCS(0), GPUs: o.GPUs,
	}
	if o.Hosts != nil {
		r.Hosts = o.Hosts
	}
	r.Versions.Go = runtime.Version()
	if err := errors.Join(o.Sweep.check(), o.Restart.check()); err != nil {
		return Run{}, "", fmt.Errorf("create a run: %w", err)
	}
	if w := r.World(); w < 1 || w > protocol.MaxRanks {
		return Run{}, "", fmt.Errorf("create a run: tp x pp x dp must be from 1 to %d, it is %d x %d x %d", protocol.MaxRanks, e.Parallel.TP, e.Parallel.PP, e.Parallel.DP)
	}
	dir, err := s.build(&r)
	if err != nil {
		return Run{}, "", fmt.Errorf("create a run in %s: %w", s.Root, record.Explain(err))
	}
	return r, dir, nil
}

// absoluteData makes paths independent of the folder in which the run was launched: its ranks work in another.
func absoluteData(t *experiment.Train) (err error) {
	for _, value := range []*string{&t.Data, &t.EvalData} {
		if *value, err = experiment.AbsoluteData(*value); err != nil {
			return err
		}
	}
	for _, path := range []*string{&t.Resume, &t.InitFrom} {
		if *path == "" {
			continue
		}
		if *path, err = filepath.Abs(*path); err != nil {
			return fmt.Errorf("%s: %w", *path, err)
		}
	}
	return nil
}

// describe draws an id for the run and writes into its directory what the run is. A run that waits for another one says so
// before it has its name.
func (r *Run) describe(tmp string) (string, error) {
	if r.After != "" {
		if err := protocol.WriteFile(filepath.Join(tmp, protocol.WaitingFile), []byte(r.After+"\n")); err != nil {
			return "", err
		}
	}
	r.Created = timeOf(tmp).Truncate(time.Microsecond)
	at := r.Created
	if r.Restart != nil { // whoever lists a chain of restarts finds it in its order
		before, err := readRun(filepath.Join(filepath.Dir(tmp), r.Restart.Of))
		if err == nil && !r.Created.After(before.Created) {
			r.Created = before.Created.Add(time.Microsecond)
		}
		at = after(r.Created, r.Restart.Of)
	}
	id, err := newID(at, r.Experiment)
	if err != nil {
		return "", err
	}
	r.ID = id
	data, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return "", fmt.Errorf("encode %s: %w", protocol.RunFile, err)
	}
	if len(data) >= maxFileBytes { // nobody could read it again
		return "", fmt.Errorf("%s would take %d bytes, more than %d: the command line that started the run is too long; say it in a file (--config)", protocol.RunFile, len(data), maxFileBytes)
	}
	return id, protocol.WriteFile(filepath.Join(tmp, protocol.RunFile), append(data, '\n'))
}

// renameNew renames without replacing; where the file system cannot promise that, a name that exists is refused first.
func renameNew(from, to string) error {
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	if !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOSYS) {
		return err
	}
	if _, err := os.Lstat(to); err == nil {
		return fs.ErrExist
	}
	return os.Rename(from, to) // onto a directory that appeared meanwhile this fails: it is not empty
}

// noRun says that no run has an id; it is fs.ErrNotExist.
type noRun string

func (e noRun) Error() string        { return string(e) }
func (e noRun) Is(target error) bool { return target == fs.ErrNotExist }

// Find completes a prefix of an id (or takes the path of a run's directory in this store). An ambiguous
// prefix is an error that lists what fits.
func (s *Store) Find(prefix string) (string, error) {
	if strings.ContainsRune(prefix, filepath.Separator) {
		path, err := filepath.Abs(prefix)
		if err != nil || filepath.Dir(path) != filepath.Clean(s.Root) {
			return "", fmt.Errorf("%s is not a run in %s: say --runs FOLDER for runs of another folder", clean(prefix, 200), s.Root)
		}
		prefix = filepath.Base(path)
	}
	if err := checkID(prefix); err != nil {
		return "", err
	}
	if st, err := os.Lstat(s.Dir(prefix)); err == nil && st.IsDir() {
		return prefix, nil
	}
	ids, err := s.ids()
	if err != nil {
		return "", err
	}
	var fit []string
	for _, id := range ids {
		// The time comes first in an id, so its ending is what people remember.
		if strings.HasPrefix(id, prefix) || strings.HasSuffix(id, "-"+prefix) {
			fit = append(fit, id)
		}
	}
	switch {
	case len(fit) == 1:
		return fit[0], nil
	case len(fit) == 0 && s.inTrash(prefix):
		return "", noRun(fmt.Sprintf("run %s was deleted: `boost-tui runs undo %s` brings it back", prefix, prefix))
	case len(fit) == 0:
		return "", noRun(fmt.Sprintf("no run %q in %s; `boost-tui runs` lists them", prefix, s.Root))
	}
	return "", fmt.Errorf("%q fits %d runs (%s): say more of the id", prefix, len(fit), strings.Join(fit[:min(len(fit), 3)], ", "))
}

// ids lists the names of directories that can be runs, in order. No folder is no runs.
func (s *Store) ids() ([]string, error) {
	entries, err := os.ReadDir(s.Root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the runs: %w", err)
	}
	ids := make([]string, 0, len(entries))
	for _, e := range entries {
		if e.IsDir() && checkID(e.Name()) == nil {
			ids = append(ids, e.Name())
		}
	}
	slices.Sort(ids)
	return ids, nil
}

func writeIn(dir, name string, data []byte) error {
	return record.Explain(protocol.WriteFile(filepath.Join(dir, name), data))
}

func userName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return fmt.Sprintf("uid %d", os.Getuid())
}

// cpuName is the processor's name, empty where the kernel does not tell. A machine of many cores takes long to tell.
var cpuName = sync.OnceValue(func() string {
	data, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(data)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return clean(strings.TrimSpace(value), 80)
		}
	}
	return ""
})
