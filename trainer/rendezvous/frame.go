package rendezvous

import (
	"encoding/binary"
	"fmt"
	"io"

	"boost-tui/internal/handshake"
)

// spoken is the protocol of the rendezvous.
const spoken handshake.Protocol = "boost-rendezvous 3"

// Bounds on what crosses the wire. They hold before anything is allocated.
const (
	MaxKeyBytes   = 256
	MaxValueBytes = 1 << 20

	maxFrame = messageHeader + MaxKeyBytes + MaxValueBytes
	// id, op, number, milliseconds, lengths of key and value.
	messageHeader = 4 + 1 + 8 + 4 + 2 + 4
)

// operation is what a message asks for, or how a reply went.
type operation byte

const (
	opSet operation = iota + 1
	opSetIfAbsent
	opWait
	opAdd
	opBarrier
	opClock
	opBye
	replyOK
	replyPeers // value is a PeerError as JSON
	replyError // value is text
)

// message is a request or a reply; both have one layout. A reply carries the id of its request.
type message struct {
	id     uint32
	op     operation
	number int64  // opAdd: the increment; opWait: the rank expected to set the key, −1 unknown; reply of opAdd: the sum, of opClock: Unix nanoseconds
	millis uint32 // how long the server may take over it
	key    string
	value  []byte
}

// append encodes the message.
func (m message) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, m.id)
	b = append(b, byte(m.op))
	b = binary.BigEndian.AppendUint64(b, uint64(m.number))
	b = binary.BigEndian.AppendUint32(b, m.millis)
	b = binary.BigEndian.AppendUint16(b, uint16(len(m.key)))
	b = binary.BigEndian.AppendUint32(b, uint32(len(m.value)))
	b = append(b, m.key...)
	return append(b, m.value...)
}

// parseMessage decodes exactly one message. The value aliases b.
func parseMessage(b []byte) (message, error) {
	if len(b) < messageHeader {
		return message{}, fmt.Errorf("message of %d bytes: %w", len(b), io.ErrUnexpectedEOF)
	}
	m := message{
		id:     binary.BigEndian.Uint32(b),
		op:     operation(b[4]),
		number: int64(binary.BigEndian.Uint64(b[5:])),
		millis: binary.BigEndian.Uint32(b[13:]),
	}
	nk, nv := int(binary.BigEndian.Uint16(b[17:])), int64(binary.BigEndian.Uint32(b[19:]))
	if nk > MaxKeyBytes || nv > MaxValueBytes {
		return message{}, fmt.Errorf("key of %d and value of %d bytes: %w", nk, nv, handshake.ErrOversize)
	}
	if m.op < opSet || m.op > replyError {
		return message{}, fmt.Errorf("unknown operation %d", m.op)
	}
	body := b[messageHeader:]
	if int64(len(body)) != int64(nk)+nv {
		return message{}, fmt.Errorf("message announces %d bytes and has %d", int64(nk)+nv, len(body))
	}
	m.key, m.value = string(body[:nk]), body[nk:]
	return m, nil
}

// seal sends and receives messages on one direction of a connection.
type seal struct{ handshake.Seal }

// write sends a message. It is not safe for concurrent use.
func (s *seal) write(w io.Writer, m message) error {
	if len(m.key) > MaxKeyBytes || len(m.value) > MaxValueBytes {
		return fmt.Errorf("key of %d bytes (at most %d), value of %d bytes (at most %d): %w", len(m.key), MaxKeyBytes, len(m.value), MaxValueBytes, handshake.ErrOversize)
	}
	return s.Write(w, m.append(make([]byte, 0, messageHeader+len(m.key)+len(m.value))))
}

// read receives a message and verifies its tag. It is not safe for concurrent use.
func (s *seal) read(r io.Reader) (message, error) {
	p, err := s.Read(r, maxFrame)
	if err != nil {
		return message{}, err
	}
	return parseMessage(p)
}
