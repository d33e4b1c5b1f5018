package results

import (
	"fmt"
	"io"
	"strings"

	"boost-tui/runner"
)

// Markdown writes the table with what stands below it as text, for a README or an issue: every column, the pruned points
// with their reasons, and everything escaped that Markdown would take for its own.
func (t *Table) Markdown(w io.Writer) error { return t.markdown(w, t.grid(), t.Notes()) }

func (t *Table) markdown(w io.Writer, g *grid, notes []string) error {
	var b strings.Builder
	name := t.Name
	if name == "" {
		name = t.ID
	}
	fmt.Fprintf(&b, "## Sweep %s\n\n%s\n\n", escaped(name), escaped(t.Summary()))
	mdLine(&b, g.titles())
	rule := make([]string, len(g.heads))
	for k, c := range g.heads {
		rule[k] = "---:"
		if c.left {
			rule[k] = "---"
		}
	}
	fmt.Fprintf(&b, "| %s |\n", strings.Join(rule, " | "))
	for _, cells := range g.cells {
		mdLine(&b, cells)
	}
	for _, part := range [][]string{t.bestLines(), notes, t.troubles()} {
		if len(part) > 0 {
			b.WriteByte('\n')
		}
		for _, l := range part {
			fmt.Fprintf(&b, "- %s\n", escaped(l))
		}
	}
	if len(t.Pruned) > 0 {
		b.WriteString("\n### Pruned\n\n")
		mdLine(&b, []string{"point", "reason"})
		b.WriteString("| --- | --- |\n")
		for _, p := range t.Pruned {
			mdLine(&b, []string{p.Point, p.Reason})
		}
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write the sweep as Markdown: %w", err)
	}
	return nil
}

func mdLine(b *strings.Builder, cells []string) {
	out := make([]string, len(cells))
	for i, c := range cells {
		out[i] = escaped(c)
	}
	fmt.Fprintf(b, "| %s |\n", strings.Join(out, " | "))
}

// mdEscaper makes text literal: none of these begins anything any more. Cells need the bar, lines the rest.
var mdEscaper = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", `\<`, ">", `\>`, "|", `\|`, "#", `\#`, "~", `\~`, "!", `\!`, "&", `\&`)

func escaped(s string) string { return mdEscaper.Replace(runner.Clean(s)) }
