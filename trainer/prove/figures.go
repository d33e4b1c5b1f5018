package prove

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"boost-tui/experiment"
	"boost-tui/kernels"
)

// What figures say where there are none.
const (
	figuresNone   = "nothing was measured"
	figuresNoGPU  = figuresNone + ": no GPU"
	figuresNoOpen = figuresNone + ": the device cannot be had here"
	figuresListed = figuresNone + ": it says what there is"
	figuresFailed = "it failed; its output says how far it came"
)

// Figures says what the figures of a device mean that was measured.
func Figures(device string, tiny bool) string {
	text := "measured on a GPU"
	if device != experiment.DeviceCUDA {
		text = "computed on the processor by the emulator, no statement about a GPU"
	}
	if tiny {
		text += "; tiny sizes, no statement about speed"
	}
	return text
}

// figures are those of a part that was measured, under whatever name it goes.
func figures(part, device string, tiny bool) string {
	text := Figures(device, tiny)
	for _, s := range stepParts {
		if s.name == part && s.tp > 1 {
			text += "; one rank alone, whose messages move nothing"
		}
	}
	return text
}

// emulatedCard is the name of the emulator's card.
const emulatedCard = "emulated device"

// sameDevice refuses results of another device than the report's, or of another meaning.
func (r Report) sameDevice() error {
	if r.Device != experiment.DeviceCUDA && r.Device != experiment.DeviceEmu {
		return fmt.Errorf("device %.40q: cuda or emulated", r.Device)
	}
	var errs []error
	if want := r.meaning(nil); r.Figures != want && (want != figuresNone || r.Figures != figuresNoGPU && r.Figures != figuresNoOpen) {
		errs = append(errs, fmt.Errorf("figures are %.200q; by its parts they are %q", r.Figures, want))
	}
	emulated := r.Device == experiment.DeviceEmu
	if r.EmulatedDevice != emulated {
		errs = append(errs, fmt.Errorf("emulated_device is %v for device %s", r.EmulatedDevice, r.Device))
	}
	card := ""
	for _, p := range r.Parts {
		if len(p.Result) == 0 {
			continue
		}
		if want := p.meaning(r.Device, r.Tiny); p.Figures != want {
			errs = append(errs, fmt.Errorf("part %.60q: figures are %.200q, and not %q", p.Name, p.Figures, want))
		}
		if err := p.of(r.Device, &card); err != nil {
			errs = append(errs, fmt.Errorf("part %.60q: %w", p.Name, err))
		}
	}
	return errors.Join(errs...)
}

// of says whether a result is of a device. card is the card that results before this one were of.
func (p Part) of(device string, card *string) error {
	var said struct {
		Mark
		Device  string `json:"device"` // of a run
		Card    string `json:"card"`
		Reports []struct {
			Device string `json:"device"`
			DType  string `json:"dtype"`
		} `json:"reports"`
	}
	if p.Name == PartVersions || json.Unmarshal(p.Result, &said) != nil {
		return nil // of no device; another shape is an error already
	}
	for _, one := range said.Reports {
		want := map[string]kernels.DType{PartGoldenFP32: kernels.F32, PartGoldenBF16: kernels.BF16}[p.Name]
		if one.Device != device || one.DType != want.String() {
			return fmt.Errorf("a check of device %.40q in %.40q", one.Device, one.DType)
		}
	}
	if marked(p.Name) {
		want := p.Figures
		if !p.measured() {
			want = figuresNone
		}
		if err := said.of(device, want); err != nil {
			return err
		}
	}
	switch {
	case p.Name == PartTwoRanks:
		if said.Device != device && (said.Device != "" || p.State == StateOK) {
			return fmt.Errorf("a run on device %.40q", said.Device)
		}
		return nil
	case !carded(p.Name):
		return nil
	case said.Card == "":
		return errors.New("it names no card")
	case strings.HasPrefix(said.Card, emulatedCard) != (device == experiment.DeviceEmu):
		return fmt.Errorf("it is of the card %.80q", said.Card)
	case p.Name == PartTorch: // has its own words for cards
		return nil
	case *card != "" && said.Card != *card:
		return fmt.Errorf("it is of the card %.80q, others of %.80q", said.Card, *card)
	}
	*card = said.Card
	return nil
}

// carded reports whether a part names its card.
func carded(part string) bool {
	switch part {
	case PartAgainstCPU, PartProducts, PartAttention, PartTorch, PartElements:
		return true
	}
	for _, s := range stepParts {
		if s.name == part {
			return true
		}
	}
	return false
}
