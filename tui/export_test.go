package tui

// RunScreens is Run with other screens.
var RunScreens = run
