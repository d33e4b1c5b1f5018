package results

import (
	"context"
	"encoding/json"
	"os"
	"runtime"
	"time"

	"boost-tui/experiment"
	"boost-tui/profiler/compare"
	"boost-tui/runner"
)

// History is finished runs of a store on this machine, to estimate by where a sweep has measured nothing itself.
type History struct{ runs []pace }

// Empty reports whether there is nothing to estimate by.
func (h History) Empty() bool { return len(h.runs) == 0 }

// ReadHistory reads the finished runs of a store that ran on this machine with as many cores as there are now. A run that
// cannot be read, or that says neither how long it took nor what it computed, is left out.
func ReadHistory(ctx context.Context, runs *runner.Store) History {
	host, err := os.Hostname()
	if err != nil {
		return History{}
	}
	infos, _ := runs.List(ctx) // whoever lists runs says what is wrong with them
	var h History
	for i := range infos {
		in := &infos[i]
		if in.State != runner.Finished || in.Result == nil || in.Run.Host != host || in.Run.Cores != runtime.GOMAXPROCS(0) || in.Run.Predicted == nil {
			continue
		}
		var s compare.Summary
		if json.Unmarshal(in.Result.Summary, &s) != nil || s.Steps <= 0 {
			continue
		}
		e := in.Run.Experiment
		if e.Train.Resume != "" && e.Train.Resume != "none" { // its steps began elsewhere
			continue
		}
		took, _ := in.Took(in.Clock(time.Now())) // 0: nobody knows
		p := pace{experiment: e, flops: in.Run.Predicted.FLOPs * float64(s.Steps), ranks: in.Run.World(), seconds: took.Seconds()}
		if p.seconds > 0 && p.experiment.Step.Device != experiment.DeviceAuto {
			h.runs = append(h.runs, p)
		}
	}
	return h
}
