package experiment

import "testing"

func TestEmulatedMark(t *testing.T) {
	for _, c := range []struct{ device, link, mark, words string }{
		{DeviceCPU, "", "", ""},
		{DeviceCUDA, "", "", ""},
		{DeviceCPU, "bw=2GB/s", EmulatedLink, "emulated link bw=2GB/s"},
		{DeviceEmu, "", EmulatedDevice, "emulated device"},
	} {
		e := Default()
		e.Step.Device, e.Parallel.Link = c.device, c.link
		if e.Emulated() != c.mark || e.EmulatedWords() != c.words {
			t.Errorf("%s %q: %q, %q", c.device, c.link, e.Emulated(), e.EmulatedWords())
		}
	}
}
