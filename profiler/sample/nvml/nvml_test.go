package nvml

import (
	"errors"
	"math"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/dgxa100"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/server"

	"boost-tui/profiler/record"
)

// The mock server panics at every telemetry call that is not set: all of it must come out unknown.
func TestMissingCallsStayUnknown(t *testing.T) {
	gpus, err := open(dgxa100.New())
	if err != nil {
		t.Fatal(err)
	}
	list := gpus.List()
	if len(list) != 8 {
		t.Fatalf("%d GPUs", len(list))
	}
	about := list[3].Describe()
	if about.Index != 3 || about.Name == "" || about.UUID == "" || about.MemTotalBytes != 42949672960 {
		t.Errorf("%+v", about)
	}
	l := record.NewHealthLine(record.KindGPU, 1)
	list[3].Read(&l)
	if l.PowerMilliW != record.Unknown || l.TempC != record.Unknown || !math.IsNaN(l.GPUPercent) || l.NVLinkTxBytes != record.Unknown {
		t.Errorf("%+v", l)
	}
	if list[3].PIDs() != nil {
		t.Error("PIDs from nowhere")
	}
	if err := gpus.Close(); err != nil {
		t.Error(err)
	}
}

func TestReadsWhatTheCardTells(t *testing.T) {
	s := dgxa100.New()
	d := s.Devices[0].(*server.Device)
	d.GetUtilizationRatesFunc = func() (nvml.Utilization, nvml.Return) { return nvml.Utilization{Gpu: 97, Memory: 40}, nvml.SUCCESS }
	d.GetPowerUsageFunc = func() (uint32, nvml.Return) { return 345000, nvml.SUCCESS }
	d.GetTemperatureFunc = func(nvml.TemperatureSensors) (uint32, nvml.Return) { return 61, nvml.SUCCESS }
	d.GetTotalEnergyConsumptionFunc = func() (uint64, nvml.Return) { return 0, nvml.ERROR_NOT_SUPPORTED }
	d.GetFieldValuesFunc = func(v []nvml.FieldValue) nvml.Return {
		if v[0].FieldId == nvml.FI_DEV_NVLINK_THROUGHPUT_DATA_TX && v[0].ScopeId == allLinks {
			v[0].ValueType = uint32(nvml.VALUE_TYPE_UNSIGNED_LONG_LONG)
			v[0].Value[1] = 1
			return nvml.SUCCESS
		}
		v[0].NvmlReturn = uint32(nvml.ERROR_NOT_SUPPORTED)
		return nvml.SUCCESS
	}
	d.GetComputeRunningProcessesFunc = func() ([]nvml.ProcessInfo, nvml.Return) { return []nvml.ProcessInfo{{Pid: 77}}, nvml.SUCCESS }
	gpus, err := open(s)
	if err != nil {
		t.Fatal(err)
	}
	l := record.NewHealthLine(record.KindGPU, 1)
	g := gpus.List()[0]
	g.Read(&l)
	if l.GPUPercent != 97 || l.MemPercent != 40 || l.PowerMilliW != 345000 || l.TempC != 61 || l.EnergyMilliJ != record.Unknown ||
		l.NVLinkTxBytes != 256<<10 || l.NVLinkRxBytes != record.Unknown {
		t.Errorf("%+v", l)
	}
	if pids := g.PIDs(); len(pids) != 1 || pids[0] != 77 {
		t.Errorf("%v", pids)
	}
}

func TestOpenWithoutADriver(t *testing.T) {
	gpus, err := Open(t.Context())
	if err == nil {
		defer gpus.Close()
		for _, g := range gpus.List() {
			l := record.NewHealthLine(record.KindGPU, 1)
			g.Read(&l)
			g.Read(&l)
			t.Logf("%+v: %s", g.Describe(), l.Append(nil))
			if g.Describe().Name == "" || l.PowerMilliW == record.Unknown || l.MemUsedBytes == record.Unknown {
				t.Errorf("a card that tells nothing: %+v", l)
			}
		}
	} else if !errors.Is(err, ErrNoDriver) {
		t.Errorf("got %v", err)
	}
}
