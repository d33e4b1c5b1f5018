package trainer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"boost-tui/internal/wallclock"
	"boost-tui/profiler/flight"
	"boost-tui/runner/protocol"
	"boost-tui/trainer/mesh"
	"boost-tui/trainer/rendezvous"
)

// EnvCheck names the variable that puts kernels/check between the step and its device when it is "1":
// bounds, types, and the first value that is not finite.
const EnvCheck = "BOOST_CHECK"

// gcPercent lets the collector rest: what a rank holds lies in device memory, and the Go heap is a few
// megabytes that are reused from step to step.
const gcPercent = 400

// Run is the whole life of a rank. It returns nil when the run is finished, ErrCancelled when it was
// told to stop (SIGTERM, SIGINT, ctx), and otherwise the first cause of the failure, which is in the
// exit record too. lifeline is what the specification was read from: its end means that the agent is
// gone, and then the process ends within 2 s whatever it is doing. Human-readable lines go to stdout.
//
// Run sets the process's scheduler and collector for a machine that many ranks share.
func Run(ctx context.Context, spec protocol.RankSpec, lifeline io.Reader) error {
	debug.SetGCPercent(gcPercent)
	// The device has threads of its own; Go needs one for the loop and one for whoever watches.
	runtime.GOMAXPROCS(min(runtime.NumCPU(), 2))
	return run(ctx, spec, lifeline, world{out: os.Stdout, exit: os.Exit, open: openDevice})
}

// rank is one rank at work.
type rank struct {
	*ending
	spec  protocol.RankSpec
	mesh  mesh.Mesh
	out   io.Writer
	outMu sync.Mutex
	step  atomic.Int64 // under way; 0 before the first

	open  opener
	link  *link
	data  *Training
	dev   *device
	saver *saver         // of checkpoints; nil: none are written
	watch sync.WaitGroup // on the link

	boardMu sync.Mutex // the lifeline's goroutine reads the board, release unmaps it
	board   *flight.Board
}

// world is what a rank touches of the process it runs in.
type world struct {
	out  io.Writer
	exit func(code int)
	open opener
}

func run(ctx context.Context, spec protocol.RankSpec, lifeline io.Reader, w world) error {
	own, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	r := &rank{spec: spec, out: w.out, open: w.open}
	r.ending = &ending{spec: spec, exit: w.exit, say: r.logf, cancel: cancel, failed: make(chan struct{}), stopAt: -1,
		under: func() int { return int(r.step.Load()) }}
	defer r.disarm()
	defer r.watchLifeline(lifeline, r.where)()
	defer r.watchSignals(ctx)()
	defer r.watchLauncher(spec.LauncherFD, r.where)()

	watching, stopWatching := context.WithCancel(context.Background())
	defer stopWatching()
	err := r.conclude(own, r.live(own, watching))
	stopWatching()
	if err := r.release(err != nil); err != nil {
		r.logf("while leaving: %v", err)
	}
	return err
}

// live does everything from the specification to the last step. A panic in it is an error with a stack in the log.
func (r *rank) live(ctx, watching context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			r.logf("panic: %v\n%s", p, debug.Stack())
			err = fmt.Errorf("panic: %v (the stack is in the log)", p)
		}
	}()
	if err := r.setOut(); err != nil {
		return err
	}
	if r.link, err = openLink(ctx, r.spec, r.logf); err != nil {
		return err
	}
	r.watch.Go(func() {
		r.link.watch(watching, func(c *cause) { r.fail(c, failedLimit) }, r.agree)
	})
	if r.spec.Preflight != nil {
		return r.preflight(ctx)
	}
	t, err := r.setUp(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	if err := r.link.barrier(ctx, "ready", readyLimit); err != nil {
		return fmt.Errorf("wait until every rank is ready: %w", err)
	}
	return r.loop(ctx, t)
}

// setOut verifies what the rank was told, before anything is opened.
func (r *rank) setOut() error {
	if err := r.spec.Check(); err != nil {
		return err
	}
	p := r.spec.Experiment.Parallel
	r.mesh = mesh.Mesh{TP: p.TP, PP: p.PP, DP: p.DP}
	if err := r.mesh.Validate(); err != nil {
		return err
	}
	if r.mesh.World() != r.spec.World {
		return fmt.Errorf("tp %d, dp %d, pp %d make %d ranks, and %d were started", p.TP, p.DP, p.PP, r.mesh.World(), r.spec.World)
	}
	return nil
}

// where is what the rank is doing now, for its exit record. It may be asked from any goroutine.
func (r *rank) where() (step int, operation string) {
	step = int(r.step.Load())
	r.boardMu.Lock()
	defer r.boardMu.Unlock()
	if r.board != nil && step > 0 {
		if n, err := r.board.Read(r.spec.LocalRank); err == nil {
			operation = n.String()
		}
	}
	return step, operation
}

// conclude settles why the rank ends and leaves the exit record. ctx is what live worked under.
func (r *rank) conclude(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	step := int(r.step.Load())
	if r.cancelled(ctx, err, step) {
		// Ranks that have not heard of it must not take the departure for a failure.
		if _, e := r.link.stopAfter(context.Background(), step); e != nil {
			r.logf("tell the other ranks to stop: %v", e)
		}
		r.write(r.stoppedRecord())
		r.logf("cancelled after step %d", step)
		return ErrCancelled
	}
	operation := operationOf(err)
	c := r.known(0)
	if c == nil && (symptom(err) || r.link.lost()) {
		c = r.known(tellLimit)
	}
	if c == nil && r.spec.Rank != 0 && errors.Is(err, rendezvous.ErrLost) {
		c = &cause{Rank: 0, Text: "it could not be reached: " + oneLine(err.Error()), TSNanos: wallclock.UnixNano()}
		r.fail(c, failedLimit)
	}
	if c == nil {
		c = r.link.publish(&cause{Rank: r.spec.Rank, Step: step, Operation: operation, Text: oneLine(err.Error()), TSNanos: wallclock.UnixNano()})
		r.fail(c, failedLimit)
	}
	rec := recordOf(r.spec.Rank, step, operation, c)
	// Where nobody knows the first cause, a rank that died without a word is the better guess than who missed it.
	rec.Secondary = rec.Secondary || symptom(err)
	if step == 0 && rec.Operation == "" { // what its device did last would be taken for where it failed
		rec.Operation = startingUp
	}
	r.write(rec)
	if c.Rank == r.spec.Rank {
		r.logf("failed at step %d: %v", step, err)
		return err
	}
	r.logf("ends at step %d because %s", step, c.describe())
	return &followed{cause: c, here: err}
}

// startingUp is where a rank is before its first step.
const startingUp = "starting up"

// stoppedRecord is the exit record of a rank that stops because it was told to, or with those that were.
func (r *rank) stoppedRecord() protocol.ExitRecord {
	rec := protocol.ExitRecord{Rank: r.spec.Rank, Code: protocol.CodeCancelled, TSNanos: wallclock.UnixNano()}
	if rec.Step, rec.Operation = r.where(); rec.Step == 0 {
		rec.Operation = startingUp
	}
	if by := r.told(); by != "" {
		rec.Cause = "was told to stop by " + by
	} else {
		rec.Secondary, rec.Cause = true, "stopped because another rank was told to"
	}
	return rec
}

// cancelled tells a wanted end from a failure: also where the ranks that stopped in time left this
// one alone in the step after the last.
func (r *rank) cancelled(ctx context.Context, err error, step int) bool {
	if r.known(0) != nil {
		return false
	}
	if errors.Is(err, ErrCancelled) || errors.Is(context.Cause(ctx), ErrCancelled) {
		return true
	}
	_, last := r.stops()
	return last >= 0 && step >= last && symptom(err)
}

// release gives everything back. After a failure the communicators are aborted first, so that no peer waits for this rank.
func (r *rank) release(failed bool) error {
	r.saver.close(failed)
	var errs []error
	for _, c := range r.part() {
		if failed {
			errs = append(errs, c.Abort())
		}
		errs = append(errs, c.Close())
	}
	if r.dev != nil {
		errs = append(errs, r.dev.Close())
	}
	if r.data != nil {
		errs = append(errs, r.data.Close())
	}
	if r.link != nil {
		errs = append(errs, r.link.close())
	}
	r.watch.Wait()
	r.boardMu.Lock()
	defer r.boardMu.Unlock()
	if r.board != nil {
		errs = append(errs, r.board.Close())
		r.board = nil
	}
	return errors.Join(errs...)
}

// logf writes a line to the rank's log.
func (r *rank) logf(format string, args ...any) {
	r.outMu.Lock()
	defer r.outMu.Unlock()
	// A log that cannot be written must not end a run: what matters is in the records.
	_, _ = fmt.Fprintf(r.out, "rank %d: %s\n", r.spec.Rank, fmt.Sprintf(format, args...))
}
