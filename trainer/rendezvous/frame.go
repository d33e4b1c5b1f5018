package rendezvous

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Bounds on what crosses the wire. They hold before anything is allocated.
const (
	MaxKeyBytes   = 256
	MaxValueBytes = 1 << 20

	maxFrame     = messageHeader + MaxKeyBytes + MaxValueBytes + tagBytes
	maxHandshake = 1024
	tagBytes     = sha256.Size
	// id, op, number, milliseconds, lengths of key and value.
	messageHeader = 4 + 1 + 8 + 4 + 2 + 4
)

// errOversize reports a frame or field beyond its bound: a broken or hostile peer.
var errOversize = errors.New("larger than the protocol allows")

// operation is what a message asks for, or how a reply went.
type operation byte

const (
	opSet operation = iota + 1
	opSetIfAbsent
	opWait
	opAdd
	opBarrier
	opBye
	replyOK
	replyPeers // value is a PeerError as JSON
	replyError // value is text
)

// message is a request or a reply; both have one layout. A reply carries the id of its request.
type message struct {
	id     uint32
	op     operation
	number int64  // opAdd: the increment; opWait: the rank expected to set the key, −1 unknown; reply of opAdd: the sum
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
		return message{}, fmt.Errorf("key of %d and value of %d bytes: %w", nk, nv, errOversize)
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

// readFrame reads a length-prefixed frame of at most limit bytes.
func readFrame(r io.Reader, limit int) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if int64(n) > int64(limit) {
		return nil, fmt.Errorf("frame of %d bytes, at most %d: %w", n, limit, errOversize)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, fmt.Errorf("frame cut short: %w", err)
	}
	return b, nil
}

// writeFrame writes the frame in one call.
func writeFrame(w io.Writer, payload []byte) error {
	b := binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(payload)), uint32(len(payload)))
	_, err := w.Write(append(b, payload...))
	return err
}

// seal is one direction of an authenticated connection. Every frame carries a tag over its position
// in the stream, so that nobody on the way can insert, drop, repeat or reorder one.
type seal struct {
	key   []byte
	dir   byte
	count uint64
}

func (s *seal) tag(payload []byte) []byte {
	h := hmac.New(sha256.New, s.key)
	var head [9]byte
	head[0] = s.dir
	binary.BigEndian.PutUint64(head[1:], s.count)
	h.Write(head[:])
	h.Write(payload)
	return h.Sum(nil)
}

// write sends a message. It is not safe for concurrent use.
func (s *seal) write(w io.Writer, m message) error {
	if len(m.key) > MaxKeyBytes || len(m.value) > MaxValueBytes {
		return fmt.Errorf("key of %d bytes (at most %d), value of %d bytes (at most %d): %w", len(m.key), MaxKeyBytes, len(m.value), MaxValueBytes, errOversize)
	}
	p := m.append(make([]byte, 0, messageHeader+len(m.key)+len(m.value)+tagBytes))
	p = append(p, s.tag(p)...)
	s.count++
	return writeFrame(w, p)
}

// read receives a message and verifies its tag. It is not safe for concurrent use.
func (s *seal) read(r io.Reader) (message, error) {
	b, err := readFrame(r, maxFrame)
	if err != nil {
		return message{}, err
	}
	if len(b) < tagBytes {
		return message{}, fmt.Errorf("frame of %d bytes has no tag", len(b))
	}
	p, tag := b[:len(b)-tagBytes], b[len(b)-tagBytes:]
	if !hmac.Equal(tag, s.tag(p)) {
		return message{}, fmt.Errorf("frame %d: %w", s.count, ErrAuth)
	}
	s.count++
	return parseMessage(p)
}
