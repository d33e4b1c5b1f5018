package mirror

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// Version is what both sides must speak.
const Version = "boost-mirror 1"

// lookEvery is how often a source looks for what is new: as often as an agent looks for a request.
const lookEvery = 200 * time.Millisecond

// statusEvery is how often a source says that it lives, when nothing else is to be said.
const statusEvery = time.Second

// Server is the side that has the files. All of it is used by Run's goroutine.
type Server struct {
	In     *bufio.Reader
	Out    io.Writer
	Hello  []byte  // for the keeper
	Source *Source // nil: nothing is mirrored, the folder is the keeper's as well
	Sink   *Sink   // for what the keeper sends; nil: nothing is taken
	// Handle is given Start, Beat, Cancel, Erase and Bye.
	Handle func(Message) error
	// Status is what the keeper should know; it is asked again and again and sent when it changes.
	Status func() []byte
}

// Run serves until the keeper says Bye (nil), the stream ends (io.EOF, io.ErrUnexpectedEOF), or the context does. In is read by
// a goroutine that ends with the stream: close it when Run has returned.
func (s *Server) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := (Message{Kind: Hello, Name: Version, Data: s.Hello}).Write(s.Out); err != nil {
		return err
	}
	in := make(chan Message)
	failed := make(chan error, 1)
	go func() { failed <- pump(ctx, s.In, in) }()
	if err := s.begin(ctx, in, failed); err != nil {
		return s.complain(err)
	}
	err := s.loop(ctx, in, failed)
	if errors.Is(err, errBye) {
		return nil
	}
	return s.complain(err)
}

var errBye = errors.New("the other side leaves")

// complain tells the other side why this one ends.
func (s *Server) complain(err error) error {
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	text := err.Error()
	_ = Message{Kind: Trouble, Data: []byte(text[:min(len(text), MaxData)])}.Write(s.Out) // where the stream is at fault, nobody hears
	return err
}

// pump reads messages until the stream or the context ends.
func pump(ctx context.Context, r *bufio.Reader, to chan<- Message) error {
	for {
		m, err := Read(r)
		if err != nil {
			return err
		}
		select {
		case to <- m:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// begin takes the keeper's hello and the list of what it has.
func (s *Server) begin(ctx context.Context, in <-chan Message, failed <-chan error) error {
	for greeted := false; ; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-failed:
			return err
		case m := <-in:
			switch {
			case m.Kind == Hello && !greeted:
				if m.Name != Version {
					return fmt.Errorf("%w: the other side speaks %q, this one %s: use one and the same program", ErrMessage, m.Name, Version)
				}
				greeted = true
			case m.Kind == Have && greeted && s.Source != nil:
				if err := s.Source.Have(m); err != nil {
					return err
				}
			case m.Kind == Go && greeted:
				return nil
			default:
				return fmt.Errorf("%w: message %c at the beginning", ErrMessage, m.Kind)
			}
		}
	}
}

func (s *Server) loop(ctx context.Context, in <-chan Message, failed <-chan error) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	var said []byte
	var saidAt time.Time
	for {
		if now := s.Status(); !bytes.Equal(now, said) || time.Since(saidAt) >= statusEvery {
			if err := (Message{Kind: Status, Data: now}).Write(s.Out); err != nil {
				return err
			}
			said, saidAt = bytes.Clone(now), time.Now()
		}
		more, err := s.round()
		if err != nil {
			return err
		}
		wait := tick.C
		if more {
			ready := make(chan time.Time)
			close(ready)
			wait = ready
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-failed:
			return err
		case m := <-in:
			if err := s.take(m); err != nil {
				return err
			}
		case <-wait:
		}
	}
}

func (s *Server) emit(m Message) error { return m.Write(s.Out) }

func (s *Server) round() (more bool, err error) {
	if s.Source == nil {
		return false, nil
	}
	return s.Source.Round(s.emit)
}

// take does what a message asks for.
func (s *Server) take(m Message) error {
	switch m.Kind {
	case Data, Whole, Gone:
		if s.Sink == nil {
			return fmt.Errorf("%w: nothing is taken here", ErrMessage)
		}
		return s.Sink.Apply(m)
	case Again:
		if s.Source != nil {
			s.Source.Again(m.Name)
		}
		return nil
	case Finish:
		return s.finish()
	case Bye:
		return errors.Join(s.Handle(m), errBye)
	case Start, Beat, Cancel, Erase:
		return s.Handle(m)
	}
	return fmt.Errorf("%w: message %c", ErrMessage, m.Kind)
}

// finish sends everything that is there, and what it must look like.
func (s *Server) finish() error {
	for more := true; more; {
		var err error
		if more, err = s.round(); err != nil {
			return err
		}
	}
	if s.Source != nil {
		if err := s.Source.Sums(s.emit); err != nil {
			return err
		}
	}
	return s.emit(Message{Kind: Finished})
}
