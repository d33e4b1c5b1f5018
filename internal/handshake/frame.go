package handshake

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
)

// TagBytes is what a Seal adds to every frame.
const TagBytes = sha256.Size

// Directions of a connection.
const (
	fromClient = 'c'
	fromServer = 's'
)

// ReadFrame reads a length-prefixed frame of at most limit bytes.
func ReadFrame(r io.Reader, limit int) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if int64(n) > int64(limit) {
		return nil, fmt.Errorf("frame of %d bytes, at most %d: %w", n, limit, ErrOversize)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, fmt.Errorf("frame cut short: %w", err)
	}
	return b, nil
}

// WriteFrame writes the frame in one call.
func WriteFrame(w io.Writer, payload []byte) error {
	b := binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(payload)), uint32(len(payload)))
	_, err := w.Write(append(b, payload...))
	return err
}

// Seal is one direction of an authenticated connection. Every frame carries a tag over its position
// in the stream, so that nobody on the way can insert, drop, repeat or reorder one. It is not safe for concurrent use.
type Seal struct {
	key   []byte
	dir   byte
	count uint64
}

func (s *Seal) tag(payload []byte) []byte {
	h := hmac.New(sha256.New, s.key)
	var head [9]byte
	head[0] = s.dir
	binary.BigEndian.PutUint64(head[1:], s.count)
	h.Write(head[:])
	h.Write(payload)
	return h.Sum(nil)
}

// Write sends a frame with its tag.
func (s *Seal) Write(w io.Writer, payload []byte) error {
	p := append(payload[:len(payload):len(payload)], s.tag(payload)...)
	s.count++
	return WriteFrame(w, p)
}

// Read receives a frame of at most limit bytes and verifies its tag.
func (s *Seal) Read(r io.Reader, limit int) ([]byte, error) {
	b, err := ReadFrame(r, limit+TagBytes)
	if err != nil {
		return nil, err
	}
	if len(b) < TagBytes {
		return nil, fmt.Errorf("frame of %d bytes has no tag", len(b))
	}
	p, tag := b[:len(b)-TagBytes], b[len(b)-TagBytes:]
	if !hmac.Equal(tag, s.tag(p)) {
		return nil, fmt.Errorf("frame %d: %w", s.count, ErrAuth)
	}
	s.count++
	return p, nil
}
