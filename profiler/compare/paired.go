package compare

// Pair asks how much faster than the run in the directory Base the one in Candidate is.
type Pair struct{ Base, Candidate string }

// Measured is one run among others.
type Measured struct {
	Summary
	Run        Run
	LastStep   int64    // that every rank completed
	Overlapped []string // ids of runs of the same host that ran meanwhile and slowed it
	Err        error    // why it could not be read; the figures are then empty
}

// Paired is what a pair shows.
type Paired struct {
	Speedup     *Speedup     // nil: one of the two has no figures
	Comparable  bool         // their step times
	LossMatches bool         // their losses
	Differences []Difference // all of the candidate from the base
	Differs     []string     // names of those that no comparison is made for
	// Pooled says how many runs each side of the speed-up rests on, the base's first: 1, or all repeats from three on.
	Pooled [2]int
}

// Comparison is several runs with the pairs that somebody asked for.
type Comparison struct {
	Runs  []Measured // in the order of the directories
	Pairs []Paired   // in the order of the pairs
}
