package prove

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"boost-tui/experiment"
	"boost-tui/internal/tool"
)

// AllOptions say what All runs, and where it writes.
type AllOptions struct {
	Program string // path of boost-tui
	Beside  string // folder of what is beside it: sdpa.py, programs with tests
	Python  string // that may have PyTorch and wheels of NVIDIA's
	Device  string
	Tiny    bool
	Out     string          // path of the report; nothing may be there
	Only    []string        // parts; empty: all
	Version json.RawMessage // of the program
	Machine Machine
	Limit   time.Duration // 0: TotalLimit
	// Lacks prepares the device and says what it lacks here; nil: nothing. It is asked once, when there is a report to say so in.
	Lacks func(context.Context) []Lack
	Say   func(format string, args ...any)
}

// proof is All at work.
type proof struct {
	AllOptions
	out      reportFile
	work     *work     // folder of its own, removed at the end
	lacks    []Lack    // of the device
	findings []finding // of doctor
	late     []string  // parts that no time was left for
	report   Report
	begun    time.Time
	first    time.Time // when the first part began
}

// All runs every part. The report is there before the first of them, and whole on disk after each. What did not hold or went wrong
// stands in it, and in the error; so does that the context ended, what a device lacks that cannot be had (ErrLacks), and that the time
// was too short for anything (ErrTime). The one error without a report is ErrOut.
func All(ctx context.Context, o AllOptions) (_ Report, err error) {
	if o.Limit <= 0 {
		o.Limit = TotalLimit
	}
	p := &proof{AllOptions: o, out: reportFile{path: o.Out}, begun: time.Now()}
	p.report = Report{Schema: Schema, Device: o.Device, Tiny: o.Tiny, EmulatedDevice: o.Device == experiment.DeviceEmu, Begun: p.begun.UTC().Truncate(time.Second),
		Limit: o.Limit.Seconds(), Program: o.Version, Machine: o.Machine, Parts: []Part{}}
	if err := freeName(o.Out); err != nil {
		return p.report, err
	}
	if err := p.write(); err != nil {
		return p.report, fmt.Errorf("%w: %w", ErrOut, err)
	}
	if p.work, err = newWork(os.TempDir()); err != nil {
		return p.report, err
	}
	defer func() { err = errors.Join(err, p.work.remove()) }()
	if o.Lacks != nil {
		p.lacks = o.Lacks(ctx)
	}
	p.first = time.Now()
	err = p.parts(ctx)
	return p.report, err
}

// parts goes through them.
func (p *proof) parts(ctx context.Context) error {
	var bad []string
	for _, s := range plan() {
		if ctx.Err() != nil {
			break
		}
		done := p.run(ctx, s)
		if ctx.Err() != nil && done.State == StateFailed {
			done.Reason = "broken off"
		}
		p.report.Parts = append(p.report.Parts, done)
		if err := p.write(); err != nil {
			return err
		}
		if done.State == StateFailed {
			bad = append(bad, s.name)
		}
		if done.State != StateLeftOut || len(p.lacks) == 0 { // the error says once what is missing for all of them
			p.Say("%-24s %-9s %6.1f s  %s", s.name, done.State, done.Seconds, done.Reason)
		}
	}
	if err := p.write(); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("broken off after %d of %d parts", len(p.report.Parts), len(plan()))
	}
	err := errors.Join(p.lackError(), p.timeError())
	if len(bad) > 0 {
		err = errors.Join(err, fmt.Errorf("these parts failed: %s", strings.Join(bad, ", ")))
	}
	return err
}

// run is one part, whatever becomes of it.
func (p *proof) run(ctx context.Context, s part) Part {
	budget := min(s.budget, p.Limit-time.Since(p.first))
	done := Part{Name: s.name, State: StateLeftOut, Budget: s.budget.Seconds()}
	if !p.asked(s.name) && s.name != PartVersions { // which other parts look at
		done.Reason = "not asked for"
		return done
	}
	argv, env, leftOut := s.command(p)
	lacks := p.missing(s.needs)
	if leftOut.why != "" || len(lacks) > 0 && !s.asks {
		done.Reason, done.Optional = reasons(lacks, leftOut.why), leftOut.may && len(lacks) == 0
		return done
	}
	if budget < min(s.budget/2, leastBudget) {
		done.Reason = fmt.Sprintf("no time is left of %.0f s", p.Limit.Seconds())
		p.late = append(p.late, s.name)
		return done
	}
	began := time.Now()
	done.State, done.Reason, done.Result = p.child(ctx, s, budget, argv, env)
	done.Seconds = time.Since(began).Seconds()
	if done.State == StateLeftOut {
		done.Reason, done.Optional = reasons(lacks, done.Reason), len(lacks) == 0
	}
	if len(done.Result) > 0 {
		done.Figures = done.meaning(p.Device, p.Tiny)
	}
	if s.name == PartVersions {
		p.look(done.Result)
	}
	return done
}

// Bounds of what is kept of a part.
const (
	mostResult = 4 << 20
	mostSaid   = 64 << 10
	lastSaid   = 600 // of what it says about an error
	graceful   = 3 * time.Second
	// What a part is begun for, where its own budget is not less.
	leastBudget = 5 * time.Second
)

// child runs the process of a part and gives what became of it, why it is not good, and its result.
func (p *proof) child(ctx context.Context, s part, budget time.Duration, argv, env []string) (state, reason string, result json.RawMessage) {
	limited, stop := context.WithTimeout(ctx, budget)
	defer stop()
	cmd := exec.CommandContext(limited, argv[0], argv[1:]...)
	cmd.Env = append(append(os.Environ(), "BOOST_RUNS="+filepath.Join(p.work.dir, "runs")), env...)
	out, said := &tool.Output{Limit: mostResult}, &tail{limit: mostSaid}
	cmd.Stdout, cmd.Stderr = out, said
	if s.tool {
		cmd.Stdout = said
	}
	err := tool.RunGently(cmd, graceful)
	text := bytes.TrimSpace([]byte(out.String()))
	switch {
	case s.tool:
		result, _ = json.Marshal(Tool{filepath.Base(argv[0]), said.last(4000)}) // strings can be written
	case json.Valid(text) && !out.Over:
		result = text
	}
	switch {
	case ctx.Err() != nil:
		reason = "broken off"
	case limited.Err() != nil:
		reason = fmt.Sprintf("not done within %.0f s", budget.Seconds())
	case s.name == PartTorch && cmd.ProcessState != nil && cmd.ProcessState.ExitCode() == leavesOut:
		return StateLeftOut, cmp.Or(said.last(lastSaid), "it says that it cannot"), nil
	case err != nil:
		reason = cmp.Or(causeIn(result), strings.TrimSpace(err.Error()+": "+said.last(lastSaid)))
	case result == nil:
		reason = "it printed no JSON"
	}
	if result != nil {
		if bad := (Part{Name: s.name, State: StateFailed, Reason: "r", Result: result}).check(); bad != nil {
			result, reason = nil, strings.TrimSpace(reason+" (its result is of another shape: "+bad.Error()+")")
		}
	}
	if reason != "" {
		return StateFailed, reason, result
	}
	return StateOK, "", result
}

// causeIn is why a run did not end well, as its result says; what it says beside that is about its way there.
func causeIn(result json.RawMessage) string {
	var run struct {
		Cause string `json:"cause"`
	}
	if json.Unmarshal(result, &run) != nil {
		return "" // it may be no run's
	}
	return beginning(run.Cause, lastSaid)
}

// finding is what doctor has found of a library, or what it lacks.
type finding struct{ What, Value, Lacks string }

// look keeps what doctor has found.
func (p *proof) look(doctor json.RawMessage) {
	var d struct {
		CUDA struct {
			Findings []finding `json:"findings"`
		} `json:"cuda"`
	}
	if json.Unmarshal(doctor, &d) == nil { // without them a part says that it is left out
		p.findings = d.CUDA.Findings
	}
}

// tail keeps the end of what is written to it.
type tail struct {
	limit int
	buf   []byte
}

// Write never fails.
func (t *tail) Write(b []byte) (int, error) {
	t.buf = append(t.buf, b...)
	if n := len(t.buf) - t.limit; n > 0 {
		t.buf = append(t.buf[:0], t.buf[n:]...)
	}
	return len(b), nil
}

// beginning is at most n bytes of a text, from its beginning.
func beginning(text string, n int) string {
	text = strings.TrimSpace(text)
	return strings.ToValidUTF8(text[:min(n, len(text))], "")
}

func (t *tail) last(n int) string {
	text := strings.TrimSpace(string(t.buf))
	return strings.ToValidUTF8(text[max(0, len(text)-n):], "")
}
