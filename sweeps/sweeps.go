// Package sweeps keeps sweeps: many experiments that belong together, planned once and then run one after
// another until each has ended, whatever dies meanwhile.
//
// A sweep is a directory RUNS/sweeps/<id>: sweep.toml as its user wrote it, plan-NNN.json with the points that
// were planned (one file for the start and one for each time it grew), and journal.jsonl, to which everything that
// happens is appended. Its runs are ordinary runs of the store, which name the sweep in their run.json.
//
// Any program may append wishes (pause, skip, grow) at any time; one at a time, the Hold, looks after the sweep and
// appends what becomes of its points. Each line is checked against all lines before it while the journal is locked, and
// replaying takes only what fits: a line that was cut off, comes twice, or comes from a program that was replaced
// meanwhile changes nothing.
//
// Start reading at Folder and Sweep here, then State, which the journal is replayed into. space/ expands what is
// written in sweep.toml, queue/ runs it, results/ measures it.
package sweeps
