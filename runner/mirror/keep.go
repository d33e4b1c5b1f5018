package mirror

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// finishTries is how often files that differ at the end are fetched anew: one whose checksum never fits changes all the time.
const finishTries = 5

// Keeper is the side that keeps the files.
type Keeper struct {
	In   *bufio.Reader
	Out  io.Writer
	Sink *Sink // nil: nothing is mirrored
	// Handle is given every message about files before the sink, and Status; taken: the sink does not get it.
	Handle func(Message) (taken bool, err error)

	mu       sync.Mutex // of Out
	heardMu  sync.Mutex
	heard    time.Time
	finished chan error // of the Finish that is under way
	differ   []string
}

// Hello reads what the source says first.
func (k *Keeper) Hello() ([]byte, error) {
	m, err := Read(k.In)
	if err != nil {
		return nil, err
	}
	if m.Kind == Trouble {
		return nil, trouble(m)
	}
	if m.Kind != Hello || m.Name != Version {
		return nil, fmt.Errorf("%w: the other side speaks %q, this one %s: use one and the same program", ErrMessage, m.Name, Version)
	}
	return m.Data, nil
}

// Begin tells the source what is here already. Run comes next.
func (k *Keeper) Begin() error {
	if err := k.Send(Message{Kind: Hello, Name: Version}); err != nil {
		return err
	}
	if k.Sink != nil {
		have, err := k.Sink.Have()
		if err != nil {
			return err
		}
		for _, m := range have {
			if err := k.Send(m); err != nil {
				return err
			}
		}
	}
	k.finished = make(chan error, 1)
	return k.Send(Message{Kind: Go})
}

// Send sends a message. Several goroutines may.
func (k *Keeper) Send(m Message) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return m.Write(k.Out)
}

// Heard is when the source was heard last.
func (k *Keeper) Heard() time.Time {
	k.heardMu.Lock()
	defer k.heardMu.Unlock()
	return k.heard
}

// Run keeps what the source sends until the stream ends.
func (k *Keeper) Run() error {
	for {
		m, err := Read(k.In)
		if err != nil {
			return err
		}
		k.heardMu.Lock()
		k.heard = time.Now()
		k.heardMu.Unlock()
		if err := k.take(m); err != nil {
			return err
		}
	}
}

func (k *Keeper) take(m Message) error {
	switch m.Kind {
	case Data, Whole, Gone, Status:
		taken, err := k.Handle(m)
		if err != nil || taken || m.Kind == Status {
			return err
		}
		if k.Sink == nil {
			return fmt.Errorf("%w: a file came where none is mirrored", ErrMessage)
		}
		return k.Sink.Apply(m)
	case Sum:
		if k.Sink == nil {
			return fmt.Errorf("%w: a checksum", ErrMessage)
		}
		same, err := k.Sink.Same(m)
		if !same && err == nil {
			k.differ = append(k.differ, m.Name)
		}
		return err
	case Finished:
		return k.settled()
	case Trouble:
		return trouble(m)
	}
	return fmt.Errorf("%w: message %c", ErrMessage, m.Kind)
}

// settled is called when the source has sent everything once.
func (k *Keeper) settled() error {
	var err error
	if len(k.differ) > 0 {
		err = &DifferError{Names: k.differ}
	}
	k.differ = nil
	select {
	case k.finished <- err:
	default: // nobody waits for it
	}
	return nil
}

// DifferError names files that are not the same on both sides.
type DifferError struct{ Names []string }

func (e *DifferError) Error() string {
	return fmt.Sprintf("%d files differ from those of their host, %s among them", len(e.Names), e.Names[0])
}

func trouble(m Message) error {
	return fmt.Errorf("the other side gave up: %s", bytes.TrimSpace(m.Data))
}

// Finish fetches everything that is there, and again what differs, until both sides have the same, and brings it to the disk.
// Run must be under way in another goroutine; over ends the wait when it has returned.
func (k *Keeper) Finish(ctx context.Context, over <-chan struct{}) error {
	var err error
	for range finishTries {
		if err = k.Send(Message{Kind: Finish}); err != nil {
			return err
		}
		select {
		case err = <-k.finished:
		case <-ctx.Done():
			return ctx.Err()
		case <-over:
			return io.ErrUnexpectedEOF
		}
		var differ *DifferError
		if !errors.As(err, &differ) {
			return err
		}
		for _, name := range differ.Names {
			if err := k.Send(Message{Kind: Again, Name: name}); err != nil {
				return err
			}
		}
	}
	return err
}

// Push sends a file to the source's side, in stretches.
func (k *Keeper) Push(ctx context.Context, path, name string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	buf := make([]byte, MaxData)
	for off := int64(0); ; {
		n, err := io.ReadFull(f, buf)
		end := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !end {
			return fmt.Errorf("read %s: %w", path, err)
		}
		m := Message{Kind: Data, Name: name, Offset: off, Data: buf[:n]}
		if off == 0 {
			m.Flags = Fresh
		}
		if n > 0 || off == 0 {
			if err := k.Send(m); err != nil {
				return err
			}
		}
		if off += int64(n); end {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// PushWhole sends a small file that appears whole.
func (k *Keeper) PushWhole(name string, data []byte) error {
	for off := 0; ; off += MaxData {
		m := Message{Kind: Whole, Name: name, Offset: int64(off), Data: data[min(off, len(data)):min(off+MaxData, len(data))]}
		if off == 0 {
			m.Flags |= Fresh
		}
		if off+MaxData >= len(data) {
			m.Flags |= Last
			return k.Send(m)
		}
		if err := k.Send(m); err != nil {
			return err
		}
	}
}
