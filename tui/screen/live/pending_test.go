package live_test

import (
	"strings"
	"testing"

	"boost-tui/runner"
	"boost-tui/tui/app"
	"boost-tui/tui/msg"
	"boost-tui/tui/screen/live"
	"boost-tui/tui/testkit"
)

// Three runs are started at once, each behind the one before it: the one whose
// turn it is is shown, and one that waits says for what.
func TestRunsThatWaitAreShownInTurn(t *testing.T) {
	d, store := start(t, 120, 36)
	root := t.TempDir()
	first, second, third := fullRank(t), vanilla(t), btp(t)
	first.State, first.Steps = runner.Running, 3
	second.State, second.Steps, second.Cause = runner.Pending, 0, "waits for "+first.ID
	third.State, third.Steps, third.Cause = runner.Pending, 0, "waits for "+second.ID
	d.Send(msg.OpenRun{ID: first.ID})
	for _, r := range []testkit.RunDir{first, second, third} {
		store.Infos = append(store.Infos, r.Write(t, root))
	}
	d.Send(msg.RunsChanged{})
	has(t, d.Text(), "running "+first.ID)
	store.Infos[0].State = runner.Finished
	d.Send(msg.RunsChanged{})
	for _, size := range [][2]int{{120, 36}, {80, 24}} {
		d.Resize(size[0], size[1])
		has(t, strings.Join(strings.Fields(strings.NewReplacer("│", " ", "\n", " ").Replace(d.Text())), " "),
			"pending "+second.ID, "pending: waits for "+first.ID)
	}
	store.Infos[1].State, store.Infos[1].Cause = runner.Running, ""
	d.Send(msg.RunsChanged{})
	has(t, d.Text(), "running "+second.ID)
	if strings.Contains(d.Text(), "waits for") {
		t.Errorf("it still waits:\n%s", d.Text())
	}
}

// A run that was chosen is left when it ends and others wait for it; a session
// that is taken up goes to the run that runs.
func TestTheChainIsFollowed(t *testing.T) {
	d, store := start(t, 120, 36)
	root := t.TempDir()
	old, first, second := vanilla(t), fullRank(t), btp(t)
	first.State, second.State = runner.Running, runner.Pending
	for _, r := range []testkit.RunDir{old, first, second} {
		store.Infos = append(store.Infos, r.Write(t, root))
	}
	store.Infos[2].Run.After = first.ID
	d.Send(msg.RunsChanged{})
	d.Send(msg.OpenRun{ID: second.ID}, msg.OpenRun{ID: old.ID}, msg.OpenRun{ID: first.ID})
	d.Press("[", "]") // chosen by hand
	store.Infos[1].State, store.Infos[2].State = runner.Finished, runner.Running
	d.Send(msg.RunsChanged{})
	has(t, d.Text(), "running "+second.ID)

	for _, saved := range []string{old.ID, second.ID} {
		m := live.New()
		m.Load([]byte(`{"run":"` + saved + `"}`))
		again := *store
		again.Infos = append([]runner.Info{}, store.Infos...)
		again.Infos[2].State, again.Infos[1].State = runner.Pending, runner.Running
		d := testkit.NewDriver(t, 120, 36, app.Options{Env: testkit.Env(t, &again), Screens: testkit.One(m)})
		has(t, d.Text(), "running "+first.ID)
	}
}
