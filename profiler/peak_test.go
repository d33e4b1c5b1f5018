package profiler

import "testing"

func TestPeakOf(t *testing.T) {
	for card, want := range map[string]float64{
		"NVIDIA H200": 989.5, "NVIDIA H200 NVL": 835.5, "NVIDIA H100 80GB HBM3": 989.5, "NVIDIA H100 PCIe": 756.5, "NVIDIA H100 NVL": 835.5,
		"NVIDIA A100-SXM4-80GB": 312, "NVIDIA A100-PCIE-40GB": 312, "NVIDIA A10": 125, "NVIDIA L40S": 362, "NVIDIA L4": 121, "NVIDIA GH200 480GB": 989.5,
		"NVIDIA GeForce RTX 9999": 0, "emulated GPU": 0, "": 0, "AMD EPYC": 0,
	} {
		p, ok := PeakOf(card)
		if ok != (want > 0) || p.FLOPS != want*1e12 || ok && p.Source == "" {
			t.Errorf("%q: %+v, %v; want %g", card, p, ok, want)
		}
	}
}
