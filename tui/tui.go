// Package tui is the screens of boost-tui: Launch, Live, Compare, Sweep, Runs. It
// shows and starts; everything it knows it reads from the run directories, so
// it can be closed and opened while runs go on.
//
// Start reading at Run here, then app (the root model), screen (what a screen
// is) and the screens themselves. Below them, theme, layout, chart, keys and
// widget are pure; feed polls files; terminal owns the tty.
package tui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	_ "boost-tui/tui/early" // before bubbletea: no question to the terminal

	"boost-tui/experiment"
	"boost-tui/planner"
	"boost-tui/runner"
	"boost-tui/tui/app"
	"boost-tui/tui/safego"
	"boost-tui/tui/screen"
	"boost-tui/tui/terminal"
	"boost-tui/tui/theme"

	tea "github.com/charmbracelet/bubbletea"
)

// Options of the UI. The zero value of every field but Store is sensible.
type Options struct {
	Store   *runner.Store
	Binary  string // program that agents and ranks are started from; empty: this one
	Version string // of the program, noted in runs
	// Prepare looks at an experiment before it is launched, as `run` does, and says what the run's record
	// keeps of it; nil: nothing is checked or added. It is called outside the UI's loop.
	Prepare func(experiment.Experiment) (experiment.Experiment, runner.LaunchOptions, error)
	// Machine describes the machines that an experiment would run on; nil: this one.
	Machine func(experiment.Experiment) (planner.Machine, error)
	// CheckDevice says what keeps so many ranks of this machine from a device, and what "auto" is for them; nil: nobody looks. It is
	// called outside the UI's loop, and its answers are kept for a while.
	CheckDevice func(ctx context.Context, device string, ranks int) (string, error)
	// Start looks at what an experiment's weights start from; nil: nobody does.
	Start func(experiment.Experiment) screen.Start
	// Preflight starts a detached look at the machines that an experiment would run on and returns its run; nil: there is none.
	Preflight func(ctx context.Context, e experiment.Experiment) (id string, err error)
	ReadOnly  bool   // nothing can be launched, cancelled, deleted or changed
	Theme     string // auto, dark, light or mono; empty: auto
	ASCII     bool   // characters of 0x20-0x7e only, whatever the locale says
	NoMouse   bool
}

// closeWait is how long a terminal that takes no bytes may hold up the end.
const closeWait = 200 * time.Millisecond

// gcPercent is how much garbage may lie beside what the UI keeps. Most of that are lists of runs, of which it drops one a second at
// most: memory on a login node is worth more than the little time that collecting earlier takes.
const gcPercent = 50

// Run shows the UI on the process's terminal until the user leaves or ctx ends.
func Run(ctx context.Context, o Options) error { return run(ctx, o, screens()) }

func run(ctx context.Context, o Options, screens []screen.Screen) error {
	defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	log, err := openLog(os.Getenv)
	if err != nil {
		return err
	}
	defer log.Close()
	term, err := terminal.Enter(os.Stdin, os.Stdout, !o.NoMouse)
	if err != nil {
		return err
	}
	restore, err := terminal.Redirect(log.file)
	if err != nil {
		return errors.Join(err, term.Leave())
	}
	painter := terminal.NewPainter(term.Out)
	model, err := build(o, screens, log, term)
	if err == nil {
		err = loop(ctx, model, term, painter)
	}
	if painter.Close(closeWait) {
		err = errors.Join(err, term.Leave())
	} else {
		err = errors.Join(err, term.Abandon())
	}
	err = errors.Join(err, restore())
	if crash := crashOf(model); crash != nil {
		return fmt.Errorf("%w; the trace is in %s. Runs are not affected", crash, log.file.Name())
	}
	return err
}

func crashOf(m *app.Model) *safego.Panic {
	if m == nil {
		return nil
	}
	return m.Crash()
}

// loop runs the program until it ends.
func loop(ctx context.Context, model *app.Model, term *terminal.Terminal, painter *terminal.Painter) error {
	p := &program{model: model, painter: painter}
	if p.paint() != nil {
		return nil // the crash is the error
	}
	t := tea.NewProgram(p, tea.WithContext(ctx), tea.WithInput(term.In), tea.WithOutput(term.Out), tea.WithoutRenderer())
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGWINCH, syscall.SIGHUP)
	stop := make(chan struct{})
	done := safego.Go(func() { watch(t, term, signals, stop) })
	_, err := t.Run()
	signal.Stop(signals)
	close(stop)
	<-done
	if errors.Is(err, tea.ErrInterrupted) || (ctx.Err() != nil && errors.Is(err, tea.ErrProgramKilled)) {
		return context.Canceled
	}
	if err != nil {
		return fmt.Errorf("the UI: %w", err)
	}
	return nil
}

// watch turns signals into messages. Send returns at once when the program has
// ended, so this ends too.
func watch(t *tea.Program, term *terminal.Terminal, signals <-chan os.Signal, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case s := <-signals:
			if s == syscall.SIGHUP {
				t.Quit()
				continue
			}
			w, h := term.Size()
			t.Send(tea.WindowSizeMsg{Width: w, Height: h})
		}
	}
}

// program paints the root model: at once after a message, at most every
// paintEvery.
type program struct {
	model   *app.Model
	painter *terminal.Painter
	last    time.Time
	fresh   int
	waiting bool
}

// paintEvery is the least time between two frames.
const paintEvery = 25 * time.Millisecond

type paintNow struct{}

func (p *program) Init() tea.Cmd { return p.model.Init() }

func (p *program) View() string { return "" }

func (p *program) Update(m tea.Msg) (tea.Model, tea.Cmd) {
	if _, ok := m.(paintNow); ok {
		p.waiting = false
		return p, p.paint()
	}
	_, cmd := p.model.Update(m)
	if p.model.Crash() != nil || p.waiting {
		return p, cmd
	}
	if wait := paintEvery - time.Since(p.last); wait > 0 {
		p.waiting = true
		return p, tea.Batch(cmd, tea.Tick(wait, func(time.Time) tea.Msg { return paintNow{} }))
	}
	return p, tea.Batch(cmd, p.paint())
}

// paint draws the model and hands the frame to the painter. A panic in a View
// ends the program in order, as one in an Update does.
func (p *program) paint() tea.Cmd {
	p.last = time.Now()
	w, h := p.model.Size()
	if raw := p.model.TakeRaw(); len(raw) > 0 {
		p.painter.Raw(raw)
	}
	fresh := p.model.Fresh() != p.fresh
	p.fresh = p.model.Fresh()
	view := ""
	if broken := safego.Call(func() { view = p.model.View() }); broken != nil {
		return p.model.Fail(broken)
	}
	p.painter.Paint(view, w, h, fresh)
	return nil
}

func themeOptions(o Options) (theme.Options, error) {
	t := theme.Detect(os.Getenv)
	t.ASCII = t.ASCII || o.ASCII
	if o.Theme != "" {
		t.Name = theme.Name(o.Theme)
		for _, n := range theme.Names() {
			if n == t.Name {
				return t, nil
			}
		}
		return t, fmt.Errorf("theme %q: there are %v", o.Theme, theme.Names())
	}
	return t, nil
}
