package launch

import (
	"context"
	"time"

	"boost-tui/experiment"
	"boost-tui/runner"

	tea "github.com/charmbracelet/bubbletea"
)

// freshDeadline bounds the reading of the store before a launch asks: a dialog that is late is worse than one that
// goes by the runs known so far.
const freshDeadline = 2 * time.Second

// refreshed is the store as it was when a launch was asked for.
type refreshed struct {
	infos   []runner.Info
	known   bool         // false: reading took too long or failed
	devices devicesKnown // that were not known yet
	then    func(*Model) tea.Cmd
}

func (m *Model) freshLaunch() tea.Cmd { return m.fresh((*Model).askLaunch) }

func (m *Model) freshThree() tea.Cmd { return m.fresh((*Model).askThree) }

// fresh reads the store anew before then asks: a run that another program started a moment ago must be warned of, and
// the UI looks at an idle store every few seconds only. What the draft would compute on is asked for, where that is not known yet.
// While it reads it takes no other launch.
func (m *Model) fresh(then func(*Model) tea.Cmd) tea.Cmd {
	if m.asking {
		return nil
	}
	if m.env.Store == nil {
		return then(m)
	}
	m.asking = true
	store, look, device := m.env.Store, m.lookAtDevices(), m.draft.set.Step.Device
	if isOpen(m.draft.set) {
		device = experiment.DeviceAuto
	}
	if !m.waits() {
		look = nil
	}
	return func() tea.Msg {
		var devices devicesKnown
		if look != nil {
			devices = look(device, freshDeadline)
		}
		ctx, cancel := context.WithTimeout(context.Background(), freshDeadline)
		defer cancel()
		infos, _ := store.List(ctx)
		return refreshed{infos, ctx.Err() == nil, devices, then}
	}
}

// ask opens the dialog that waited for the store.
func (m *Model) ask(in refreshed) tea.Cmd {
	m.asking = false
	if in.known {
		m.infos = in.infos
	}
	if in.devices.known == nil {
		return in.then(m)
	}
	replan := m.takeDevices(in.devices)
	return tea.Batch(replan, in.then(m))
}
