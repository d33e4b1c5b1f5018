// Package runner starts runs, follows them, ends them and keeps their store.
//
// A run is a directory (files of measurements: profiler/record; the rest: runner/protocol). Three roles
// work on it: the program that launches, one agent per host, one process per rank. Launch creates the
// directory and starts the agent; Agent starts the ranks, watches them and writes down how they ended;
// whoever wants to know reads the directory. So a run needs nobody who remembers it: the state of a
// run (State) is worked out from files and, on its own host, from the process table.
//
// Lifetimes. A rank's stdin is a pipe from the agent, a foreground agent's a pipe from `boost-tui run`:
// the end of the pipe is the end of the other side, whatever killed it. A detached agent has a session
// of its own and no pipe.
//
// A run may wait for another one of its store (await.go): its agent takes it on and starts the ranks when
// that one is over. Nobody else needs to stay for a chain of runs.
//
// A run that nobody looks after any more has an end that nobody wrote down. Settle (settle.go) makes it final, and
// claims a run that no agent took on, so that it never starts after somebody called it lost. Results say whose fault an
// end was (fault.go): only what the machine caused is worth another try.
//
// Start reading at Store (store.go), then Launch (launch.go) and Agent (agent.go). A new place to run on
// (ssh, Slurm) is another Place (place.go): it starts agents, everything else stays.
package runner
