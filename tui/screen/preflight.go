package screen

import (
	"fmt"
	"strings"

	"boost-tui/runner/protocol"
	"boost-tui/tui/format"
	"boost-tui/tui/layout"
	"boost-tui/tui/theme"
)

// shownChecks bounds what is listed of a preflight; its run's folder has all.
const shownChecks = 2000

// PreflightLines are the verdicts of a preflight in lines, the bad ones first. Everything in it was read from a run's folder.
func PreflightLines(t theme.Theme, p protocol.Preflight) []string {
	checks := p.Checks[:min(len(p.Checks), shownChecks)]
	wide := 0
	for _, c := range checks {
		wide = max(wide, min(20, layout.Width(layout.Clean(c.What))))
	}
	signs := map[string]string{protocol.VerdictOK: t.Glyphs.Check, protocol.VerdictSlow: t.Glyphs.Warn, protocol.VerdictFailed: t.Glyphs.Cross}
	var lines []string
	for _, verdict := range []string{protocol.VerdictFailed, protocol.VerdictSlow, protocol.VerdictOK} {
		for _, c := range checks {
			if c.Verdict != verdict {
				continue
			}
			found := layout.Clean(c.Found)
			if c.Node != "" {
				found = layout.Clean(c.Node) + ": " + found
			}
			lines = append(lines, signs[verdict]+" "+layout.Pad(verdict, 7)+layout.Pad(layout.Clean(c.What), wide)+"  "+found)
			if c.Advice != "" {
				lines = append(lines, strings.Repeat(" ", wide+11)+"do: "+layout.Clean(c.Advice))
			}
		}
	}
	return append(lines, "", fmt.Sprintf("%s: %s, looked at for %.0f s", layout.Clean(p.Verdict), format.Many(len(p.Nodes), "node"), p.Seconds))
}
