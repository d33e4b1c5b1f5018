// Package profiler times the operations of a training step and says where the step's time went.
//
// Wrap puts a timer round a kernels.Device: always an event pair per chunk of a block and per
// collective, in sampled steps a pair per operation. EndStep turns the events into spans and
// their sum (StepTimes, by the definitions of PROFILING.md §5). Collectives and Arrivals compare
// the spans of several ranks. Subpackages keep the numbers: record holds the files, stats the
// statistics, compare and export the tables, sample reads the machine.
//
// Start reading at Wrap.
package profiler
