package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"boost-tui/profiler/record"
	"boost-tui/profiler/sample"
	"boost-tui/runner/control"
	"boost-tui/runner/protocol"
)

// AgentOptions is what an agent is told by its command line and by the program that it is part of.
type AgentOptions struct {
	Dir        string // of the run
	Foreground bool   // stdin is the lifeline of the program in front
	Binary     string // to start ranks from; empty: this one
	Version    string // of the program; ranks compare it with theirs
	// NewSegment makes the memory that ranks of a host share; nil: none. The runner knows no device, so
	// whoever wires the roles hands in the cpu device's.
	NewSegment func() (*os.File, error)
	// Prepare does what the ranks' device needs before they start; nil: nothing. It may take a while, which it says.
	Prepare func(ctx context.Context, device string, say func(format string, args ...any)) error
	// GPUs opens the cards of this host for sampling, until the context ends; nil: none are sampled.
	GPUs  func(context.Context) (sample.GPUs, error)
	Share Share // of the run's ranks
	// Lifeline replaces stdin in tests.
	Lifeline io.ReadCloser
}

const (
	// recordPatience is how long the other ranks have after a failure to notice and write their own records.
	recordPatience = time.Second
	// killAfter is how long after a failure, or the death of the program in front, whoever is left is killed.
	killAfter = 3 * time.Second
	// finishPatience is how long ranks may take to finish their step when somebody cancels.
	finishPatience = 6 * time.Second
	// watchEvery is how often a cancel request is looked for.
	watchEvery = 200 * time.Millisecond
	// resultPatience is how long a result is tried to write on a disk that is full.
	resultPatience = 30 * time.Second
)

// agent is the state of the agent role. Its loop runs in one goroutine; measuring has another.
type agent struct {
	o        AgentOptions
	dir      string
	run      Run
	started  time.Time     // by the clock of the store
	ahead    time.Duration // how far this host's clock is ahead of that
	crew     *crew
	meter    *meter
	cards    cardsWait
	oomStart int64
	events   *record.Writer
	ended    []protocol.ExitRecord // of ranks that failed, in the order noticed
	unsaved  []protocol.ExitRecord // of those, what could not be written
	results  []RankExit
	left     int // ranks that still run
	diskFull bool
	ending   ending
	absent   string      // which ranks others waited for in vain; empty: it is not known that any did
	why      *inquiry    // to Slurm, why it ends the run; nil: nobody has asked
	held     fs.FileInfo // the directory as the agent took it on
	meet     meeting     // what the agent of host 0 said; of the others
	missing  int         // how many looks in a row did not find it
	gone     bool        // it was deleted: nothing is written any more
	dog      watchdog
	halt     halt

	// Of a run on several hosts.
	others     *others         // on the first host; nil elsewhere
	leader     *control.Client // on the others: to the first
	lostLeader string          // why the first host counts as lost; empty: it does not
	fenced     string          // why this agent ended its ranks by itself; empty: it did not
	ordered    bool            // the first host's agent has ended the run
	shown      time.Time       // when it was last told where the ranks are
}

// Agent looks after the ranks of a run on this machine from start to end. It takes the run on, waits for
// the run before it where there is one, starts the ranks, measures, ends them all when one dies or somebody cancels, and writes the result. It
// returns an error when the run could not be taken on or its result not be written; how the run went
// is in the result. Ending the context cancels the run.
func Agent(ctx context.Context, o AgentOptions) error {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return fmt.Errorf("agent: run directory: %w", err)
	}
	a := &agent{o: o, dir: dir, started: wallNow(), oomStart: oomKills()}
	if a.run, err = readRun(dir); err != nil {
		return fmt.Errorf("agent: %w", err)
	}
	if a.held, err = os.Stat(dir); err != nil {
		return fmt.Errorf("agent: %w", err)
	}
	if err := o.Share.check(a.run.World()); err != nil {
		return fmt.Errorf("agent: %w", err)
	}
	if !o.Share.leads() {
		return a.assist(ctx)
	}
	if err := a.claim(); err != nil {
		return fmt.Errorf("agent: %w", err)
	}
	ctx, stop := notify(ctx)
	defer stop()
	life, hangUp, err := listen(a.o.Foreground, a.o.Lifeline, a.hostName())
	if err != nil {
		return a.finish(Failed, err.Error())
	}
	defer hangUp()
	if a.events, err = record.OpenWriter(record.EventsPath(a.dir)); err != nil {
		return a.finish(Failed, err.Error())
	}
	if state, cause := a.await(ctx, life); state != "" {
		return a.finish(state, cause)
	}
	if state, cause := a.ready(ctx, life); state != "" {
		return a.finish(state, cause)
	}
	if err := a.lead(); err != nil {
		return a.finish(Failed, err.Error())
	}
	a.loop(ctx, life)
	return a.conclude()
}

// notify turns the signals that end a run into the end of the context. What a detached run's terminal
// or a closed pipe send means nothing to it.
func notify(ctx context.Context) (context.Context, func()) {
	signal.Ignore(syscall.SIGPIPE, syscall.SIGHUP)
	return signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGINT)
}

// claim takes the run on.
func (a *agent) claim() error {
	me, err := self()
	if err != nil {
		return err
	}
	a.started, err = claim(a.dir, me)
	a.ahead = wallNow().Sub(a.started)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("run %s has an agent already (%s is there)", a.run.ID, filepath.Join(a.dir, protocol.AgentFile))
	}
	return err
}

// claim writes agent.json: this process and no other looks after the run, from the time that it gives, by the clock of the store.
// It is fs.ErrExist when one does already.
func claim(dir string, me Process) (time.Time, error) {
	if err := beat(dir, 0); err != nil { // before agent.json, so that there is never one without the other
		return time.Time{}, record.Explain(err)
	}
	started := timeOf(filepath.Join(dir, protocol.HeartbeatFile))
	data, err := json.Marshal(agentFile{Schema: Schema, Process: me, Started: started})
	if err != nil {
		return time.Time{}, err
	}
	return started, record.Explain(protocol.WriteNew(filepath.Join(dir, protocol.AgentFile), append(data, '\n')))
}

// now is the time of day in the store.
func (a *agent) now() time.Time { return wallNow().Add(-a.ahead) }

// over is when a run ends that ends now: not before it can have, where a clock was set meanwhile.
func (a *agent) over() time.Time {
	now := a.now()
	least := a.started.Round(0).Add(now.Sub(a.started)) // which is told by the monotonic clock
	if now = now.Round(0); now.Before(least) {
		return least
	}
	return now
}

// claimedBy reports that it was this process that took the run on.
func claimedBy(dir string, me Process) bool {
	agent, err := readAgent(dir)
	return err == nil && agent == me
}

// start starts the ranks and begins to measure.
func (a *agent) start() error {
	var err error
	if a.crew, err = newCrew(a.dir, a.run, a.o, a.meet); err != nil {
		return err
	}
	a.note(record.EventState, string(Running), fmt.Sprintf("%d ranks start on %s", a.crew.size(), a.hostName()), nil)
	if err := a.crew.start(); err != nil {
		a.crew.signal(syscall.SIGKILL)
		a.crew.close()
		if a.o.Share.leads() {
			err = errors.Join(err, forgetMeeting(a.dir))
		}
		return err
	}
	a.left = len(a.crew.ranks)
	a.measure()
	return nil
}

// rolled are the ranks whose steps this agent puts together: all, where it leads.
func (a *agent) rolled() []int {
	if !a.o.Share.leads() {
		return nil
	}
	ranks := make([]int, a.run.World())
	for i := range ranks {
		ranks[i] = i
	}
	return ranks
}

// loop runs until every rank has ended, and on the first host until the others have given account of theirs.
func (a *agent) loop(ctx context.Context, life <-chan string) {
	watch := time.NewTicker(watchEvery)
	defer watch.Stop()
	for a.left > 0 || a.others.open() {
		select {
		case e := <-a.others.events():
			a.heardOf(e)
		case e := <-a.leaderSays():
			a.heardLeader(e)
		case e := <-a.crew.exits:
			if ctx.Err() != nil { // a signal to all of them: the wish to end came first
				a.cancel(a.signalReason())
			}
			a.exited(e)
		case <-ctx.Done():
			ctx = context.Background() // heard
			a.cancel(a.signalReason())
		case reason, ok := <-life:
			life = nil
			if ok {
				a.cancel(reason)
			}
		case o := <-a.cards.got:
			a.tookCards(o)
		case <-watch.C:
			a.look()
			a.lookAtOthers()
		case <-a.ending.term:
			a.ending.term = nil
			a.crew.signal(syscall.SIGTERM)
		case <-a.ending.kill:
			if a.ending.kill = a.grace(); a.ending.kill == nil {
				a.crew.signal(syscall.SIGKILL)
			}
		}
	}
}

// exited takes note of a rank's end.
func (a *agent) exited(e rankExit) {
	a.left--
	e.rank.ended = true
	rec, failed := a.autopsy(e)
	if failed && a.absent == "" && strings.Contains(rec.Cause, peersAbsent) {
		a.absent = absent(a.standings(), rec.Rank, a.run.Experiment.Parallel.PP > 1)
	}
	a.results = append(a.results, RankExit{Rank: rec.Rank, Code: rec.Code, Signal: rec.Signal})
	if !failed {
		return
	}
	a.ended = append(a.ended, rec)
	a.tellLeader(rec)
	a.diskTrouble(removeReserve(a.dir)) // the room it keeps is for what follows
	a.save(rec)
	rank := rec.Rank
	a.note(record.EventAlert, "rank_ended", describe(rec), &rank)
	if rec.OK() { // it left before its work was done: no exit code says so
		a.fail(describe(rec))
		return
	}
	a.fail("")
}

// diskTrouble remembers that the disk was full: ranks that fail without a word then failed for that.
func (a *agent) diskTrouble(err error) {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		a.diskFull = true
	}
}

// note writes an event. An event that cannot be written must not end a run.
func (a *agent) note(kind, code, msg string, rank *int) {
	if a.events == nil {
		return
	}
	a.diskTrouble(a.events.Event(&record.EventLine{Kind: kind, TSNanos: wallNanos(), Rank: rank, Code: code, Msg: msg}))
}
