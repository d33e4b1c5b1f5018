// Package nvml reads NVIDIA GPUs for package sample. The driver's library is opened at run time;
// where there is none, Open says so. Not every card and driver knows every value, and bindings of a
// newer library panic where an older driver lacks a function: each call is made by itself, and what
// fails is left unknown.
package nvml

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"boost-tui/profiler/record"
	"boost-tui/profiler/sample"
)

// ErrNoDriver is wrapped when the machine has no NVIDIA driver.
var ErrNoDriver = errors.New("no NVIDIA driver here")

// cards implements sample.GPUs.
type cards struct {
	lib  nvml.Interface
	list []sample.GPU
}

// Open starts NVML and lists the GPUs, after a process of its own has tried all that is read of them: a library that crashes or hangs is
// an error, within half a minute. The context ends the trial.
func Open(ctx context.Context) (sample.GPUs, error) {
	if err := try(ctx); err != nil {
		return nil, err
	}
	return open(nvml.New())
}

// OpenAny is Open for sampling: a machine without a driver has no GPUs, nil, which is no error.
func OpenAny(ctx context.Context) (sample.GPUs, error) {
	gpus, err := Open(ctx)
	if errors.Is(err, ErrNoDriver) {
		return nil, nil
	}
	return gpus, err
}

func open(lib nvml.Interface) (sample.GPUs, error) {
	if ret := do(lib.Init); ret != nvml.SUCCESS {
		if ret == nvml.ERROR_LIBRARY_NOT_FOUND || ret == nvml.ERROR_DRIVER_NOT_LOADED {
			return nil, fmt.Errorf("%w (%v)", ErrNoDriver, name(ret))
		}
		return nil, fmt.Errorf("start NVML: %v", name(ret))
	}
	c := &cards{lib: lib}
	n, ok := get(lib.DeviceGetCount)
	if !ok {
		return nil, errors.Join(errors.New("NVML does not say how many GPUs there are"), c.Close())
	}
	for i := range n {
		if d, ok := get(func() (nvml.Device, nvml.Return) { return lib.DeviceGetHandleByIndex(i) }); ok {
			c.list = append(c.list, newCard(lib, d, i))
		}
	}
	return c, nil
}

// List implements sample.GPUs.
func (c *cards) List() []sample.GPU { return c.list }

// Close implements sample.GPUs.
func (c *cards) Close() error {
	for _, g := range c.list {
		g.(*card).gpm.close()
	}
	if ret := do(c.lib.Shutdown); ret != nvml.SUCCESS {
		return fmt.Errorf("end NVML: %v", name(ret))
	}
	return nil
}

// card implements sample.GPU.
type card struct {
	d     nvml.Device
	about sample.Description
	gpm   gpm
}

func newCard(lib nvml.Interface, d nvml.Device, index int) *card {
	c := &card{d: d, about: sample.Description{Index: index}}
	c.about.Name, _ = get(d.GetName)
	c.about.UUID, _ = get(d.GetUUID)
	if m, ok := get(d.GetMemoryInfo); ok {
		c.about.MemTotalBytes = int64(m.Total)
	}
	if p, ok := get(d.GetPciInfo); ok {
		c.about.PCIBusID = text(p.BusId[:])
	}
	c.gpm.open(lib, d)
	return c
}

// Describe implements sample.GPU.
func (c *card) Describe() sample.Description { return c.about }

// PIDs implements sample.GPU.
func (c *card) PIDs() []int {
	list, ok := get(c.d.GetComputeRunningProcesses)
	if !ok {
		return nil
	}
	pids := []int{}
	for _, p := range list {
		pids = append(pids, int(p.Pid))
	}
	return pids
}

// Read implements sample.GPU.
func (c *card) Read(l *record.HealthLine) {
	if u, ok := get(c.d.GetUtilizationRates); ok {
		l.GPUPercent, l.MemPercent = float64(u.Gpu), float64(u.Memory)
	}
	if m, ok := get(c.d.GetMemoryInfo_v2); ok {
		l.MemUsedBytes = int64(m.Used)
	} else if m, ok := get(c.d.GetMemoryInfo); ok {
		l.MemUsedBytes = int64(m.Used)
	}
	c.power(l)
	if v, ok := get(func() (uint32, nvml.Return) { return c.d.GetClockInfo(nvml.CLOCK_SM) }); ok {
		l.SMMHz = int64(v)
	}
	if v, ok := get(func() (uint32, nvml.Return) { return c.d.GetClockInfo(nvml.CLOCK_MEM) }); ok {
		l.MemMHz = int64(v)
	}
	if v, ok := get(func() (uint32, nvml.Return) { return c.d.GetTemperature(nvml.TEMPERATURE_GPU) }); ok {
		l.TempC = int64(v)
	}
	if v, ok := get(c.d.GetCurrentClocksEventReasons); ok {
		l.Reasons = int64(v)
	}
	c.links(l)
	for kind, p := range map[nvml.MemoryErrorType]*int64{
		nvml.MEMORY_ERROR_TYPE_CORRECTED: &l.ECCCorrected, nvml.MEMORY_ERROR_TYPE_UNCORRECTED: &l.ECCFatal} {
		if v, ok := get(func() (uint64, nvml.Return) { return c.d.GetTotalEccErrors(kind, nvml.VOLATILE_ECC) }); ok {
			*p = int64(v)
		}
	}
	c.gpm.read(l)
}

// power prefers the present draw over the average of a second.
func (c *card) power(l *record.HealthLine) {
	if v, ok := c.field(nvml.FI_DEV_POWER_INSTANT, 0); ok {
		l.PowerMilliW = v
	} else if v, ok := get(c.d.GetPowerUsage); ok {
		l.PowerMilliW = int64(v)
	}
	if v, ok := get(c.d.GetTotalEnergyConsumption); ok {
		l.EnergyMilliJ = int64(v)
	}
}

// allLinks asks for the sum over a card's NVLinks.
const allLinks = 0xffffffff

func (c *card) links(l *record.HealthLine) {
	// NVML counts NVLink data in KiB.
	if v, ok := c.field(nvml.FI_DEV_NVLINK_THROUGHPUT_DATA_TX, allLinks); ok {
		l.NVLinkTxBytes = v << 10
	}
	if v, ok := c.field(nvml.FI_DEV_NVLINK_THROUGHPUT_DATA_RX, allLinks); ok {
		l.NVLinkRxBytes = v << 10
	}
	if v, ok := get(func() (uint32, nvml.Return) { return c.d.GetPcieThroughput(nvml.PCIE_UTIL_TX_BYTES) }); ok {
		l.PCIeTxKBs = int64(v)
	}
	if v, ok := get(func() (uint32, nvml.Return) { return c.d.GetPcieThroughput(nvml.PCIE_UTIL_RX_BYTES) }); ok {
		l.PCIeRxKBs = int64(v)
	}
}

// field is one of the values that have a number instead of a function.
func (c *card) field(id, scope uint32) (int64, bool) {
	values := []nvml.FieldValue{{FieldId: id, ScopeId: scope}}
	if ret := do(func() nvml.Return { return c.d.GetFieldValues(values) }); ret != nvml.SUCCESS {
		return 0, false
	}
	v := values[0]
	if nvml.Return(v.NvmlReturn) != nvml.SUCCESS {
		return 0, false
	}
	switch nvml.ValueType(v.ValueType) {
	case nvml.VALUE_TYPE_UNSIGNED_INT:
		return int64(binary.LittleEndian.Uint32(v.Value[:])), true
	case nvml.VALUE_TYPE_UNSIGNED_LONG, nvml.VALUE_TYPE_UNSIGNED_LONG_LONG, nvml.VALUE_TYPE_SIGNED_LONG_LONG:
		return int64(binary.LittleEndian.Uint64(v.Value[:])), true
	}
	return 0, false
}

// get makes a call; false when it fails or panics.
func get[T any](call func() (T, nvml.Return)) (v T, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	v, ret := call()
	return v, ret == nvml.SUCCESS
}

// do makes a call without a value; a panic counts as a missing function.
func do(call func() nvml.Return) (ret nvml.Return) {
	defer func() {
		if recover() != nil {
			ret = nvml.ERROR_FUNCTION_NOT_FOUND
		}
	}()
	return call()
}

// name is NVML's text for a code, which needs the library for some.
func name(ret nvml.Return) (s string) {
	defer func() {
		if recover() != nil {
			s = fmt.Sprintf("error %d", int32(ret))
		}
	}()
	return ret.Error()
}

// text is a C string.
func text[T ~int8 | ~uint8](b []T) string {
	var s []byte
	for _, c := range b {
		if c == 0 {
			break
		}
		s = append(s, byte(c))
	}
	return string(s)
}
