package golden

import (
	"math"
	"strings"

	"boost-tui/experiment"
	"boost-tui/kernels"
)

// Limits are the largest errors that a check allows, of the figures of a Report that have the same names. 0: there is no such limit.
type Limits struct {
	Loss           float64 `json:"loss"` // nats
	Gradient       float64 `json:"gradient"`
	Final          float64 `json:"final"`
	GradientMedian float64 `json:"gradient_median,omitempty"`
	FinalMedian    float64 `json:"final_median,omitempty"`
	Moment         float64 `json:"moment,omitempty"`
}

// half are the tolerances of BF16 for one step from the reference device's state (docs/verification.md). Those of medians are what
// finds a small error everywhere; those of single tensors, a large one somewhere.
type half struct {
	loss           float64 // nats
	gradient       float64 // of each tensor, relative L2
	gate           float64 // of a gate of LaX, which is few numbers that are each the sum over all tokens
	gradientMedian float64 // over tensors and steps
	update         float64 // of a rank's changes of all weights together, relative to the reference's
	tensorUpdate   float64 // of each tensor's change
	gateUpdate     float64
	updateMedian   float64 // over tensors and steps
	moment         float64 // of a rank's first or second moments, all together
}

const (
	halfZeroTolerance   = 1e-2 // of a gradient that must be zero, to the norm of the whole
	halfNormTolerance   = 1e-4 // of the whole gradient's norm, to that of the device's own gradients
	halfFrozenTolerance = 2e-3 // of a frozen matrix, which a merge rounds
)

// halfLimits are those of a device and a tensor-parallel degree. Sums of BF16 over more than two ranks are rounded on the way, and
// depend on the order: of the emulated device and the reference it is that of the ranks, of any other its own.
func halfLimits(device string, tp int) half {
	h := half{loss: 1e-3, gradient: 0.1, gate: 0.1, gradientMedian: 1e-2, update: 0.5, tensorUpdate: 0.8, gateUpdate: 0.8, updateMedian: 9e-3, moment: 5e-2}
	switch {
	case tp <= 2:
	case device == experiment.DeviceEmu || device == "reference":
		h.gate = 0.3
	default:
		h = half{loss: 6e-3, gradient: 0.5, gate: math.Inf(1), gradientMedian: 6e-2, update: 0.8, tensorUpdate: 1.2, gateUpdate: math.Inf(1), updateMedian: 8e-2, moment: 0.2}
	}
	return h
}

func gate(name string) bool { return strings.HasSuffix(name, ".lax_gate") }

func (h half) gradientOf(name string) float64 {
	if gate(name) {
		return h.gate
	}
	return h.gradient
}

func (h half) updateOf(name string) float64 {
	if gate(name) {
		return h.gateUpdate
	}
	return h.tensorUpdate
}

// limitsOf are those that a report is held to.
func limitsOf(dtype kernels.DType, device string, tp int) Limits {
	if dtype == kernels.F32 {
		return Limits{Loss: LossTolerance, Gradient: GradientTolerance, Final: FinalTolerance}
	}
	h := halfLimits(device, tp)
	return Limits{Loss: h.loss, Gradient: h.gradient, Final: h.tensorUpdate, GradientMedian: h.gradientMedian, FinalMedian: h.updateMedian, Moment: h.moment}
}
