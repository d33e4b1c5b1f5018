package live

import (
	"bytes"
	"fmt"
	"time"

	"boost-tui/profiler/record"
	"boost-tui/tui/chart"
	"boost-tui/tui/format"
)

// maxEvals bounds the evaluations that are kept of a run; of more, every second one goes.
const maxEvals = 4096

// evalTailer follows the evaluations among the events of a run.
type evalTailer struct {
	*record.Tailer
	all []record.Evaluation // replaced, never changed: snapshots have it
}

// read takes what is new. more says that there was no time for all.
func (t *evalTailer) read(deadline time.Time) (more bool, err error) {
	var fresh []record.Evaluation
	for more = true; more; {
		more, err = t.Poll(refineChunk, func(line []byte) {
			if !bytes.Contains(line, []byte(`"`+record.EventEval+`"`)) {
				return
			}
			var l record.EventLine
			if l.Decode(line) != nil {
				return
			}
			if v, ok := l.Evaluation(); ok && v.Step >= 0 {
				fresh = append(fresh, v)
			}
		})
		if err != nil || time.Now().After(deadline) {
			break
		}
	}
	if len(fresh) > 0 {
		t.all = thinned(append(append([]record.Evaluation{}, t.all...), fresh...))
	}
	return more, err
}

// thinned leaves out every second evaluation until there are few enough; the last one stays.
func thinned(all []record.Evaluation) []record.Evaluation {
	for len(all) > maxEvals {
		var kept []record.Evaluation
		for i := (len(all) - 1) % 2; i < len(all); i += 2 {
			kept = append(kept, all[i])
		}
		all = kept
	}
	return all
}

// evalPattern tells the line of the evaluations from the run's own and from those of references.
const evalPattern = 3

// evalPoints are the evaluations as a line, in order of their steps: what a run that went on from a checkpoint says of
// earlier steps is left out.
func evalPoints(evals []record.Evaluation) (p chart.Points) {
	last := -1.0
	for _, v := range evals {
		if x := float64(v.Step); x > last {
			p.X, p.Y, last = append(p.X, x), append(p.Y, v.Loss), x
		}
	}
	return p
}

// evalText is an evaluation in a few words; of the last one up to a step where one is asked for.
func evalText(evals []record.Evaluation, step int64) string {
	for i := len(evals) - 1; i >= 0; i-- {
		if v := evals[i]; step < 0 || int64(v.Step) <= step {
			if !chart.Finite(v.Loss) {
				return fmt.Sprintf("eval @ %d: no number", v.Step)
			}
			return fmt.Sprintf("eval %s ppl %s @ %d", chart.Value(v.Loss), format.Digits(v.Perplexity()), v.Step)
		}
	}
	return ""
}
