package runner

import (
	"path/filepath"
	"testing"

	"boost-tui/runner/protocol"
)

// A run whose run.json cannot be understood waits for nothing.
func TestDamagedRunsAreNotPending(t *testing.T) {
	s := NewStore(t.TempDir())
	for _, text := range []string{"", "{", "{}", `{"schema":1}`} {
		r, dir := create(t, s, "damaged")
		put(t, filepath.Join(dir, protocol.RunFile), text)
		in, err := s.Load(r.ID)
		if err != nil || in.State != Unreadable || in.Err == nil {
			t.Errorf("%q: %s, %v, %v", text, in.State, in.Err, err)
		}
	}
	for _, in := range func() []Info { infos, _ := s.List(t.Context()); return infos }() {
		if in.State != Unreadable {
			t.Errorf("listed as %s", in.State)
		}
	}
}
