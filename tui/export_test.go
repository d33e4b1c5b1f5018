package tui

// RunScreens is Run with other screens; Screens are the program's.
var (
	RunScreens = run
	Screens    = screens
	// NewSweepStore is what the Sweep screen gets.
	NewSweepStore = newSweepStore
)
