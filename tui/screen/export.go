package screen

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"boost-tui/tui/format"
	"boost-tui/tui/layout"
	"boost-tui/tui/msg"
	"boost-tui/tui/widget/input"
	"boost-tui/tui/widget/modal"

	tea "github.com/charmbracelet/bubbletea"
)

const exportDeadline = 10 * time.Minute

// AskExport asks for a folder and writes the runs' files there; they are those
// of `boost-tui export`. Without runs it does nothing.
func (e Env) AskExport(ids []string) tea.Cmd {
	if len(ids) == 0 {
		return nil
	}
	if e.Export == nil {
		return msg.Send(msg.Toast{Level: msg.Warn, Text: "there is no export in this build"})
	}
	what := layout.Clean(ids[0])
	if len(ids) > 1 {
		what = format.Many(len(ids), "run")
	}
	return msg.Send(msg.Open{
		Modal: modal.Prompt{Title: "Export " + what, Label: "steps, collectives, ranks, gpus and compare as CSV, and a trace, into a folder",
			Line: input.New(filepath.Join("exports", e.Now().Format("2006-01-02T15-04-05")))},
		Then: func(answer any) tea.Cmd {
			to, ok := answer.(string)
			if !ok || to == "" {
				return nil
			}
			if !filepath.IsAbs(to) {
				to = filepath.Join(e.WorkDir, to)
			}
			return tea.Batch(msg.Send(msg.Toast{Text: "exporting " + what}), e.export(ids, to))
		},
	})
}

func (e Env) export(ids []string, to string) tea.Cmd {
	return func() tea.Msg {
		ctx, stop := context.WithTimeout(context.Background(), exportDeadline)
		defer stop()
		files, err := e.Export(ctx, ids, to, false)
		if err != nil {
			return msg.Toast{Level: msg.Bad, Text: err.Error()}
		}
		return msg.Toast{Level: msg.Good, Text: fmt.Sprintf("wrote %s to %s", format.Many(len(files), "file"), to)}
	}
}
