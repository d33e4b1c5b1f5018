package runner

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"boost-tui/runner/control"
	"boost-tui/runner/protocol"
)

// settled adds the accounts of the other hosts to this one's.
func (a *agent) settled() error {
	if a.others == nil {
		return nil
	}
	for host := range a.others.hosts {
		if host > 0 {
			a.addPart(host, &a.others.hosts[host])
		}
	}
	return errors.Join(a.writeHosts(), forgetMeeting(a.dir))
}

// addPart adds the ends of a host's ranks.
func (a *agent) addPart(host int, h *other) {
	p := h.part
	if p == nil { // it was lost; where it reaches the file system it may have left word there
		left, err := readPart(a.dir, host)
		if err != nil || a.o.Share.of(host).checkPart(a.run.World())(left) != nil {
			return
		}
		if left.Cause != "" && h.lost == control.EndedWithoutWord { // whoever started it knows more
			h.lost, h.known = clean(left.Cause, maxLineRunes), true
		}
		p, h.elsewhere = &left, left.Cause == ""
	}
	ahead := a.others.server.Offset(host)
	for _, r := range p.Ranks {
		a.results = append(a.results, r)
		if r.Code == 0 && r.Signal == "" || r.Code == protocol.CodeCancelled && a.ending.state == Cancelled {
			continue
		}
		rec, ok := h.exits[r.Rank]
		if !ok {
			var err error
			if rec, err = protocol.ReadExit(a.dir, r.Rank); err != nil {
				rec = protocol.ExitRecord{Rank: r.Rank, Secondary: true}
			}
		}
		rec.Code, rec.Signal = r.Code, cmp.Or(r.Signal, rec.Signal)
		if ahead.Known { // which rank was the first is decided by one clock
			rec.TSNanos -= ahead.Offset.Nanoseconds()
		}
		a.ended = append(a.ended, rec)
	}
}

// alone makes more of a reason to end the run: where this host, which leads it, hears neither its conductor nor any other host, it is
// the one that is lost, whatever it has taken the others for.
func (a *agent) alone(reason string) string {
	o := a.others
	if o == nil || !strings.Contains(reason, unheard) || !strings.HasPrefix(reason, "host "+clean(a.hostName(), 64)) {
		return reason
	}
	silent := o.server.Silent(suspicion)
	for host := range o.hosts {
		if host > 0 && o.hosts[host].lost == "" && !slices.Contains(silent, host) {
			return reason
		}
	}
	o.alone = "host " + a.hostName() + ", which leads the run," + hostLost + "it heard nothing of any other host, nor of boost-tui conduct, which stands over the run"
	return o.alone
}

// heard reports whether the conductor of a run by ssh was heard just now: then this host is not cut off.
func (a *agent) heard() bool {
	st, err := os.Stat(leasePath(a.dir, a.o.Share.Host))
	return err == nil && fileNow(a.dir, time.Now()).Sub(st.ModTime()) < suspicion
}

// lostHosts is why a run failed that lost hosts, and their names; the cause is empty where it lost none, or where they were lost
// in an end that began for another reason.
func (a *agent) lostHosts() (cause string, names []string) {
	if a.others == nil {
		return "", nil
	}
	if a.others.alone != "" {
		return a.others.alone, []string{a.hostName()}
	}
	if len(a.others.lost) == 0 {
		return "", nil
	}
	first := a.others.lost[0]
	why := strings.Contains(a.ending.cause, hostLost)
	for _, host := range a.others.lost {
		names = append(names, a.others.called(host))
		if slices.Contains(a.others.suspects, host) && !why {
			first, why = host, true
		}
	}
	if !why {
		return "", names
	}
	lost := &a.others.hosts[first]
	what := "host " + a.others.called(first)
	if len(names) > 1 {
		what = "hosts " + strings.Join(names[:min(len(names), 8)], ", ")
	}
	cause = what + hostLost + lost.lost
	switch {
	case lost.elsewhere:
		cause += ", though it reaches the file system: the network between it and " + a.hostName() + ", which leads the run, is broken"
	case len(names) == len(a.others.hosts)-1 && lost.lost != control.EndedWithoutWord && !lost.known && !a.heard(): // silence has two ends
		cause += "; or " + a.hostName() + ", which leads the run, is cut off"
	}
	return cause, names
}

// saidFenced is why the agent of another host ended its ranks without being told to; empty: it did not.
func (a *agent) saidFenced(host int) string {
	p := a.others.hosts[host].part
	if p == nil || p.Fenced == "" {
		return ""
	}
	why := strings.Replace(clean(p.Fenced, maxLineRunes), firstHost+hostLost, "host "+a.hostName()+", which leads the run,"+hostLost, 1)
	return "host " + a.others.called(host) + " ended its ranks: " + why
}

// fencedElsewhere is saidFenced of the first host that did; empty: none. Its ranks end in order and say only that they were told to.
func (a *agent) fencedElsewhere() string {
	if a.others == nil {
		return ""
	}
	for host := 1; host < len(a.others.hosts); host++ {
		if said := a.saidFenced(host); said != "" {
			return said
		}
	}
	return ""
}

// ofPeers are what ranks say of others that they do not hear, or cannot reach any more.
var ofPeers = []string{"its host is cut off", "the connection to it broke", "its connection broke", "the connection with rank"}

// whichHost is added to a cause by which a rank has lost another one, where no host was lost in the end: which of them it may have
// been. Ranks have numbers, and who must look at a machine needs a name.
func (a *agent) whichHost(cause string) string {
	if a.others == nil || !slices.ContainsFunc(ofPeers, func(s string) bool { return strings.Contains(cause, s) }) {
		return ""
	}
	var silent, all []string
	for host := range a.others.hosts {
		name := a.others.called(host)
		all = append(all, name)
		if slices.Contains(a.others.suspects, host) {
			silent = append(silent, name)
		}
	}
	if len(silent) > 0 {
		return "; nothing was heard of " + few(silent) + " then, which came back"
	}
	return "; no host is missing (" + few(all) + "): that rank alone stood still, or the network between hosts broke, for a moment"
}

// few are some names, and how many more there are.
func few(names []string) string {
	const most = 8
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}
