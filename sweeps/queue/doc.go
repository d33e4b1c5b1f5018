// Package queue runs a sweep: it starts the runs of its points, follows and judges them, and writes what happens
// into the sweep's journal before anything depends on it.
//
// Start reading at Run.
package queue
