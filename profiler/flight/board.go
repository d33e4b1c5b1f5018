// Package flight is a rank's flight recorder: a slot of shared memory in which the rank notes the
// operation that it is about to run, so that the agent can say where a rank was when it died or hung.
//
// The agent creates a Board and its ranks inherit it. A rank writes through a Writer, usually by way of
// Wrap (a kernels.Device decorator). Start reading at Board, then Device.
package flight

import (
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// slotBytes is one rank's memory. A slot has cache lines of its own, so ranks do not disturb each other.
const slotBytes = 320

// slot is one rank's memory; shared between processes, so every word is atomic.
type slot struct {
	magic atomic.Uint64
	pid   atomic.Int64
	step  atomic.Int64
	_     [5]uint64
	op    track // of the compute stream
	group track // collectives
	_     [2]uint64
}

// track holds the latest of a sequence of notes. The writer fills the copy that is not published and
// then publishes it: one that is killed half-way leaves the previous note whole.
type track struct {
	published atomic.Uint64 // sequence<<stateBits | State; the note is copies[sequence&1]
	copies    [2]note
}

// note is one label: phase, layer, micro-batch and lengths packed in a word, then the text.
type note struct {
	meta atomic.Uint64
	text [textWords]atomic.Uint64
}

const (
	textWords = 6
	textBytes = 8 * textWords
	magic     = 0x31_54_48_47_49_4c_46_42 // "BFLIGHT1"
)

// The layout must fit its slot: this fails to compile when it does not.
var _ [0]struct{} = [unsafe.Sizeof(slot{}) - slotBytes]struct{}{}

// Board is the slots of a host's ranks in shared memory.
type Board struct {
	file  *os.File
	mem   []byte
	ranks int
}

// Create makes a board for n ranks. The memory cannot be resized afterwards, so no holder of the
// descriptor can make another one fault.
func Create(n int) (*Board, error) {
	if n < 1 || n > 1<<16 {
		return nil, fmt.Errorf("flight board for %d ranks", n)
	}
	fd, err := unix.MemfdCreate("boost-flight", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("create flight board: %w", err)
	}
	f := os.NewFile(uintptr(fd), "flight board")
	if err := unix.Ftruncate(fd, int64(n)*slotBytes); err != nil {
		f.Close()
		return nil, fmt.Errorf("size flight board: %w", err)
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW); err != nil {
		f.Close()
		return nil, fmt.Errorf("seal flight board: %w", err)
	}
	b, err := Open(f)
	if err != nil {
		f.Close()
		return nil, err
	}
	return b, nil
}

// Open maps a board that was inherited. The board takes over the file.
func Open(f *os.File) (*Board, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("flight board: %w", err)
	}
	n := st.Size() / slotBytes
	if n < 1 || n > 1<<16 || n*slotBytes != st.Size() {
		return nil, fmt.Errorf("flight board has %d bytes, not a whole number of slots", st.Size())
	}
	mem, err := unix.Mmap(int(f.Fd()), 0, int(st.Size()), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map flight board: %w", err)
	}
	return &Board{file: f, mem: mem, ranks: int(n)}, nil
}

// File is the descriptor to hand to the ranks.
func (b *Board) File() *os.File { return b.file }

// Close unmaps the board. Writers of it must not be used afterwards.
func (b *Board) Close() error {
	if b.mem == nil {
		return nil
	}
	err := unix.Munmap(b.mem)
	b.mem = nil
	if cerr := b.file.Close(); err == nil {
		err = cerr
	}
	return err
}

func (b *Board) slot(rank int) (*slot, error) {
	if b.mem == nil {
		return nil, fmt.Errorf("flight board is closed")
	}
	if rank < 0 || rank >= b.ranks {
		return nil, fmt.Errorf("flight board has no slot %d of %d", rank, b.ranks)
	}
	return (*slot)(unsafe.Pointer(&b.mem[rank*slotBytes])), nil
}
