package runs

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"boost-tui/tui/layout"
	"boost-tui/tui/msg"
	"boost-tui/tui/screen"
	"boost-tui/tui/widget/input"
	"boost-tui/tui/widget/modal"

	tea "github.com/charmbracelet/bubbletea"
)

// askExport asks for a folder and writes the marked runs' files there; they
// are those of `boost-tui export`.
func (m *Model) askExport() tea.Cmd {
	ids := m.targets()
	if len(ids) == 0 {
		return nil
	}
	if m.env.Export == nil {
		return msg.Send(msg.Toast{Level: msg.Warn, Text: "there is no export in this build"})
	}
	folder := filepath.Join("exports", m.now().Format("2006-01-02T15-04-05"))
	export, work := m.env.Export, m.env.WorkDir
	what := layout.Clean(ids[0])
	if len(ids) > 1 {
		what = fmt.Sprintf("%d runs", len(ids))
	}
	return msg.Send(msg.Open{
		Modal: modal.Prompt{Title: "Export " + what, Label: "steps, collectives, ranks, gpus and compare as CSV, and a trace, into a folder", Line: input.New(folder)},
		Then: func(answer any) tea.Cmd {
			to, ok := answer.(string)
			if !ok || to == "" {
				return nil
			}
			if !filepath.IsAbs(to) {
				to = filepath.Join(work, to)
			}
			return tea.Batch(msg.Send(msg.Toast{Text: "exporting " + what}), func() tea.Msg {
				ctx, stop := context.WithTimeout(context.Background(), exportDeadline)
				defer stop()
				files, err := export(ctx, ids, to, false)
				if err != nil {
					return msg.Toast{Level: msg.Bad, Text: err.Error()}
				}
				return msg.Toast{Level: msg.Good, Text: fmt.Sprintf("wrote %d files to %s", len(files), to)}
			})
		},
	})
}

// retag makes a run's tags what is wanted.
func retag(s screen.Store, id string, have, want []string) error {
	var add, remove []string
	for _, t := range want {
		if !slices.Contains(have, t) {
			add = append(add, t)
		}
	}
	for _, t := range have {
		if !slices.Contains(want, t) {
			remove = append(remove, t)
		}
	}
	if len(add)+len(remove) == 0 {
		return nil
	}
	return s.Tag(id, add, remove)
}
