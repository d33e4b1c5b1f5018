package nvml

import (
	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"boost-tui/profiler/record"
)

// gpm reads the counters of Hopper and later cards, which are differences of two samples. It stays
// idle where the card has none.
type gpm struct {
	lib       nvml.Interface
	d         nvml.Device
	last, now nvml.GpmSample
	have      bool
}

func (g *gpm) open(lib nvml.Interface, d nvml.Device) {
	s, ok := get(func() (nvml.GpmSupport, nvml.Return) { return lib.GpmQueryDeviceSupport(d) })
	if !ok || s.IsSupportedDevice == 0 {
		return
	}
	a, ok := get(lib.GpmSampleAlloc)
	if !ok {
		return
	}
	b, ok := get(lib.GpmSampleAlloc)
	if !ok {
		do(func() nvml.Return { return lib.GpmSampleFree(a) })
		return
	}
	g.lib, g.d, g.last, g.now = lib, d, a, b
}

func (g *gpm) read(l *record.HealthLine) {
	if g.lib == nil {
		return
	}
	if ret := do(func() nvml.Return { return g.lib.GpmSampleGet(g.d, g.now) }); ret != nvml.SUCCESS {
		g.have = false
		return
	}
	if g.have {
		m := nvml.GpmMetricsGetType{Version: nvml.GPM_METRICS_GET_VERSION, NumMetrics: 2, Sample1: g.last, Sample2: g.now}
		m.Metrics[0].MetricId = uint32(nvml.GPM_METRIC_ANY_TENSOR_UTIL)
		m.Metrics[1].MetricId = uint32(nvml.GPM_METRIC_DRAM_BW_UTIL)
		if ret := do(func() nvml.Return { return g.lib.GpmMetricsGet(&m) }); ret == nvml.SUCCESS {
			for i, p := range []*float64{&l.TensorPercent, &l.DRAMPercent} {
				if nvml.Return(m.Metrics[i].NvmlReturn) == nvml.SUCCESS {
					*p = m.Metrics[i].Value
				}
			}
		}
	}
	g.last, g.now, g.have = g.now, g.last, true
}

func (g *gpm) close() {
	if g.lib == nil {
		return
	}
	do(func() nvml.Return { return g.lib.GpmSampleFree(g.last) })
	do(func() nvml.Return { return g.lib.GpmSampleFree(g.now) })
	g.lib = nil
}
