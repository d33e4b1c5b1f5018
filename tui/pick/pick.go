// Package pick chooses what a run is held against when nobody has said so.
package pick

import (
	"encoding/json"
	"slices"

	profile "boost-tui/profiler/compare"
	"boost-tui/runner"
)

// recent bounds how many of the latest runs are looked at for a default.
const recent = 200

// Default chooses what to compare when nobody has: the latest finished run
// of each scheme that can be compared with each other, around the latest run
// for which that gives all three, else the most. infos are oldest first; the
// result is in the order full-rank, vanilla, btp.
func Default(infos []runner.Info) []string {
	var done []candidate
	for i := len(infos) - 1; i >= 0 && len(done) < recent; i-- {
		if in := infos[i]; in.State == runner.Finished && in.Err == nil && in.Run.Preflight == nil && !in.Archived {
			if c, ok := candidateOf(in); ok {
				done = append(done, c)
			}
		}
	}
	var best []candidate
	for i := range done {
		if set := setAround(done, i); len(set) > len(best) {
			best = set
		}
		if len(best) == len(schemes) {
			break
		}
	}
	slices.SortFunc(best, func(a, b candidate) int { return schemeOrder(a.run.Plan.Scheme) - schemeOrder(b.run.Plan.Scheme) })
	ids := make([]string, len(best))
	for i, c := range best {
		ids[i] = c.id
	}
	return ids
}

// Beside is the latest finished full-rank and vanilla run that a run can be
// compared with; "" where there is none.
func Beside(infos []runner.Info, run runner.Info) (fullRank, vanilla string) {
	self, ok := candidateOf(run)
	if !ok {
		return "", ""
	}
	found := map[string]string{}
	for i, looked := len(infos)-1, 0; i >= 0 && looked < recent && (found[schemes[0]] == "" || found[schemes[1]] == ""); i-- {
		in := infos[i]
		scheme := string(in.Run.Experiment.Parallel.Scheme)
		if in.State != runner.Finished || in.Err != nil || in.Run.Preflight != nil || in.Archived || in.ID == run.ID || found[scheme] != "" {
			continue
		}
		looked++
		if c, ok := candidateOf(in); ok && comparable(&self.run, &c.run) {
			found[scheme] = in.ID
		}
	}
	return found[schemes[0]], found[schemes[1]]
}

// Differences lists in what two runs differ, and the names of what makes them
// incomparable.
func Differences(base, run runner.Info) (all []profile.Difference, against map[string]bool) {
	a, okA := candidateOf(base)
	b, okB := candidateOf(run)
	if !okA || !okB {
		return nil, nil
	}
	all, bad := profile.Differences(&a.run, &b.run)
	against = map[string]bool{}
	for _, d := range bad {
		against[d.Name] = true
	}
	return all, against
}

func comparable(a, b *profile.Run) bool {
	_, against := profile.Differences(a, b)
	return len(against) == 0
}

// schemes in the order of tables.
var schemes = []string{"full-rank", "vanilla", "btp"}

func schemeOrder(s string) int {
	if i := slices.Index(schemes, s); i >= 0 {
		return i
	}
	return len(schemes)
}

// candidate is a run as profiler/compare sees it.
type candidate struct {
	id  string
	run profile.Run
}

// candidateOf reads a run the way profiler/compare reads its run.json.
func candidateOf(in runner.Info) (candidate, bool) {
	data, err := json.Marshal(in.Run)
	if err != nil {
		return candidate{}, false
	}
	c := candidate{id: in.ID}
	return c, json.Unmarshal(data, &c.run) == nil
}

// setAround is the run at i with the latest run of every other scheme that can
// be compared with it. done is latest first.
func setAround(done []candidate, i int) []candidate {
	anchor := done[i]
	set := []candidate{anchor}
	for _, scheme := range schemes {
		if scheme == anchor.run.Plan.Scheme {
			continue
		}
		for j := range done {
			if done[j].run.Plan.Scheme != scheme {
				continue
			}
			if comparable(&anchor.run, &done[j].run) {
				set = append(set, done[j])
				break
			}
		}
	}
	return set
}
