package kernels

import "fmt"

// DType is the element type of a view.
type DType uint8

// Element types. All devices compute in F32 and take token ids as I32; BF16 (see number.go) is of those that have it.
const (
	F32 DType = iota
	BF16
	F16
	I32
	U8
)

// Bytes is the size of one element.
func (d DType) Bytes() int64 {
	switch d {
	case F32, I32:
		return 4
	case BF16, F16:
		return 2
	default:
		return 1
	}
}

func (d DType) String() string {
	if int(d) < len(dtypeNames) {
		return dtypeNames[d]
	}
	return fmt.Sprintf("dtype(%d)", uint8(d))
}

var dtypeNames = [...]string{"fp32", "bf16", "fp16", "i32", "u8"}

// Ptr is an address in device memory. It is an integer on purpose: a GPU's memory cannot be
// dereferenced here, and arithmetic on it is how views are made.
type Ptr uint64

// Buffer is one allocation of a device. Its owner is whoever called Device.Alloc.
type Buffer struct {
	// Name says what the memory is for; the planner adds up memory by it (see the Mem constants).
	Name      string
	Ptr       Ptr
	Bytes     int64
	Symmetric bool // usable as an operand of messages between ranks
}

// Names of buffers, which are also the classes of memory that `plan` reports.
const (
	MemWeights     = "weights"
	MemGradients   = "gradients"
	MemOptimizer   = "optimizer"
	MemActivations = "activations"
	MemLogits      = "logits"
	MemBuffers     = "buffers"
	MemIndices     = "indices" // of sparse weights: as wide as they are, whatever the type of the weights
)

// View is a row-major matrix inside a buffer: Rows x Cols elements, rows LD elements apart.
// A vector is a matrix of one row. The zero View means "absent" where an operand is optional.
type View struct {
	Buf        *Buffer
	Offset     int64 // bytes from the start of Buf
	Rows, Cols int
	LD         int
	DType      DType
}

// Matrix makes a contiguous view of rows x cols elements at offset bytes into buf.
func Matrix(buf *Buffer, offset int64, rows, cols int, dt DType) View {
	return View{Buf: buf, Offset: offset, Rows: rows, Cols: cols, LD: cols, DType: dt}
}

// IsZero reports whether the view is absent.
func (v View) IsZero() bool { return v.Buf == nil }

// Ptr is the address of the first element.
func (v View) Ptr() Ptr { return v.Buf.Ptr + Ptr(v.Offset) }

// Len is the number of elements.
func (v View) Len() int64 { return int64(v.Rows) * int64(v.Cols) }

// Bytes is the size of the elements, gaps between rows not counted.
func (v View) Bytes() int64 { return v.Len() * v.DType.Bytes() }

// Contiguous reports whether the elements have no gaps.
func (v View) Contiguous() bool { return v.Rows <= 1 || v.LD == v.Cols }

// RowRange is rows [lo, hi).
func (v View) RowRange(lo, hi int) View {
	v.Offset += int64(lo) * int64(v.LD) * v.DType.Bytes()
	v.Rows = hi - lo
	return v
}

// ColRange is columns [lo, hi); the leading dimension stays.
func (v View) ColRange(lo, hi int) View {
	v.Offset += int64(lo) * v.DType.Bytes()
	v.Cols = hi - lo
	return v
}

// Reshape gives a contiguous view another shape of the same number of elements.
// A shape that does not fit gives a view that fails Check.
func (v View) Reshape(rows, cols int) View {
	if !v.Contiguous() || int64(rows)*int64(cols) != v.Len() {
		v.Rows, v.Cols, v.LD = -1, -1, 0
		return v
	}
	v.Rows, v.Cols, v.LD = rows, cols, cols
	return v
}

// Flat is the whole contiguous view as one row.
func (v View) Flat() View { return v.Reshape(1, int(v.Len())) }

// Check verifies that the view lies inside its allocation and is aligned to its element.
func (v View) Check() error {
	if v.Buf == nil {
		return fmt.Errorf("absent view")
	}
	es := v.DType.Bytes()
	if v.Rows < 0 || v.Cols < 0 || (v.Rows > 1 && v.LD < v.Cols) {
		return fmt.Errorf("view %s has a bad shape", v)
	}
	if v.Offset < 0 || v.Offset%es != 0 {
		return fmt.Errorf("view %s starts at byte %d, not a multiple of %d", v, v.Offset, es)
	}
	if v.Rows == 0 || v.Cols == 0 {
		return nil
	}
	end := v.Offset + (int64(v.Rows-1)*int64(v.LD)+int64(v.Cols))*es
	if end > v.Buf.Bytes {
		return fmt.Errorf("view %s ends at byte %d of %d", v, end, v.Buf.Bytes)
	}
	return nil
}

func (v View) String() string {
	if v.Buf == nil {
		return "none"
	}
	return fmt.Sprintf("%s+%d[%dx%d ld %d %s]", v.Buf.Name, v.Offset, v.Rows, v.Cols, v.LD, v.DType)
}

// Layout collects matrices that shall lie in one buffer, so that an arena is allocated once
// and views are arithmetic. Every matrix starts at a multiple of 64 bytes.
type Layout struct {
	bytes int64
	views []*View
}

// LayoutAlign is a cache line, and what vector loads and cuBLASLt like.
const LayoutAlign = 64

// Add reserves rows x cols elements. The view is filled in by Commit.
func (l *Layout) Add(rows, cols int, dt DType) *View {
	v := &View{Offset: l.bytes, Rows: rows, Cols: cols, LD: cols, DType: dt}
	n := v.Bytes()
	l.bytes += (n + LayoutAlign - 1) / LayoutAlign * LayoutAlign
	l.views = append(l.views, v)
	return v
}

// Align moves the end of the arena to the next multiple of bytes, itself a multiple of a cache line.
func (l *Layout) Align(bytes int64) { l.bytes = (l.bytes + bytes - 1) / bytes * bytes }

// Bytes is the size of the arena so far.
func (l *Layout) Bytes() int64 { return l.bytes }

// Commit allocates the arena and completes every view that Add returned.
func (l *Layout) Commit(dev Device, name string, symmetric bool) (*Buffer, error) {
	buf, err := dev.Alloc(name, max(l.bytes, LayoutAlign), symmetric)
	if err != nil {
		return nil, fmt.Errorf("allocate %s (%d bytes): %w", name, l.bytes, err)
	}
	for _, v := range l.views {
		v.Buf = buf
	}
	return buf, nil
}
