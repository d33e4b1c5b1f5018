// Package results turns the runs of a sweep into figures: the table with speed-ups over each point's own twins, heat
// maps, the Pareto front, the best of each size, and their exports.
//
// Start reading at Measure.
package results
