// Package space says which experiments a sweep is made of: axes over any key of an experiment, constraints,
// repeats and twins, expanded into points. What cannot run is pruned with its reason, what would run twice
// runs once.
//
// Start reading at Spec, then Expand.
package space

import (
	"boost-tui/experiment"
)

// Assign is one value of a key, as experiment.Set takes it.
type Assign struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// Axis is one key, or several that move together (zipped), with the values that they take in turn.
type Axis struct {
	Keys   []string   `json:"keys"`
	Values [][]string `json:"values"`         // a value for each key in each entry
	When   string     `json:"when,omitempty"` // expression over what stands before the axis; empty: always
	// Text is how people wrote the values ("32..256*2"), for files and forms; empty: the list itself.
	Text string `json:"text,omitempty"`
}

// Spec is what a sweep's file says about its space.
type Spec struct {
	Name string
	// Set is what every point starts from, on top of experiment.Default.
	Set         []Assign
	Axes        []Axis
	Constraints []string // expressions that every point must meet; a hyphen in a key is written _
	Repeats     int      // of every point, each with a seed of its own; 0 and 1: none
	Twins       bool     // add the full-rank and the vanilla twin of every low-rank point
}

// Point is one experiment of a sweep.
type Point struct {
	// ID is made of the resolved experiment without its name and tags: what runs the same has the same ID.
	ID string `json:"id"`
	// Set says the point on top of Spec.Set. It is all that a plan file keeps of it.
	Set  []Assign `json:"set"`
	Twin bool     `json:"twin,omitempty"` // only there because another point needs it
	// Full and Vanilla are the IDs of its twins where those are part of the sweep, itself included.
	Full    string `json:"full,omitempty"`
	Vanilla string `json:"vanilla,omitempty"`
	// FLOPs are those of the whole run, all ranks (model FLOPs of a step times its steps); 0: unknown.
	FLOPs float64 `json:"flops,omitempty"`
	Ranks int     `json:"ranks"`
	Steps int     `json:"steps"` // that it will train: stop-after where that is less than steps
	Label string  `json:"label"` // the values that tell it from others: "vanilla tp 2 rank 32"
}

// Pruned is a point that cannot run, and why.
type Pruned struct {
	ID     string   `json:"id"`    // as a point's
	Point  string   `json:"point"` // its label
	Set    []Assign `json:"set"`
	Key    string   `json:"key,omitempty"`  // the key to blame
	Rule   string   `json:"rule,omitempty"` // short: experiment.Violation's rule, or the constraint
	Reason string   `json:"reason"`         // a sentence
}

// Expansion is a space spelled out.
//
// Raw = Excluded + Merged + the pruned combinations + the points that are no added twins.
type Expansion struct {
	Base     experiment.Experiment // Default with Spec.Set, not resolved
	Keys     []string              // keys of the axes in their order, seed at the end where there are repeats
	Raw      int                   // combinations of the axes' values, repeats included
	Excluded int                   // of those, how many the constraints left out
	Merged   int                   // of those, how many were the same as another
	Twins    int                   // points that were added as twins
	Points   []Point               // added twins come first: their speed-ups are wanted early
	Pruned   []Pruned              // combinations and twins that cannot run
	Removed  []Removed             // what each constraint left out
	Shapes   int                   // distinct shapes that a step was recorded for
	Notes    []string
	Device   string // what a device that the space leaves open was settled to (ExpandHere); empty: nothing was
	// Links are points that were planned before and have a twin only since this expansion (Beyond).
	Links []Link
}

// Removed says how many combinations a constraint is not met by, whatever other constraints say.
type Removed struct {
	Constraint string
	Points     int
}

// Link names the twins of a point that was planned before them.
type Link struct {
	Point   string `json:"point"`
	Full    string `json:"full,omitempty"`
	Vanilla string `json:"vanilla,omitempty"`
}
