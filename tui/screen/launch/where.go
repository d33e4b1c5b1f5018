package launch

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"boost-tui/experiment"
	"boost-tui/tui/format"
	"boost-tui/tui/layout"
)

// whereKeys are the fields that say where ranks run: those that mean something at the place, in order.
func whereKeys(place string) []string {
	keys := []string{"where"}
	switch place {
	case experiment.WhereSSH:
		keys = append(keys, "hosts", "nodes", "dp", "setup")
	case experiment.WhereSlurm:
		keys = append(keys, "nodes", "dp", "partition", "account", "qos", "constraint", "time", "gpus-per-node", "setup")
	default:
		return append(keys, "max-restarts")
	}
	return append(keys, "max-restarts", "heartbeat-timeout", "interface")
}

// placeKeys are all keys that another place may not know.
var placeKeys = []string{"hosts", "nodes", "partition", "account", "qos", "constraint", "time", "gpus-per-node", "setup", "interface", "heartbeat-timeout"}

// otherPlace puts aside what was said of one place and means nothing at the next, and takes back what was said of that
// before. It says so in a line; "" when there was nothing.
func (a *aside) otherPlace(e *experiment.Experiment, from string) string {
	to := e.Where.Where
	if from == to {
		return ""
	}
	none := experiment.Default()
	left, known := map[string]string{}, whereKeys(to)
	for _, key := range placeKeys {
		if v := e.Get(key); v != none.Get(key) && !slices.Contains(known, key) {
			left[key] = v
			mustSet(e, key, none.Get(key))
		}
	}
	places := map[string]map[string]string{}
	for place, values := range a.places {
		places[place] = values
	}
	places[from] = left
	a.places = places
	var notes []string
	if len(left) > 0 {
		notes = append(notes, spelled(left)+" left out: not for "+to)
	}
	if back := places[to]; len(back) > 0 {
		for key, v := range back {
			mustSet(e, key, v)
		}
		notes = append(notes, spelled(back)+" taken back")
	}
	return strings.Join(notes, "; ")
}

// spelled are values of places as on a command line, in the order of the keys.
func spelled(values map[string]string) string {
	var out []string
	for _, key := range placeKeys {
		if v, ok := values[key]; ok {
			out = append(out, "--"+key+" "+v)
		}
	}
	return layout.Clean(strings.Join(out, " "))
}

// isLocal reports whether ranks run on this machine.
func isLocal(w experiment.Where) bool { return w.Where == "" || w.Where == experiment.WhereLocal }

// longValue is more than any name of a partition, account or feature has.
const longValue = 200

// placeFaults are what can be seen of a place without looking at it: what Slurm or ssh would stumble over. What only the
// machines know is asked aside (see checked).
func placeFaults(e experiment.Experiment, known named) (out []experiment.Violation) {
	w := e.Where
	add := func(key, value, reason string, near ...string) {
		value = layout.Cut(layout.Clean(value[:min(len(value), longValue)]), 40, "~")
		out = append(out, experiment.Violation{Key: key, Value: value, Rule: "a place is said plainly", Reason: reason, Nearest: near})
	}
	names := map[string]string{"partition": w.Partition, "account": w.Account, "qos": w.QOS, "constraint": w.Constraint, "setup": w.Setup, "interface": w.Interface, "hosts": w.Hosts}
	for _, key := range placeKeys {
		v, ok := names[key]
		if !ok || v == "" {
			continue
		}
		limit := longValue
		if key == "hosts" {
			limit = longText
		}
		switch {
		case len(v) > limit:
			add(key, v, fmt.Sprintf("has %d characters, at most %d are taken", len(v), limit))
		case layout.Clean(v) != v || strings.ContainsAny(v, "\n\t"):
			add(key, v, "holds what is no printable character")
		case strings.HasPrefix(v, "-"):
			add(key, v, "begins with a hyphen, as an option does")
		case strings.Contains(v, " ") && key != "constraint" && key != "hosts":
			add(key, v, "holds a blank")
		}
	}
	if n := known.of(w); w.Where == experiment.WhereSSH && w.Nodes <= 1 && n > e.World() {
		add("hosts", w.Hosts, fmt.Sprintf("names %d machines, and the run has %s (tp x pp x dp): name at most as many, or set nodes", n, format.Many(e.World(), "rank")))
	}
	if w.Where == experiment.WhereSlurm && w.Time != "" && !slurmTime(w.Time) {
		add("time", w.Time, "is no time limit: minutes, hours:minutes:seconds, or days-hours:minutes:seconds", "60", "01:00:00", "1-00:00:00")
	}
	return out
}

// slurmTime reports whether Slurm takes a text as a time limit (sbatch(1)).
func slurmTime(s string) bool {
	if s == "UNLIMITED" || s == "INFINITE" {
		return true
	}
	days, rest, hasDays := strings.Cut(s, "-")
	if hasDays && !number(days) {
		return false
	}
	if !hasDays {
		rest = s
	}
	parts := strings.Split(rest, ":")
	for _, p := range parts {
		if !number(p) {
			return false
		}
	}
	return len(parts) <= 3
}

func number(s string) bool {
	n, err := strconv.ParseUint(s, 10, 32)
	return err == nil && n < 1e6
}

// placeText says where ranks run, in a few words.
func placeText(e experiment.Experiment, known named, here string) string {
	w := e.Where
	ranks := format.Many(e.World(), "rank")
	text := ""
	switch w.Where {
	case experiment.WhereSlurm:
		text = ranks + " on " + format.Many(max(1, w.Nodes), "node") + " of Slurm"
		for _, part := range []struct{ name, value string }{{"partition", w.Partition}, {"account", w.Account}, {"qos", w.QOS}, {"constraint", w.Constraint}} {
			if part.value != "" {
				text += ", " + part.name + " " + part.value
			}
		}
		text += ", for at most " + cmp.Or(w.Time, "what the partition allows")
	case experiment.WhereSSH:
		hosts := strings.ReplaceAll(w.Hosts, ",", ", ")
		if n := known.of(w); n > 0 && n != strings.Count(w.Hosts, ",")+1 {
			hosts = format.Many(n, "machine") + " of " + hosts
		}
		text = ranks + " by ssh on " + hosts
		if w.Nodes > 1 {
			text = ranks + " by ssh on " + format.Many(w.Nodes, "node") + " of " + hosts
		}
	default:
		text = ranks + " on " + here
	}
	return layout.Clean(text)
}

// restartText says what happens when a machine fails; "" where nothing is asked.
func restartText(w experiment.Where) string {
	if w.MaxRestarts <= 0 {
		return ""
	}
	return fmt.Sprintf("When a machine fails it goes on from its last checkpoint, up to %s.", strings.Replace(format.Many(w.MaxRestarts, "time"), "1 times", "once", 1))
}

// deadline bounds the start of a run: hosts are reached, a program is copied, a job submitted.
func deadline(w experiment.Where) time.Duration {
	if isLocal(w) {
		return launchDeadline
	}
	return awayDeadline
}
