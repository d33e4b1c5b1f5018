package pick

import (
	"strings"

	"boost-tui/experiment"
)

// EmulatedTitle heads a column that says of what runs the times are not the machine's; with its cells it reads as the mark does.
const EmulatedTitle = "emulated"

// EmulatedCell is a mark's cell in that column, which no width cuts: "device", "link", or "" without a mark.
func EmulatedCell(mark string) string { return strings.TrimPrefix(mark, EmulatedTitle+" ") }

// EmulatedShort is the cell of a column of three cells, for lists that have no room for more.
func EmulatedShort(mark string) string {
	return map[string]string{experiment.EmulatedDevice: "dev", experiment.EmulatedLink: "net"}[mark]
}
