package testkit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"boost-tui/experiment"
	"boost-tui/planner"
	"boost-tui/runner"
	"boost-tui/tui/screen"
	"boost-tui/tui/theme"
	"boost-tui/tui/widget/statusbar"

	"github.com/muesli/termenv"
)

// Theme is the theme of goldens: dark, without colours.
func Theme() theme.Theme {
	return theme.New(theme.Options{Name: theme.Dark, Dark: true, Profile: termenv.Ascii, Plain: true})
}

// machine is the machine of tests.
var machine = planner.Machine{Name: "test", MemBytes: 32 << 30, Cores: 8}

// Env is an environment that does nothing outside the test. Launch and Cancel
// note what they were asked in the Store.
func Env(t testing.TB, s *Store) screen.Env {
	return screen.Env{
		Store: s, Theme: Theme(), Host: "login03", WorkDir: t.TempDir(), Logf: t.Logf, Now: func() time.Time { return Start },
		Machine:           func(experiment.Experiment) planner.Machine { return machine },
		Plan:              func(e experiment.Experiment) (*planner.Plan, error) { return planner.New(e, machine) },
		LargestMicroBatch: func(e experiment.Experiment) int { return planner.LargestMicroBatch(e, machine) },
		Launch:            s.launch, Cancel: s.cancel,
		Usage: func(_ context.Context, dir string) (runner.Usage, error) {
			return runner.Usage{Bytes: int64(len(dir)) << 20, Checkpoints: 1 << 20, Files: 42}, s.Fail
		},
		Export: func(_ context.Context, ids []string, to string, _ bool) ([]string, error) {
			s.Exported = append(s.Exported, ids...)
			return []string{to + "/steps.csv"}, s.Fail
		},
	}
}

// Tabs numbers screens by their titles, as the program does.
func Tabs(screens []screen.Screen) []statusbar.Tab {
	titles := []string{"Launch", "Live", "Compare", "Sweep", "Runs", "Plan"}
	out := make([]statusbar.Tab, len(titles))
	for i, title := range titles {
		out[i] = statusbar.Tab{Key: strconv.Itoa(i + 1), Title: title, Off: true}
		for _, s := range screens {
			if s.Title() == title {
				out[i].Off = false
			}
		}
	}
	return out
}

// Store is a store in memory that notes what happens to it.
type Store struct {
	Infos, Deleted                         []runner.Info
	Errs                                   []error
	Fail                                   error // of every change
	Launched                               []experiment.Experiment
	Cancelled, Removed, Exported, Listings []string
}

// List returns the runs.
func (s *Store) List(context.Context) ([]runner.Info, []error) {
	s.Listings = append(s.Listings, "list")
	return slices.Clone(s.Infos), s.Errs
}

// Load finds a run by its whole ID.
func (s *Store) Load(id string) (runner.Info, error) {
	for _, in := range s.Infos {
		if in.ID == id {
			return in, nil
		}
	}
	return runner.Info{}, errors.New("no run " + id)
}

// Tag changes a run's tags.
func (s *Store) Tag(id string, add, remove []string) error {
	return s.change(id, func(in *runner.Info) {
		tags := slices.DeleteFunc(slices.Clone(in.Tags), func(t string) bool { return slices.Contains(remove, t) })
		in.Tags = append(tags, add...)
	})
}

// Note changes a run's note.
func (s *Store) Note(id, text string) error {
	return s.change(id, func(in *runner.Info) { in.Note = text })
}

// Archive archives a run, or takes it back.
func (s *Store) Archive(id string, archived bool) error {
	return s.change(id, func(in *runner.Info) { in.Archived = archived })
}

// Trash takes runs away.
func (s *Store) Trash(ids ...string) ([]string, error) {
	if s.Fail != nil {
		return nil, s.Fail
	}
	s.Removed = append(s.Removed, ids...)
	gone := func(in runner.Info) bool { return slices.Contains(ids, in.ID) }
	for _, in := range s.Infos {
		if gone(in) {
			s.Deleted = append(s.Deleted, in)
		}
	}
	s.Infos = slices.DeleteFunc(slices.Clone(s.Infos), gone)
	return ids, nil
}

// Undo brings runs back.
func (s *Store) Undo(_ context.Context, ids ...string) ([]string, error) {
	if s.Fail != nil {
		return nil, s.Fail
	}
	for _, in := range s.Deleted {
		if slices.Contains(ids, in.ID) {
			s.Infos = append(s.Infos, in)
		}
	}
	s.Deleted = slices.DeleteFunc(s.Deleted, func(in runner.Info) bool { return slices.Contains(ids, in.ID) })
	return ids, nil
}

func (s *Store) change(id string, f func(*runner.Info)) error {
	if s.Fail != nil {
		return s.Fail
	}
	for i := range s.Infos {
		if s.Infos[i].ID == id {
			f(&s.Infos[i])
			return nil
		}
	}
	return errors.New("no run " + id)
}

func (s *Store) launch(_ context.Context, e experiment.Experiment, after string) (string, error) {
	if s.Fail != nil {
		return "", s.Fail
	}
	s.Launched = append(s.Launched, e)
	id := fmt.Sprintf("run-%02d", len(s.Infos)+1)
	in := Info(id, e, runner.Running)
	if after != "" {
		in.State, in.Cause, in.Run.After = runner.Pending, "waits for "+after, after
	}
	s.Infos = append(s.Infos, in)
	return id, nil
}

func (s *Store) cancel(_ context.Context, id string) error {
	s.Cancelled = append(s.Cancelled, id)
	return s.change(id, func(in *runner.Info) { in.State = runner.Cancelled })
}

// Info describes a run of a resolved experiment, started ten minutes before
// Start.
func Info(id string, e experiment.Experiment, state runner.State) runner.Info {
	return runner.Info{ID: id, Dir: "/runs/" + id, State: state, Tags: e.Tags,
		Run: runner.Run{Schema: runner.Schema, ID: id, Name: e.Name, Tags: e.Tags, Experiment: e, Created: Start.Add(-10 * time.Minute), Host: "login03", Hosts: []string{"login03"}}}
}

// Experiment is the default experiment with changes "key=value", resolved.
func Experiment(t testing.TB, settings ...string) experiment.Experiment {
	t.Helper()
	e := experiment.Default()
	for _, s := range settings {
		k, v, _ := cut(s)
		if err := e.Set(k, v); err != nil {
			t.Fatal(err)
		}
	}
	e, err := e.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func cut(s string) (key, value string, ok bool) {
	for i := range s {
		if s[i] == '=' {
			return s[:i], s[i+1:], true
		}
	}
	return s, "", false
}
