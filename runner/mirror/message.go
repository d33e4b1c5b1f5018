package mirror

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Kind says what a message is.
type Kind byte

// Kinds of messages. The keeper is the side with the run's own folder, the source the one with the ranks.
const (
	// Hello is the first message of either side: its version in Name, and in Data what the two sides' programs say.
	Hello Kind = 'h'
	// Have says how much of a file the keeper has: Offset bytes, whose Mark is in Data.
	Have Kind = 'a'
	// Go ends the list of what the keeper has.
	Go Kind = 'g'
	// Data is a stretch of a file that grows, at Offset; Fresh: what was there before goes.
	Data Kind = 'd'
	// Whole is a stretch of a file that appears when it is complete: Last.
	Whole Kind = 'w'
	// Gone says that a file is no longer there, or asks for its removal.
	Gone Kind = 'r'
	// Again asks for a file from its beginning.
	Again Kind = 'n'
	// Finish asks for everything that is there, and then for Sum of every file and Finished.
	Finish Kind = 'f'
	// Sum is the size (Offset) and the sha256 (Data) of a file.
	Sum Kind = 'v'
	// Finished ends the answer to Finish.
	Finished Kind = 'F'
	// Start, Status, Beat, Cancel, Erase and Bye are what the two programs tell each other beside files.
	Start  Kind = 'S'
	Status Kind = 's'
	Beat   Kind = 'b'
	Cancel Kind = 'c'
	Erase  Kind = 'x'
	Bye    Kind = 'q'
	// Trouble is why the sender ends.
	Trouble Kind = 'e'
)

// Flags of a message.
const (
	Fresh byte = 1 << iota
	Last
)

// Bounds.
const (
	MaxData = 256 << 10 // bytes of one message
	MaxName = 255
	// MaxOffset bounds the size of a file that is mirrored.
	MaxOffset = 1 << 42

	headBytes = 1 + 1 + 2 + 4 + 8
)

// Message is one frame. The slices of one that was read are its own.
type Message struct {
	Kind   Kind
	Flags  byte
	Name   string
	Offset int64
	Data   []byte
}

// ErrMessage says that what arrived is no message: another program, or one that means harm.
var ErrMessage = errors.New("no message of this protocol")

// Write sends the message with one call.
func (m Message) Write(w io.Writer) error {
	if err := m.check(len(m.Name), len(m.Data)); err != nil {
		return err
	}
	b := make([]byte, 0, headBytes+len(m.Name)+len(m.Data))
	b = append(b, byte(m.Kind), m.Flags)
	b = binary.BigEndian.AppendUint16(b, uint16(len(m.Name)))
	b = binary.BigEndian.AppendUint32(b, uint32(len(m.Data)))
	b = binary.BigEndian.AppendUint64(b, uint64(m.Offset))
	b = append(b, m.Name...)
	b = append(b, m.Data...)
	_, err := w.Write(b)
	return err
}

// Read receives a message. io.EOF: the stream ended between two; io.ErrUnexpectedEOF: within one.
func Read(r *bufio.Reader) (Message, error) {
	var head [headBytes]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return Message{}, err
	}
	m := Message{Kind: Kind(head[0]), Flags: head[1], Offset: int64(binary.BigEndian.Uint64(head[8:]))}
	name, data := int(binary.BigEndian.Uint16(head[2:])), binary.BigEndian.Uint32(head[4:])
	if data > MaxData {
		return Message{}, fmt.Errorf("%w: %d bytes, at most %d", ErrMessage, data, MaxData)
	}
	if err := m.check(name, int(data)); err != nil {
		return Message{}, err
	}
	body := make([]byte, name+int(data))
	if _, err := io.ReadFull(r, body); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return Message{}, err
	}
	m.Name = string(body[:name])
	if data > 0 {
		m.Data = body[name:]
	}
	return m, nil
}

func (m Message) check(name, data int) error {
	switch m.Kind {
	case Hello, Have, Go, Data, Whole, Gone, Again, Finish, Sum, Finished, Start, Status, Beat, Cancel, Erase, Bye, Trouble:
	default:
		return fmt.Errorf("%w: kind %d", ErrMessage, m.Kind)
	}
	if name > MaxName || data > MaxData || m.Offset < 0 || m.Offset > MaxOffset || m.Flags&^(Fresh|Last) != 0 {
		return fmt.Errorf("%w: name of %d bytes, %d bytes at %d, flags %x", ErrMessage, name, data, m.Offset, m.Flags)
	}
	return nil
}
