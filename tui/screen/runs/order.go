package runs

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"boost-tui/experiment"
	"boost-tui/internal/filter"
	"boost-tui/runner"
	"boost-tui/tui/format"
)

// order sorts runs by a key; equal ones by age, newest first.
func order(runs []run, key string, down bool) {
	values, known := make([]filter.Value, len(runs)), make([]bool, len(runs))
	places := make([]int, len(runs))
	for i, r := range runs {
		places[i] = i
		if key != "started" { // which stands in the record
			values[i], known[i] = r.Field(key)
		}
	}
	slices.SortFunc(places, func(i, j int) int {
		a, b := runs[i].Info, runs[j].Info
		c := 0
		if key != "started" {
			c = compareValues(values[i], values[j], known[i], known[j])
		} else {
			c = a.Run.Created.Compare(b.Run.Created)
		}
		if down {
			c = -c
		}
		if c == 0 {
			c = b.Run.Created.Compare(a.Run.Created)
		}
		if c == 0 {
			c = cmp.Compare(b.ID, a.ID)
		}
		return c
	})
	before := slices.Clone(runs)
	for to, from := range places {
		runs[to] = before[from]
	}
}

// compareValues puts values that are not known at the end of an ascending list.
func compareValues(x, y filter.Value, okX, okY bool) int {
	if okX != okY {
		if okX {
			return -1
		}
		return 1
	}
	if x.IsNum && y.IsNum {
		return cmp.Compare(x.Number, y.Number)
	}
	return cmp.Compare(x.Text, y.Text)
}

// hostsOf are the hosts that a run's ranks are on.
func hostsOf(in *runner.Info) []string {
	if len(in.Run.Hosts) > 0 {
		return in.Run.Hosts
	}
	return []string{in.Run.Host}
}

// placeText says where a run's ranks are, where that is not one machine alone.
func placeText(in *runner.Info) string {
	w := in.Run.Experiment.Where
	text := ""
	switch w.Where {
	case experiment.WhereSlurm:
		text = "Slurm, " + format.Many(max(1, w.Nodes), "node")
		if w.Partition != "" {
			text += ", partition " + w.Partition
		}
	case experiment.WhereSSH:
		text = "ssh"
	}
	if n := len(in.Run.Hosts); n > 1 || n == 1 && text != "" {
		hosts := in.Run.Hosts[:min(n, namedHosts)]
		text = strings.TrimPrefix(text+": "+strings.Join(hosts, " "), ": ")
		if n > namedHosts {
			text += " and " + strconv.Itoa(n-namedHosts) + " more"
		}
	}
	return text
}

// namedHosts is how many hosts of a run are named.
const namedHosts = 8
