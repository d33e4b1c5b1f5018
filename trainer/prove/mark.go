package prove

import (
	"fmt"

	"boost-tui/experiment"
)

// Mark is what every result that this program measures says of its own figures, whoever reads it without a report around it.
type Mark struct {
	Figures        string `json:"figures"`                   // what they mean
	EmulatedDevice bool   `json:"emulated_device,omitempty"` // they say nothing about a GPU
}

// mark is that of the part at work.
func (b *bench) mark() Mark {
	return Mark{figures(b.part, b.Device, b.Tiny), b.Device == experiment.DeviceEmu}
}

// marked reports whether the results of a part bear a mark.
func marked(part string) bool {
	return part != PartTorch && carded(part) || part == PartGoldenFP32 || part == PartGoldenBF16
}

// of says whether it is the mark of a part of that device and meaning.
func (m Mark) of(device, figures string) error {
	if emulated := device == experiment.DeviceEmu; m.EmulatedDevice != emulated {
		return fmt.Errorf("emulated_device of its result is %v for device %s", m.EmulatedDevice, device)
	}
	if m.Figures != figures {
		return fmt.Errorf("figures of its result are %.200q, and not %q", m.Figures, figures)
	}
	return nil
}
