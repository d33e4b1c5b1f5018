package record

import (
	"encoding/json"
	"fmt"
	"math"
)

// Kinds of health lines.
const (
	KindGPU  = "gpu"
	KindCPU  = "cpu"
	KindHost = "host"
)

// HealthLine is one sample of a GPU, of a rank's process ("cpu") or of the host: a line of
// health/h*.jsonl. Each kind fills its own members; the rest stays unknown (−1, NaN).
type HealthLine struct {
	Kind    string
	TSNanos int64 // Unix time
	Rank    int64 // of a GPU or CPU line

	// GPU lines.
	Device        int64   // index on the host
	GPUPercent    float64 // share of time in which any kernel ran: 100 while NCCL spins
	MemPercent    float64 // share of time in which memory was read or written
	PowerMilliW   int64
	EnergyMilliJ  int64 // since the driver was loaded
	SMMHz         int64
	MemMHz        int64
	TempC         int64
	Reasons       int64 // bits: why clocks are held down
	NVLinkTxBytes int64 // cumulative
	NVLinkRxBytes int64
	PCIeTxKBs     int64 // kB/s
	PCIeRxKBs     int64
	ECCCorrected  int64
	ECCFatal      int64   // uncorrected
	TensorPercent float64 // Hopper and later
	DRAMPercent   float64

	// CPU lines (a rank's process) and host lines.
	CPUPercent      float64 // of one core for a rank, of the machine for a host
	MemUsedBytes    int64   // GPU and host lines
	RSSBytes        int64
	PID             int64
	Threads         int64
	VoluntarySwitch int64 // cumulative
	ForcedSwitch    int64
	NetRxBytes      int64 // cumulative
	NetTxBytes      int64
	DiskFreeBytes   int64
}

var (
	healthInts = [...]string{"ts_ns", "rank", "device", "power_mw", "energy_mj", "sm_mhz", "mem_mhz", "temp_c", "reasons",
		"nvlink_tx_b", "nvlink_rx_b", "pcie_tx_kbs", "pcie_rx_kbs", "ecc_c", "ecc_u", "mem_used_b", "rss_b", "pid", "threads",
		"vol_switches", "invol_switches", "net_rx_b", "net_tx_b", "disk_free_b"}
	healthFloats = [...]string{"gpu_pct", "mem_pct", "tensor_pct", "dram_pct", "cpu_pct"}
)

func (l *HealthLine) ints() [len(healthInts)]*int64 {
	return [...]*int64{&l.TSNanos, &l.Rank, &l.Device, &l.PowerMilliW, &l.EnergyMilliJ, &l.SMMHz, &l.MemMHz, &l.TempC, &l.Reasons,
		&l.NVLinkTxBytes, &l.NVLinkRxBytes, &l.PCIeTxKBs, &l.PCIeRxKBs, &l.ECCCorrected, &l.ECCFatal, &l.MemUsedBytes, &l.RSSBytes,
		&l.PID, &l.Threads, &l.VoluntarySwitch, &l.ForcedSwitch, &l.NetRxBytes, &l.NetTxBytes, &l.DiskFreeBytes}
}

func (l *HealthLine) floats() [len(healthFloats)]*float64 {
	return [...]*float64{&l.GPUPercent, &l.MemPercent, &l.TensorPercent, &l.DRAMPercent, &l.CPUPercent}
}

// NewHealthLine is a sample of which only kind and time are known.
func NewHealthLine(kind string, tsNanos int64) HealthLine {
	l := HealthLine{}
	l.forget()
	l.Kind, l.TSNanos = kind, tsNanos
	return l
}

func (l *HealthLine) forget() {
	l.Kind = ""
	for _, p := range l.ints() {
		*p = Unknown
	}
	for _, p := range l.floats() {
		*p = math.NaN()
	}
}

// Append appends the line as JSON, without a newline.
func (l *HealthLine) Append(b []byte) []byte {
	b = append(b, `{"t":"`...)
	b = append(b, l.Kind...)
	b = append(b, '"')
	for i, p := range l.ints() {
		b = appendInt(b, healthInts[i], *p)
	}
	for i, p := range l.floats() {
		b = appendFloat(b, healthFloats[i], *p)
	}
	return append(b, '}')
}

// Decode reads a line of any of the three kinds.
func (l *HealthLine) Decode(line []byte) error {
	l.forget()
	ints, floats := l.ints(), l.floats()
	f := fields{b: line}
	if err := f.open(); err != nil {
		return err
	}
	for {
		key, v, err := f.next()
		if err != nil {
			return err
		}
		if key == nil {
			break
		}
		if string(key) == "t" {
			l.Kind = stringValue(v)
		} else if string(key) == "schema" {
			if n := intValue(v); n > Schema {
				return fmt.Errorf("health line of schema %d: %w", n, ErrNewerSchema)
			}
		} else if i := indexOf(healthInts[:], key); i >= 0 {
			*ints[i] = intValue(v)
		} else if i := indexOf(healthFloats[:], key); i >= 0 {
			*floats[i] = floatValue(v)
		}
	}
	if l.Kind != KindGPU && l.Kind != KindCPU && l.Kind != KindHost {
		return fmt.Errorf("record is no health line but %q", clip([]byte(l.Kind)))
	}
	return nil
}

func unquoteJSON(v []byte) (string, error) {
	var s string
	err := json.Unmarshal(v, &s)
	return s, err
}
