//go:build !race

package sweeps

const raceEnabled = false
