// Package record holds the files of a run directory that carry measurements: step lines, health
// lines, events, timelines and the rollup (PROFILING.md §6). Writers append and lose nothing;
// readers are tolerant: a torn last line, a field they do not know or a value that is absent is
// no error, a line of a newer schema is ErrNewerSchema.
//
// Unknown is not zero. An integer that was not measured is Unknown (−1), a float is NaN, and
// neither is written. NewStepLine and NewHealthLine start with everything unknown.
//
// Start reading at StepLine, then Writer and Tailer; Series is what a chart reads.
package record
