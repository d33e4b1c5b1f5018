//go:build race

package sweeps

const raceEnabled = true
