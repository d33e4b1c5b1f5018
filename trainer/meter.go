package trainer

import "boost-tui/kernels"

// meter counts the device memory that a rank holds. It is used by one goroutine, as every device.
type meter struct {
	kernels.Device
	heldBytes int64
	peakBytes int64 // since the rank began
}

// Alloc implements kernels.Device.
func (m *meter) Alloc(name string, bytes int64, symmetric bool) (*kernels.Buffer, error) {
	b, err := m.Device.Alloc(name, bytes, symmetric)
	if err == nil {
		m.heldBytes += b.Bytes
		m.peakBytes = max(m.peakBytes, m.heldBytes)
	}
	return b, err
}

// Free implements kernels.Device.
func (m *meter) Free(b *kernels.Buffer) error {
	bytes := int64(0)
	if b != nil {
		bytes = b.Bytes
	}
	err := m.Device.Free(b)
	if err == nil {
		m.heldBytes -= bytes
	}
	return err
}
