package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"boost-tui/tui/msg"

	tea "github.com/charmbracelet/bubbletea"
)

// Session is what the next start of the UI finds again.
type Session struct {
	Schema     int                        `json:"schema"`
	Screen     string                     `json:"screen"`
	References msg.References             `json:"references"`
	Screens    map[string]json.RawMessage `json:"screens"`
}

const (
	sessionSchema = 1
	sessionLimit  = 1 << 20
	// saveAfter is the pause after a key until the session is written.
	saveAfter = 2 * time.Second
)

// LoadSession reads a session. A missing, damaged or newer one is an empty
// session; the error says why, for the log.
func LoadSession(path string) (Session, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Session{}, nil
	}
	if err == nil && info.Size() > sessionLimit {
		err = fmt.Errorf("%s is larger than %d bytes", path, sessionLimit)
	}
	if err != nil {
		return Session{}, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return Session{}, err
	}
	var s Session
	if err := json.Unmarshal(data, &s); err != nil {
		return Session{}, fmt.Errorf("%s: %w", path, err)
	}
	if s.Schema != sessionSchema {
		return Session{}, fmt.Errorf("%s has schema %d, this version reads %d", path, s.Schema, sessionSchema)
	}
	return s, nil
}

// SaveSession writes a session aside and renames it, so that a reader never
// finds half of one.
func SaveSession(path string, s Session) error {
	data, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return fmt.Errorf("encode the session: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".session-")
	if err != nil {
		return err
	}
	_, err = f.Write(append(data, '\n'))
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// session gathers the present state.
func (m *Model) session() Session {
	s := Session{Schema: sessionSchema, Screen: m.current().ID(), References: m.refs, Screens: map[string]json.RawMessage{}}
	for _, screen := range m.screens {
		if saved := screen.Save(); len(saved) > 0 {
			s.Screens[screen.ID()] = saved
		}
	}
	return s
}

type (
	saveNow struct{}
	saved   struct{ err error }
)

// saveLater writes the session some time after the first of several changes,
// so that a killed terminal loses little.
func (m *Model) saveLater() tea.Cmd {
	if m.opts.Save == nil || m.saving {
		return nil
	}
	m.saving = true
	return m.env.After(saveAfter, saveNow{})
}

func (m *Model) save() tea.Cmd {
	s, write := m.session(), m.opts.Save
	return func() tea.Msg { return saved{write(s)} }
}

func (m *Model) saved(in saved) tea.Cmd {
	m.saving = false
	if in.err != nil {
		m.env.Logf("save the session: %v", in.err)
	}
	return nil
}
