// Package sweeps keeps sweeps: many experiments that belong together, planned once and then run one after
// another until each has ended, whatever dies meanwhile.
//
// A sweep is a directory RUNS/sweeps/<id>: sweep.toml as its user wrote it, plan-NNN.json with the points that
// were planned (one file for the start and one for each time it grew), and journal.jsonl, to which everything that
// happens is appended. Its runs are ordinary runs of the store, which name the sweep in their run.json.
//
// Start reading at Folder and Sweep here, then State, which the journal is replayed into. space/ expands what is
// written in sweep.toml, queue/ runs it, results/ measures it.
package sweeps
