package kernels

import "fmt"

// Class is what an operation counts as in a breakdown of the step (PROFILING: compute,
// communication, memory).
type Class uint8

// Classes of operations.
const (
	Compute Class = iota
	Communication
	Memory
)

var classNames = [...]string{"compute", "communication", "memory"}

func (c Class) String() string {
	if int(c) < len(classNames) {
		return classNames[c]
	}
	return fmt.Sprintf("class(%d)", uint8(c))
}

// Access says what an operation does with an operand.
type Access uint8

// Accesses.
const (
	Read Access = 1 << iota
	Write
	ReadWrite = Read | Write
)

// Operand is a view that an operation touches.
type Operand struct {
	Name   string
	View   View
	Access Access
}

// Op is one operation. Implementations are the argument structs of this package, passed by pointer.
type Op interface {
	Name() string // "gemm", "norm_apply", …: the names of docs and CSVs
	Class() Class
	// Operands yields every present view. Absent optional operands are left out.
	Operands(yield func(Operand))
	// Check verifies shapes and types against each other, not the views against their buffers.
	Check() error
	// FLOPs counts multiplications and additions of matrix products and attention; 0 for the rest.
	FLOPs() int64
}

// Validate is Check of the operation and of each of its views; devices call it before they run an operation.
func Validate(op Op) error {
	if err := op.Check(); err != nil {
		return err
	}
	var err error
	op.Operands(func(o Operand) {
		if err == nil {
			if e := o.View.Check(); e != nil {
				err = fmt.Errorf("operand %s: %w", o.Name, e)
			}
		}
	})
	return err
}

// operands yields the present views of a fixed list.
func operands(yield func(Operand), list ...Operand) {
	for _, o := range list {
		if !o.View.IsZero() {
			yield(o)
		}
	}
}

// expect names an operand and the shape and type that it must have. rows or cols of -1 match any.
type expect struct {
	name       string
	v          View
	rows, cols int
	dt         DType
	optional   bool
}

func checkAll(list ...expect) error {
	for _, e := range list {
		if e.v.IsZero() {
			if e.optional {
				continue
			}
			return fmt.Errorf("operand %s is missing", e.name)
		}
		if e.rows >= 0 && e.v.Rows != e.rows || e.cols >= 0 && e.v.Cols != e.cols {
			return fmt.Errorf("operand %s is %dx%d, want %dx%d", e.name, e.v.Rows, e.v.Cols, e.rows, e.cols)
		}
		if e.v.DType != e.dt {
			return fmt.Errorf("operand %s is %s, want %s", e.name, e.v.DType, e.dt)
		}
	}
	return nil
}
