package trainer

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"boost-tui/trainer/checkpoint"
)

// envKills is how many random moments `make soak` kills at.
const envKills = "BOOST_TEST_KILLS"

// TestKilledAtAnyMoment kills all ranks of a run that writes checkpoints as fast as it can, at random moments, and resumes: there is a whole
// checkpoint whenever there is one at all, nothing else is ever taken for one, and what follows is bit for bit what would have.
func TestKilledAtAnyMoment(t *testing.T) {
	kills := 5
	if n, err := strconv.Atoi(os.Getenv(envKills)); err == nil {
		kills = n
	}
	seed := rand.Uint64()
	if n, err := strconv.ParseUint(os.Getenv("BOOST_TEST_SEED"), 10, 64); err == nil {
		seed = n
	}
	fmt.Printf("moments of %d kills: seed %d (BOOST_TEST_SEED)\n", kills, seed)
	g := rand.New(rand.NewPCG(seed, 1))
	set := map[string]string{"tp": "2", "steps": "1000000", "warmup": "100", "checkpoint-every": "1", "keep-last": "3"}
	resume, done := "", 0
	for kill := range kills {
		p := start(t, small(t, with(set, "resume", resume)))
		p.reach(t, 0, 1+g.IntN(20))
		time.Sleep(time.Duration(g.IntN(20000)) * time.Microsecond)
		order := g.Perm(2)
		for _, rank := range order { // one after the other: the second may be deep in what the first one's end means
			if err := p.cmds[rank].Process.Signal(syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Duration(g.IntN(2000)) * time.Microsecond)
		}
		for rank := range 2 {
			p.code(t, rank, 30*time.Second)
		}
		dir, skipped, err := checkpoint.Find(p.dir)
		if errors.Is(err, checkpoint.ErrNone) {
			continue // it came before the first
		}
		if err != nil || len(skipped) > 0 {
			t.Fatalf("kill %d: %v, passed over %v", kill, err, skipped)
		}
		contents(t, dir) // verifies every checksum
		m := manifest(t, dir)
		if m.Step <= done {
			t.Fatalf("kill %d: the latest checkpoint is of step %d, the run began after step %d", kill, m.Step, done)
		}
		resume, done = dir, m.Step
	}
	if done == 0 {
		t.Skip("every kill came before the first checkpoint")
	}
	whole := (&job{cpu: true, e: small(t, with(set, "checkpoint-every", "0", "stop-after", fmt.Sprint(done)))}).run(t).ok(t)
	same(t, fmt.Sprintf("step %d", done), contents(t, checkpoint.Dir(whole.dir, done)), contents(t, resume))
}
