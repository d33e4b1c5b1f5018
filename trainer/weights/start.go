package weights

import (
	"fmt"
	"slices"

	"boost-tui/experiment"
)

// Way is how a tensor gets its first values from a source.
type Way uint8

// Ways.
const (
	Drawn     Way = iota // as without a source
	Copied               // from the tensor of that name
	Dense                // from the linear's matrix
	Truncated            // with the linear's other factor, from the truncated decomposition of its matrix
)

// Start says how a tensor of a variant starts from a source. The error says what the source lacks.
func Start(s Source, v experiment.Variant, name string, shape []int64) (Way, error) {
	linear := linearOf(name)
	if s.Own(v) || linear == "" {
		return Copied, match(s, name, shape)
	}
	_, _, kind, _ := cutName(name)
	switch {
	case v == experiment.Full, v == experiment.ReLoRA && kind == "weight":
		return Dense, nil
	case v == experiment.ReLoRA: // its factors begin at a product of 0
		return Drawn, nil
	case v == experiment.SVD, v == experiment.LORO:
		return Truncated, nil
	}
	return Drawn, fmt.Errorf("variant %s starts from weights of its own kind; full, svd, loro and relora start from a full-rank model as well", v)
}

func match(s Source, name string, shape []int64) error {
	switch is := s.Shape(name); {
	case is == nil:
		return fmt.Errorf("there is no tensor %q", s.Called(name))
	case !slices.Equal(is, shape):
		return fmt.Errorf("tensor %q is %v, wanted is %v", s.Called(name), is, shape)
	}
	return nil
}
