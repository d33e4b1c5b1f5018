package profiler

import "strings"

// Peak is what a card can do at most in products of bf16 with sums of fp32, without sparsity.
type Peak struct {
	FLOPS  float64 // per second
	Source string
}

// peaks are by words that the card's name has, the first that fit. Figures of data sheets that count sparse products are halved.
var peaks = []struct {
	words  []string
	tera   float64
	source string
}{
	{[]string{"GB200"}, 2500, "NVIDIA GB200 NVL72 data sheet: 5 PFLOPS with sparsity for each GPU"},
	{[]string{"B200"}, 2250, "NVIDIA DGX B200 data sheet: 36 PFLOPS with sparsity for eight GPUs"},
	{[]string{"H200", "NVL"}, 835.5, "NVIDIA H200 data sheet (NVL): 1671 TFLOPS with sparsity"},
	{[]string{"H200"}, 989.5, "NVIDIA H200 data sheet (SXM): 1979 TFLOPS with sparsity"},
	{[]string{"GH200"}, 989.5, "NVIDIA GH200 data sheet: 1979 TFLOPS with sparsity"},
	{[]string{"H100", "NVL"}, 835.5, "NVIDIA H100 data sheet (NVL): 1671 TFLOPS with sparsity"},
	{[]string{"H100", "PCIe"}, 756.5, "NVIDIA H100 data sheet (PCIe): 1513 TFLOPS with sparsity"},
	{[]string{"H100"}, 989.5, "NVIDIA H100 data sheet (SXM): 1979 TFLOPS with sparsity"},
	{[]string{"H800"}, 989.5, "as the H100 (SXM), of which it differs in links and fp64"},
	{[]string{"A100"}, 312, "NVIDIA A100 data sheet"},
	{[]string{"A800"}, 312, "as the A100, of which it differs in links"},
	{[]string{"A30"}, 165, "NVIDIA A30 data sheet"},
	{[]string{"A40"}, 149.7, "NVIDIA A40 data sheet"},
	{[]string{"A10"}, 125, "NVIDIA A10 data sheet"},
	{[]string{"L40S"}, 362, "NVIDIA L40S data sheet"},
	{[]string{"L40"}, 181, "NVIDIA L40 data sheet"},
	{[]string{"L4"}, 121, "NVIDIA L4 data sheet: 242 TFLOPS with sparsity"},
}

// PeakOf finds a card by the name that its driver gives it. false: it is not known, and nobody should guess.
func PeakOf(card string) (Peak, bool) {
	words := strings.FieldsFunc(card, func(r rune) bool { return r == ' ' || r == '-' || r == '_' || r == '/' })
	for _, p := range peaks {
		fits := true
		for _, want := range p.words {
			found := false
			for _, w := range words {
				found = found || strings.EqualFold(w, want)
			}
			fits = fits && found
		}
		if fits {
			return Peak{p.tera * 1e12, p.source}, true
		}
	}
	return Peak{}, false
}
