// Package slurm talks to Slurm by its command line tools, from a login node as any user can: it submits and cancels jobs, asks
// what became of them, and puts Slurm's words into people's.
//
// Nothing that varies between versions is relied upon. Only named fields are asked for (squeue -O, scontrol show job -o); a field
// that a version does not know is left out of the next question; a state, reason or value that is not known stays unknown. No tool is
// trusted to answer: each call has a deadline and a bound on its output, and all that comes back is foreign text that has to
// be cleaned before a terminal sees it. sacct is asked where it is there and missed by nobody.
//
// Start reading at Client (client.go), then Job (job.go) and Client.Find (find.go).
package slurm
