package live

import (
	"strings"
	"testing"

	"boost-tui/runner"
	"boost-tui/runner/protocol"
	"boost-tui/tui/screen"
	"boost-tui/tui/theme"
)

// What somebody ended in order did not end badly.
func TestRanksOfACancelledRun(t *testing.T) {
	for _, c := range []struct {
		state      runner.State
		second     runner.RankExit
		host, rank string
	}{
		{runner.Cancelled, runner.RankExit{Rank: 1, Code: protocol.CodeCancelled}, "cancelled", "cancelled"},
		{runner.Cancelled, runner.RankExit{Rank: 1, Code: -1, Signal: "SIGKILL"}, "1 of 2 ended badly", "SIGKILL"},
		{runner.Failed, runner.RankExit{Rank: 1, Code: protocol.CodeCancelled}, "2 of 2 ended badly", "exit 130"},
	} {
		in := runner.Info{State: c.state, Result: &runner.Result{Ranks: []runner.RankExit{{Rank: 0, Code: protocol.CodeCancelled}, c.second}}}
		m := &Model{env: screen.Env{Theme: theme.New(theme.Options{})}, run: in}
		host, _ := m.hostEnd(&hostStat{name: "a", ranks: []int{0, 1}})
		rank, _ := m.rankEnd(rankStat{rank: 1})
		if !strings.HasSuffix(host, c.host) || !strings.HasSuffix(rank, c.rank) {
			t.Errorf("%s: host %q, rank %q", c.state, host, rank)
		}
	}
}
