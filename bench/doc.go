// Package bench holds the benchmarks of promises about the whole program: how much of the machine a
// training step uses, and what watching it costs. `make bench` runs them. Benchmarks of single packages
// stand beside their code; those of the terminal UI are in scripts/bench.sh, with bench/ui.
package bench
