package tui

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"boost-tui/experiment"
	"boost-tui/planner"
	"boost-tui/profiler/compare"
	"boost-tui/profiler/export"
	"boost-tui/runner"
	"boost-tui/runner/protocol"
	"boost-tui/runner/slurm"
	"boost-tui/runner/ssh"
	"boost-tui/runner/userconfig"
	"boost-tui/tui/app"
	"boost-tui/tui/screen"
	"boost-tui/tui/terminal"
	"boost-tui/tui/theme"
	"boost-tui/tui/widget/statusbar"

	tea "github.com/charmbracelet/bubbletea"
)

// tabs are the numbered places of the first line.
func tabs() []statusbar.Tab {
	return []statusbar.Tab{{Key: "1", Title: "Launch"}, {Key: "2", Title: "Live"}, {Key: "3", Title: "Compare"},
		{Key: "4", Title: "Sweep"}, {Key: "5", Title: "Runs"}, {Key: "6", Title: "Plan", Off: true}}
}

// build makes the root model for this process and terminal. It reads one small
// file, the session, and nothing else: the first frame must not wait.
func build(o Options, screens []screen.Screen, log *logFile, term *terminal.Terminal) (*app.Model, error) {
	looks, err := themeOptions(o)
	if err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "this host"
	}
	work, err := os.Getwd()
	if err != nil {
		work = os.TempDir()
	}
	device := deviceCheck(o.CheckDevice).remembered(time.Now)
	w, h := term.Size()
	options := app.Options{
		Env: screen.Env{
			Store: o.Store, Launch: launcher(o), Cancel: canceller(o.Store), Export: exporter(o.Store), Sweeps: newSweepStore(o.Store, o.Binary, o.machine, device), Usage: runner.UsageOf, Summary: compare.SummarizeContext, Compare: compare.CompareContext,
			Plan:              func(e experiment.Experiment) (*planner.Plan, error) { return planner.New(e, o.machine(e)) },
			LargestMicroBatch: func(e experiment.Experiment) int { return planner.LargestMicroBatch(e, o.machine(e)) },
			Machine:           o.machine, CheckPlace: runner.CheckPlace, Setups: setups, Script: o.script, Job: func(in runner.Info) *runner.JobView { return in.Job(time.Now()) },
			ComesBack: func(in runner.Info) string { return in.ComesBack(time.Now()) },
			Start:     o.Start, CheckDevice: device,
			Hosts:      ssh.Hosts,
			Partitions: func() ([]slurm.Partition, error) { return (&slurm.Client{}).Partitions(context.Background()) }, // which has a deadline of its own
			Preflight:  o.Preflight, ReadPreflight: protocol.ReadPreflight,
			Theme: theme.New(looks), Now: time.Now, After: after, ReadOnly: o.ReadOnly, Host: host, WorkDir: work, Logf: log.Printf,
		},
		Screens: screens, Tabs: tabs(), Width: w, Height: h, Getenv: os.Getenv,
		RootChanged: func() int64 { return stamp(o.Store.Root) },
	}
	if dir := stateDir(os.Getenv); dir != "" {
		lock := &stateLock{path: filepath.Join(dir, "session.lock")}
		log.lock = lock
		path := filepath.Join(dir, "session.json")
		if options.Session, err = app.LoadSession(path); err != nil {
			log.Printf("the last session is left out: %v", err)
		}
		options.Save = func(s app.Session) error {
			if !lock.Held() {
				return nil
			}
			return app.SaveSession(path, s)
		}
	}
	return app.New(options), nil
}

// machine describes the machines that an experiment would run on: this one, or what is known of others.
func (o Options) machine(e experiment.Experiment) planner.Machine {
	if o.Machine == nil {
		return planner.ThisMachine()
	}
	m, err := o.Machine(e)
	if err != nil { // what is known of it cannot be read: the launch will say so
		return planner.Machine{Name: e.Where.Where, Nodes: max(1, e.Where.Nodes)}
	}
	return m
}

// setups are the names of the user's own setups.
func setups() ([]string, error) {
	c, err := userconfig.Load()
	return slices.Sorted(maps.Keys(c.Setup)), err
}

func after(d time.Duration, m tea.Msg) tea.Cmd {
	return tea.Tick(d, func(time.Time) tea.Msg { return m })
}

// stamp changes when entries of a folder come or go.
func stamp(dir string) int64 {
	info, err := os.Stat(dir)
	if err != nil {
		return 0
	}
	return info.ModTime().UnixNano()
}

// launcher starts runs that survive the UI and its terminal.
func launcher(o Options) func(context.Context, experiment.Experiment, string) (string, error) {
	return func(ctx context.Context, e experiment.Experiment, before string) (string, error) {
		launch := runner.LaunchOptions{Versions: runner.Versions{Program: o.Version}}
		if o.Prepare != nil {
			var err error
			if e, launch, err = o.Prepare(e); err != nil {
				return "", err
			}
		}
		launch.Detach, launch.Binary, launch.After = true, o.Binary, before
		if launch.Argv == nil {
			launch.Argv = os.Args
		}
		h, err := runner.Launch(ctx, o.Store, e, launch)
		if err != nil {
			return "", err
		}
		return h.Run.ID, nil
	}
}

func canceller(s *runner.Store) func(context.Context, string) error {
	return func(ctx context.Context, id string) error {
		_, err := runner.Cancel(ctx, s, id, "cancelled in the UI")
		return err
	}
}

// exporter writes what `boost-tui export` writes.
func exporter(s *runner.Store) func(context.Context, []string, string, bool) ([]string, error) {
	return func(ctx context.Context, ids []string, to string, force bool) ([]string, error) {
		dirs := make([]string, len(ids))
		for i, id := range ids {
			dirs[i] = s.Dir(id)
		}
		return export.Export(ctx, dirs, to, force)
	}
}

// script is the job that a resolved experiment would be on Slurm, with the memory that a launch would ask for.
func (o Options) script(e experiment.Experiment) (script []byte, command []string, err error) {
	p, err := planner.New(e, o.machine(e))
	if err != nil {
		return nil, nil, err
	}
	return runner.JobScript(e, &runner.Predicted{MemBytes: p.Memory.Total, HostBytes: p.Memory.Host})
}
