package compare

import (
	"encoding/json"
	"slices"

	profile "boost-tui/profiler/compare"
	"boost-tui/runner"
)

// pickRecent bounds how many of the latest runs are looked at for a default.
const pickRecent = 200

// pickDefault chooses what to compare when nobody has: the latest finished run
// of each scheme that can be compared with each other, around the latest run
// for which that gives all three, else the most. infos are oldest first; the
// result is in the order full-rank, vanilla, btp.
func pickDefault(infos []runner.Info) []string {
	var done []candidate
	for i := len(infos) - 1; i >= 0 && len(done) < pickRecent; i-- {
		if in := infos[i]; in.State == runner.Finished && in.Err == nil {
			if c, ok := asCandidate(in); ok {
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

// asCandidate reads a run the way profiler/compare reads its run.json.
func asCandidate(in runner.Info) (candidate, bool) {
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
			if _, against := profile.Differences(&anchor.run, &done[j].run); len(against) == 0 {
				set = append(set, done[j])
				break
			}
		}
	}
	return set
}
