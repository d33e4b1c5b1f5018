package runner

import (
	"strings"
	"testing"
	"time"
)

// What nobody wished failed, by the machine's fault, whoever says so; what somebody wished did not.
func TestNobodysWish(t *testing.T) {
	long := strings.Repeat("n", 64)
	for reason, want := range map[string]struct {
		state State
		fault Fault
	}{
		launcherGone:  {Cancelled, MachineFault},
		"interrupted": {Cancelled, UserFault},
		"host: boost-tui conduct heard nothing of boost-tui": {Cancelled, UserFault},
		conductGone:                               {Failed, MachineFault},
		guardGone + "node1, was killed":           {Failed, MachineFault},
		conductUnheard("node1", 5*time.Second):    {Failed, MachineFault},
		conductUnheard(long, 1000000*time.Second): {Failed, MachineFault},
		frontUnheard + "30 s":                     {Failed, MachineFault},
	} {
		if reason != clean(reason, 200) {
			t.Errorf("%q is cut off on its way", reason)
		}
		state := stateFor(reason)
		if fault := faultOf(Run{}, state, reason, nil); state != want.state || fault != want.fault {
			t.Errorf("%s: %s, %s", reason, state, fault)
		}
	}
}

// The end of a lifeline names who held it.
func TestLifelineEnded(t *testing.T) {
	for holder, want := range map[string]string{"": launcherGone, heldByConduct: conductGone, heldByGuard: guardGone + "node1, was killed"} {
		t.Setenv(envLifeline, holder)
		if got := lifelineEnded("node1"); got != want {
			t.Errorf("held by %q: %s", holder, got)
		}
	}
}
