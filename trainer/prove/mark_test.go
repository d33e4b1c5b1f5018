package prove

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"boost-tui/experiment"
)

// Every result that is measured here bears a mark, and says by it of what device it is.
func TestMarks(t *testing.T) {
	for part, shape := range shapes() {
		text, err := json.Marshal(shape())
		if err != nil || strings.Contains(string(text), `"figures"`) != marked(part) {
			t.Errorf("%s: %s, %v", part, text, err)
		}
	}
	for _, part := range Names() {
		for _, device := range []string{experiment.DeviceCUDA, experiment.DeviceEmu} {
			m := (&bench{Options: Options{Device: device, Tiny: true}, part: part}).mark()
			if m.EmulatedDevice != (device == experiment.DeviceEmu) || m.of(device, figures(part, device, true)) != nil || m.of(device, figures(part, device, false)) == nil {
				t.Errorf("%s on %s: %+v", part, device, m)
			}
		}
	}
}

// A part whose time was over before its first figure has failed.
func TestPartWithoutFigures(t *testing.T) {
	for _, r := range []interface{ held() error }{Golden{}, Attention{}, Elements{}, Products{}} {
		if err := r.held(); !errors.Is(err, errNoTime) {
			t.Errorf("%T: %v", r, err)
		}
	}
	if err := errors.Join(Golden{Checks: 1, Held: 1}.held(), Attention{Rows: make([]AttentionRow, 1)}.held()); err != nil {
		t.Error(err)
	}
}
