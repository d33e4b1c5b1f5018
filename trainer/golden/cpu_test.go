package golden

import (
	"context"
	"fmt"
	"os"
	"testing"

	"boost-tui/kernels"
	"boost-tui/kernels/cpu"
)

// processor opens cpu ranks that share a segment.
func processor(t *testing.T, blas string) func(rank, n int) (kernels.Device, error) {
	var segment *os.File
	return func(rank, n int) (kernels.Device, error) {
		if rank == 0 {
			s, err := cpu.NewSegment()
			if err != nil {
				return nil, err
			}
			segment = s
			t.Cleanup(func() { _ = s.Close() })
		}
		return cpu.Open(cpu.Options{Segment: segment, World: n, Rank: rank, Threads: 1, BLAS: blas})
	}
}

// TestCasesOnProcessor runs every case on the cpu device, with a BLAS library and with gonum's.
func TestCasesOnProcessor(t *testing.T) {
	cases, err := Cases()
	if err != nil {
		t.Fatal(err)
	}
	for _, blas := range []string{"", "gonum"} {
		for _, c := range cases {
			for _, s := range c.Schemes() {
				for _, tp := range c.TPs(s) {
					if blas == "gonum" && tp > 2 {
						continue // the library makes no difference to the collectives
					}
					t.Run(fmt.Sprintf("blas=%s/%s/%s/tp%d", blas, c.Name, s, tp), func(t *testing.T) {
						r, err := Verify(context.Background(), c, Options{Scheme: s, TP: tp, Open: processor(t, blas)})
						if err != nil {
							t.Fatal(err)
						}
						if !r.OK {
							t.Errorf("%+v", r)
						}
						t.Logf("loss %.1e gradient %.1e final %.1e", r.LossMaxAbsError, r.GradientMaxRelError, r.FinalMaxRelError)
					})
				}
			}
		}
	}
}
