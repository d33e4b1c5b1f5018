package kernels

import "fmt"

// CollectiveKind is what a collective does.
type CollectiveKind uint8

// Collectives.
const (
	AllReduce     CollectiveKind = iota // Send in place; Recv absent
	AllGather                           // Recv holds Size times Send, in rank order
	ReduceScatter                       // Send holds Size times Recv, in rank order
	Broadcast                           // Send in place, from rank Root
)

var collectiveNames = [...]string{"all-reduce", "all-gather", "reduce-scatter", "broadcast"}

func (k CollectiveKind) String() string {
	if int(k) < len(collectiveNames) {
		return collectiveNames[k]
	}
	return fmt.Sprintf("collective(%d)", uint8(k))
}

// Reduction is how elements of several ranks become one.
type Reduction uint8

// Reductions.
const (
	Sum Reduction = iota
	Max
)

func (r Reduction) String() string {
	if r == Max {
		return "max"
	}
	return "sum"
}

// Part is one collective of a group call. Views are contiguous, of one type that is F32 or BF16 (sums of BF16 are rounded to
// it; how often on the way is the device's choice), in symmetric memory. An all-gather's Send may be the
// member's own place in Recv, and a reduce-scatter's Recv its own place in Send.
type Part struct {
	Kind       CollectiveKind
	Reduce     Reduction
	Send, Recv View
	Root       int
}

// InPlace reports whether the shorter view is member rank's own place in the longer one.
func (p Part) InPlace(rank int) bool {
	short, long := p.Send, p.Recv
	if p.Kind == ReduceScatter {
		short, long = long, short
	}
	return short.Buf == long.Buf && short.Offset == long.Offset+int64(rank)*short.Bytes()
}

// Payload is the bytes that count as communicated, per rank: the whole vector's, whatever the
// algorithm moves over the wire (METHOD.md §3.4: an all-gather to [T,d] counts T·d elements).
func (p Part) Payload() int64 {
	if p.Kind == AllGather {
		return p.Recv.Bytes()
	}
	return p.Send.Bytes()
}

// WireBytes is what a ring algorithm sends per rank of a group of n.
func (p Part) WireBytes(n int) int64 {
	b := p.Payload() * int64(n-1) / int64(n)
	if p.Kind == AllReduce {
		return 2 * b
	}
	return b
}

// RingSteps is how many messages of a ring of n follow one another.
func (p Part) RingSteps(n int) int {
	if p.Kind == AllReduce {
		return 2 * (n - 1)
	}
	return n - 1
}

// Collective is one communication group call: its parts travel together (METHOD.md §3.5: payload and statistic).
type Collective struct {
	Comm  Comm
	Parts []Part
}

// Name implements Op: the kind of the first part.
func (c *Collective) Name() string {
	if len(c.Parts) == 0 {
		return "collective"
	}
	return c.Parts[0].Kind.String()
}

// Class implements Op.
func (c *Collective) Class() Class { return Communication }

// FLOPs implements Op.
func (c *Collective) FLOPs() int64 { return 0 }

// Payload is the sum over the parts.
func (c *Collective) Payload() int64 {
	var n int64
	for _, p := range c.Parts {
		n += p.Payload()
	}
	return n
}

// WireBytes is the sum over the parts.
func (c *Collective) WireBytes() int64 {
	var n int64
	for _, p := range c.Parts {
		n += p.WireBytes(c.Comm.Size())
	}
	return n
}

// Group implements Message.
func (c *Collective) Group() Comm { return c.Comm }

// Flow implements Message.
func (c *Collective) Flow() string { return c.Comm.Name() }

// Moved implements Message.
func (c *Collective) Moved() int64 { return c.Payload() }

// RingSteps is that of the longest part: the parts travel together.
func (c *Collective) RingSteps() int {
	most := 0
	for _, p := range c.Parts {
		most = max(most, p.RingSteps(c.Comm.Size()))
	}
	return most
}

// Operands implements Op.
func (c *Collective) Operands(yield func(Operand)) {
	for _, p := range c.Parts {
		a := ReadWrite
		if !p.Recv.IsZero() {
			a = Read
		}
		operands(yield, Operand{"Send", p.Send, a}, Operand{"Recv", p.Recv, Write})
	}
}

// Check implements Op.
func (c *Collective) Check() error {
	if c.Comm == nil {
		return fmt.Errorf("no communicator")
	}
	if len(c.Parts) == 0 {
		return fmt.Errorf("no parts")
	}
	for i, p := range c.Parts {
		if err := p.check(c.Comm.Size()); err != nil {
			return fmt.Errorf("part %d (%s): %w", i, p.Kind, err)
		}
	}
	return nil
}

func (p Part) check(n int) error {
	for _, v := range []View{p.Send, p.Recv} {
		if v.IsZero() {
			continue
		}
		if !v.Contiguous() || !v.DType.Number() || v.DType != p.Send.DType {
			return fmt.Errorf("view %s must be contiguous, of type fp32 or bf16 as the other of the part", v)
		}
		if !v.Buf.Symmetric {
			return fmt.Errorf("view %s is not in symmetric memory", v)
		}
	}
	s, r := p.Send.Len(), p.Recv.Len()
	switch p.Kind {
	case AllReduce, Broadcast:
		if p.Send.IsZero() || !p.Recv.IsZero() {
			return fmt.Errorf("works in place on Send alone")
		}
		if p.Root < 0 || p.Root >= n {
			return fmt.Errorf("root %d of %d", p.Root, n)
		}
	case AllGather:
		if p.Recv.IsZero() || r != s*int64(n) {
			return fmt.Errorf("gathers %d elements from each of %d ranks into %d", s, n, r)
		}
	case ReduceScatter:
		if p.Recv.IsZero() || s != r*int64(n) {
			return fmt.Errorf("scatters %d elements to %d ranks of %d", s, n, r)
		}
	default:
		return fmt.Errorf("unknown kind")
	}
	return nil
}
