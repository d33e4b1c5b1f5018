package tui

import (
	"boost-tui/tui/screen"
	"boost-tui/tui/screen/compare"
	"boost-tui/tui/screen/launch"
	"boost-tui/tui/screen/live"
	"boost-tui/tui/screen/runs"
	"boost-tui/tui/screen/sweep"
)

// screens lists the screens in tab order.
func screens() []screen.Screen {
	return []screen.Screen{launch.New(), live.New(), compare.New(), sweep.New(), runs.New()}
}
