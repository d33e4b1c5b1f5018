package space

import (
	"crypto/sha256"
	"encoding/hex"

	"boost-tui/experiment"
)

// idBytes make an ID of 16 letters: two of 200 000 points are alike with a probability of one in a billion.
const idBytes = 8

// idWriter makes the IDs of points. Its zero value is ready.
type idWriter struct {
	keys     []experiment.Key
	defaults []string              // of the keys, before anything is resolved
	e        experiment.Experiment // the one at hand
	text     []byte
}

// id is the identity of a resolved experiment: what runs the same has the same. Its name and tags are left out, and
// so is what means nothing beside the rest (see normal) and what has its default, so that a key that a later version
// adds leaves the identities of earlier experiments alone.
func (w *idWriter) id(e experiment.Experiment) string {
	if w.keys == nil {
		def := experiment.Default()
		for _, k := range experiment.Keys() {
			if !unnamed(k.Name) {
				w.keys, w.defaults = append(w.keys, k), append(w.defaults, k.Get(&def))
			}
		}
	}
	w.e = normal(e)
	w.text = append(w.text[:0], "point 1\n"...)
	for i, k := range w.keys {
		value := k.Get(&w.e)
		if value == w.defaults[i] {
			continue
		}
		w.text = append(w.text, k.Name...)
		w.text = append(w.text, '=')
		w.text = append(w.text, value...)
		w.text = append(w.text, '\n')
	}
	sum := sha256.Sum256(w.text)
	return hex.EncodeToString(sum[:idBytes])
}

// normal gives what means nothing in a resolved experiment one value. Values that Validate refuses stay, so that
// of two experiments with one identity both run or neither. Grouping and keep-silu mean something under every scheme
// (model/decoder.go, model/block.go); vanilla and btp are different programs on one rank too.
func normal(e experiment.Experiment) experiment.Experiment {
	m, s, t, w := &e.Model, &e.Step, &e.Train, &e.Where
	m.Size = "" // a name for the shape, which is spelled out
	if inRange("rank", m.Rank) {
		m.Rank = 0 // rank-attn and rank-mlp say it
	}
	if e.Parallel.Scheme != experiment.BTP {
		s.Norm = experiment.NormOnline // the residual stream is not split: the norm has no statistic to sum
	}
	if e.Parallel.Scheme == experiment.FullRank && s.Recompute == "low-rank" {
		s.Recompute = "none"
	}
	if inRange("stop-after", t.StopAfter) && inRange("steps", t.Steps) && t.StopAfter >= t.Steps {
		t.StopAfter = 0
	}
	if w.Where == experiment.WhereLocal {
		w.MaxRestarts, w.HeartbeatTimeout = 0, experiment.Default().Where.HeartbeatTimeout
	}
	for _, f := range []*float64{&t.LR, &t.WeightDecay, &t.Beta1, &t.Beta2, &t.Clip} {
		*f += 0 // makes 0 of -0
	}
	return e
}

// meaningless reports whether a key's value changes nothing in an experiment, as far as people would expect to read
// it: normal knows more.
func meaningless(e *experiment.Experiment, key string) bool {
	if k, ok := experiment.KeyOf(key); ok && !k.Means(e.Model.Variant) {
		return true
	}
	return key == "norm" && e.Parallel.Scheme != experiment.BTP
}

func inRange(key string, n int) bool {
	k, ok := experiment.KeyOf(key)
	return ok && float64(n) >= k.Min && float64(n) <= k.Max
}
