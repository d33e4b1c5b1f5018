// Package trainer is the life of one rank: it meets the others (trainer/rendezvous), learns where it
// stands (trainer/mesh), opens its device and data (trainer/data), joins its communicators, and runs
// step after step until the schedule, a signal or a failure ends it. Everything it has to say goes into
// the run directory: a line per step, sampled timelines, a log, and an exit record when it fails.
//
// A failure has one first cause. Whoever fails publishes it in the rendezvous before leaving, so that
// the records of all ranks name the same culprit; a rank that only notices that a collective was cut off
// looks there first.
//
// Start reading at Run (rank.go), then loop.go. watch.go is what can end a rank from outside, cause.go
// how blame is settled.
package trainer
