package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"boost-tui/runner/control"
	"boost-tui/runner/protocol"
	"boost-tui/runner/slurm"
)

const (
	// succeedPatience is how long beyond its silence the first host is waited for: its heart may have beaten last just before.
	succeedPatience = 10 * time.Second
	succeedEvery    = 300 * time.Millisecond
	// brokenStale is how long the first host's heart must not have beaten where its agent has hung up as well.
	brokenStale = 4 * time.Second
	// turn is what each further host leaves to the one before it to write the result first.
	turn = 400 * time.Millisecond
	// lastTurn bounds that: all of them may be gone.
	lastTurn = 3 * time.Second
)

// succeed writes the result where the first host, which should, was lost. A host that is merely cut off from it finds out by the
// first one's heart, which it sees beating on the file system that they share; where they share none, the result is not
// this host's to write.
func (a *agent) succeed() error {
	if _, err := os.Lstat(filepath.Join(a.dir, protocol.AgentFile)); err != nil || a.gone {
		return nil
	}
	patience := a.silence()
	if a.lostLeader == control.EndedWithoutWord {
		patience = min(patience, brokenStale)
	}
	wait := min(time.Duration(a.o.Share.Host-1)*turn, lastTurn)
	stale := staleness{dir: a.dir}
	for limit := time.Now().Add(a.silence() + succeedPatience); ; time.Sleep(succeedEvery) {
		switch {
		case resultThere(a.dir) || time.Now().After(limit):
			return nil // the first host is alive, and writes it
		case stale.age() >= patience:
			time.Sleep(wait)
			return errors.Join(a.writeSuccession(), a.handJobBack())
		}
	}
}

// writeSuccession is the result as far as it can be known without the first host.
func (a *agent) writeSuccession() error {
	leader := "number 1"
	if len(a.run.Hosts) > 0 {
		leader = clean(a.run.Hosts[0], 64)
	}
	if hosts, err := Hosts(a.dir); err == nil && len(hosts) > 0 {
		leader = cmp.Or(hosts[0].Name, leader)
	}
	r := Result{State: Failed, Fault: MachineFault, Cause: "host " + leader + ", which leads the run," + hostLost + a.lostLeader,
		Started: begun(a.dir, a.run), Ended: storeNow(a.dir), Ranks: slices.Clone(a.results), Lost: []string{leader}}
	if _, own := ownJob(a.dir); own && a.lostLeader == control.EndedWithoutWord { // its node is there: it hung up
		r.Lost = nil
	}
	if reason, asked := cancelRequest(a.dir); asked && nobodysWish(reason) {
		r.Cause = reason + "; " + r.Cause
	} else if asked {
		r.State, r.Fault, r.Cause = Cancelled, UserFault, reason+"; "+r.Cause
	}
	for host := 1; host < a.o.Share.Hosts; host++ {
		p, err := readPart(a.dir, host)
		if host == a.o.Share.Host || err != nil || a.o.Share.of(host).checkPart(a.run.World())(p) != nil {
			continue
		}
		r.Ranks = append(r.Ranks, p.Ranks...)
	}
	slices.SortFunc(r.Ranks, func(x, y RankExit) int { return cmp.Compare(x.Rank, y.Rank) })
	err := errors.Join(removeReserve(a.dir), completeRollup(a.dir, a.run.World()))
	r.Summary = summarize(a.dir, r)
	if written := writeNewResult(a.dir, r); written != nil && !errors.Is(written, fs.ErrExist) {
		return errors.Join(fmt.Errorf("say that the first host was lost: %w", written), err)
	}
	return errors.Join(err, forgetMeeting(a.dir))
}

// handJobBack lets go of a job whose first node, and with it the program that stood over the run, is lost: Slurm would keep the
// other nodes for it until it notices, or to the end. Where the run is to go on the job is queued again. Where only the agent there
// has ended, the program that stands over the run knows, and starts the run again in this job.
func (a *agent) handJobBack() error {
	f, ok := ownJob(a.dir)
	if !ok || f.ID != os.Getenv("SLURM_JOB_ID") {
		return nil
	}
	if !a.conductLost() {
		return nil
	}
	if first, err := decide(a.dir, byQueue); !first {
		return err
	}
	in := readInfo(a.dir, here(), wallNow())
	client := &slurm.Client{}
	if in.Result != nil && mayRestart(in) {
		err := client.Requeue(context.Background(), f.Ref) // it has a deadline of its own
		if err == nil {
			return nil
		}
		fmt.Fprintf(os.Stderr, "queue job %s again: %v\n", f.ID, err)
	}
	return endJob(context.Background(), client, a.dir, f)
}
