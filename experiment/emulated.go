package experiment

// EmulatedDevice is how figures of a run on the emulated device are marked wherever they are shown: the processor runs the CUDA
// kernels thread by thread, and how long that takes says nothing about a GPU.
const EmulatedDevice = "emulated device"

// EmulatedMark is how figures are marked that were taken on a device and beside a link, and whose times are therefore not this
// machine's; empty: they are.
func EmulatedMark(device, link string) string {
	switch {
	case device == DeviceEmu:
		return EmulatedDevice
	case link != "":
		return EmulatedLink
	}
	return ""
}

// Emulated is EmulatedMark of the experiment.
func (e Experiment) Emulated() string { return EmulatedMark(e.Step.Device, e.Parallel.Link) }

// EmulatedWords is the mark with the link that messages are slowed down to; empty: times are this machine's.
func EmulatedWords(device, link string) string {
	mark := EmulatedMark(device, link)
	if mark == EmulatedLink {
		mark += " " + link
	}
	return mark
}

// EmulatedWords is the function of that name for the experiment.
func (e Experiment) EmulatedWords() string { return EmulatedWords(e.Step.Device, e.Parallel.Link) }
