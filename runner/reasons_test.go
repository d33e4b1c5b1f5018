package runner

import (
	"fmt"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"boost-tui/runner/control"
	"boost-tui/runner/protocol"
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
		conductEnded + "ended with exit code 1":   {Failed, MachineFault},
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

// How a conductor has ended is said as the machine that it was on saw it.
func TestConductEndedBy(t *testing.T) {
	for script, want := range map[string]string{"kill -9 $$": conductGone, "exit 3": conductEnded + "ended with exit code 3"} {
		if got := conductEndedBy(exec.Command("sh", "-c", script).Run()); got != want {
			t.Errorf("%s: %s", script, got)
		}
	}
}

// A host that leads a run and hears neither its conductor nor anybody else is the one that is lost.
func TestLeaderThatIsCutOff(t *testing.T) {
	ln, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	a := &agent{dir: t.TempDir(), o: AgentOptions{Version: "v", Share: Share{Hosts: 2, Name: "node1", Address: "127.0.0.1"}},
		meet: meeting{Secret: strings.Repeat("ab", 32), Incarnation: "0011223344556677"}, ending: ending{state: Failed, cause: "host node2" + hostLost + "nothing was heard of it"}}
	server, err := control.Serve(ln, a.channel())
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	a.others = &others{server: server, hosts: make([]other, 2)}
	a.others.hosts[1].Name = "node2"
	reason := conductUnheard("node1", 5*time.Second)
	if got := a.alone(reason); got != reason {
		t.Errorf("the other host is there: %s", got)
	}
	a.others.hosts[1].lost, a.others.lost = "nothing was heard of it for 5s", []int{1}
	if cause, names := a.lostHosts(); !strings.Contains(cause, "; or node1, which leads the run, is cut off") || names[0] != "node2" {
		t.Errorf("%s, %v", cause, names)
	}
	if err := renewLease(leasePath(a.dir, 0), "1 1\n"); err != nil {
		t.Fatal(err)
	}
	if cause, _ := a.lostHosts(); strings.Contains(cause, "node1") {
		t.Errorf("its conductor was heard just now: %s", cause)
	}
	if got := a.alone("interrupted"); got != "interrupted" {
		t.Error(got)
	}
	if got := a.alone(reason); !strings.HasPrefix(got, "host node1, which leads the run, was lost: ") || stateFor(got) != Failed || faultOf(Run{}, Failed, got, nil) != MachineFault {
		t.Error(got)
	}
	if cause, names := a.lostHosts(); !strings.HasPrefix(cause, "host node1, which leads") || len(names) != 1 || names[0] != "node1" {
		t.Errorf("%s, %v", cause, names)
	}
}

// A rank that lost another one for a moment does not know whose host that was; who must look at a machine needs its name.
func TestCausesAmongRanksNameHosts(t *testing.T) {
	silent := "rank 0: step 81: cpu: all-reduce: rank 1 of tp has been silent for 5s: it is stopped, or its host is cut off"
	a := &agent{}
	if got := a.whichHost(silent); got != "" {
		t.Errorf("on one host: %q", got)
	}
	a.others = &others{hosts: make([]other, 3)}
	for host := range a.others.hosts {
		a.others.hosts[host].Name = fmt.Sprintf("node%d", host+1)
	}
	for cause, want := range map[string]string{
		silent: "(node1, node2, node3)",
		"rank 0: step 42: cpu: all-reduce: the connection with rank 1 of tp broke: read tcp: connection reset by peer": "(node1, node2, node3)",
		"rank 0: loss is NaN": "",
	} {
		if got := a.whichHost(cause); want == "" && got != "" || !strings.Contains(got, want) || strings.Contains(got, hostLost) {
			t.Errorf("%s: %q", cause, got)
		}
	}
	a.others.suspects = []int{1}
	if got := a.whichHost(silent); got != "; nothing was heard of node2 then, which came back" {
		t.Errorf("%q", got)
	}
}

// How an agent ended that whoever started it saw end is known: nobody else is cut off.
func TestKnownEndOfAnAgentBlamesNobodyElse(t *testing.T) {
	a := &agent{dir: t.TempDir(), o: AgentOptions{Version: "v", Share: Share{Hosts: 2, Name: "node1", Address: "127.0.0.1"}},
		meet: meeting{Secret: strings.Repeat("ab", 32), Incarnation: "0011223344556677"}, ending: ending{state: Failed, cause: "host node2" + hostLost + control.EndedWithoutWord}}
	a.others = &others{hosts: make([]other, 2), lost: []int{1}}
	h := &a.others.hosts[1]
	h.Name, h.lost = "node2", control.EndedWithoutWord
	if err := writePart(a.dir, 1, part{Cause: "its agent on node2 ended: Killed"}); err != nil {
		t.Fatal(err)
	}
	ln, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	if a.others.server, err = control.Serve(ln, a.channel()); err != nil {
		t.Fatal(err)
	}
	defer a.others.server.Close()
	a.addPart(1, h)
	if cause, _ := a.lostHosts(); cause != "host node2 was lost: its agent on node2 ended: Killed" {
		t.Error(cause)
	}
}

// An agent that ends its ranks by itself has a reason, and they have none.
func TestRanksOfAFencedHostAreNotTheCause(t *testing.T) {
	a := &agent{o: AgentOptions{Share: Share{Hosts: 2, Name: "node1"}}, ending: ending{state: Failed}}
	a.others = &others{hosts: make([]other, 2)}
	a.others.hosts[1].Name, a.others.hosts[1].part = "node2", &part{Fenced: firstHost + hostLost + "nothing was heard of it for 5s"}
	a.ended = []protocol.ExitRecord{{Rank: 1, Code: protocol.CodeCancelled, Cause: "was told to stop by SIGTERM", Secondary: true}, {Rank: 0, Code: protocol.CodeCancelled, Secondary: true, TSNanos: 1}}
	state, cause := a.verdict()
	if want := "host node2 ended its ranks: host node1, which leads the run, was lost: nothing was heard of it for 5s"; state != Failed || cause != want || faultOf(Run{}, state, cause, a.ended) != MachineFault {
		t.Errorf("%s: %s", state, cause)
	}
	a.ended = append(a.ended, protocol.ExitRecord{Rank: 2, Code: -1, Signal: "SIGKILL", Cause: "was killed by SIGKILL"})
	if _, cause = a.verdict(); !strings.HasPrefix(cause, "rank 2: was killed") {
		t.Errorf("a rank that failed by itself: %s", cause)
	}
}
