// Package queue runs a sweep: it starts the runs of its points, follows and judges them, and writes what happens
// into the sweep's journal before anything depends on it.
//
// A point is run by attempts. An attempt is begun in the journal, then its run is created, naming the sweep, the point
// and the attempt, then the journal is told which run it is, and at last how it ended. Runs are detached: they go
// on whatever becomes of the program that started them. So whoever looks after the sweep next finds every run again,
// through the journal or through what the run says of itself, and adopts it or writes down its end. A run that nobody
// took on before its launcher died is claimed first (runner.Settle), so that it can never start
// later. That is why no point is run twice.
//
// Start reading at Run (queue.go), then engine.loop.
package queue
