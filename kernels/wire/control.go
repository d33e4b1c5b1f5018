package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"boost-tui/internal/handshake"
)

// Kinds of control messages. Each is one byte, then its body.
const (
	sayPulse byte = iota + 1 // I am alive
	sayBlob                  // member: my part of an exchange; hub: all parts, each preceded by its length
	sayFail                  // one byte whether it was wanted, then the reason
	sayBye                   // member: I leave in order; hub: so do I
	sayLeft                  // hub: the member of this number has left in order
)

// controlLane is no lane: the connection to the hub.
const controlLane = 0xffff

// subject is what a connection is for: a group, and the lane in it.
type subject struct {
	nonce [16]byte
	lane  uint16
	name  string // of the group
}

func (s subject) bytes() []byte {
	b := binary.BigEndian.AppendUint16(append([]byte(nil), s.nonce[:]...), s.lane)
	return append(b, s.name...)
}

func parseSubject(b []byte) (s subject, err error) {
	if len(b) < 18 {
		return s, fmt.Errorf("subject of %d bytes: %w", len(b), io.ErrUnexpectedEOF)
	}
	copy(s.nonce[:], b)
	s.lane, s.name = binary.BigEndian.Uint16(b[16:]), string(b[18:])
	return s, nil
}

// controls is one side of a connection to a hub.
type controls struct {
	conn    *net.TCPConn
	in      handshake.Seal
	silence time.Duration

	mu  sync.Mutex
	out handshake.Seal
}

// say sends a message, however long the other side takes to read it, up to its silence.
func (c *controls) say(kind byte, body []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conn.SetWriteDeadline(time.Now().Add(c.silence))
	err := c.out.Write(c.conn, append([]byte{kind}, body...))
	if err != nil {
		c.conn.Close() // half a frame may be on its way: nothing can follow it
	}
	return err
}

// hear waits for the next message that is no pulse. A deadline that passes says that the other side is silent.
func (c *controls) hear() (kind byte, body []byte, err error) {
	for {
		c.conn.SetReadDeadline(time.Now().Add(c.silence))
		b, err := c.in.Read(c.conn, maxControl)
		if err != nil {
			return 0, nil, err
		}
		if len(b) == 0 {
			return 0, nil, errors.New("empty control message")
		}
		if b[0] != sayPulse {
			return b[0], b[1:], nil
		}
	}
}

// beat says again and again that this side is alive, until it is told to stop or the connection breaks.
func (c *controls) beat(stop <-chan struct{}) {
	t := time.NewTicker(c.silence / 5)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			if c.say(sayPulse, nil) != nil {
				return
			}
		case <-stop:
			return
		}
	}
}

func (f *Failure) bytes() []byte {
	b := []byte{0}
	if f.Aborted {
		b[0] = 1
	}
	return append(b, f.Text[:min(len(f.Text), maxText)]...)
}

func parseFailure(b []byte) *Failure {
	if len(b) < 1 {
		return &Failure{Text: "a failure without a reason"}
	}
	return &Failure{Text: strings.ToValidUTF8(string(b[1:min(len(b), 1+maxText)]), "?"), Aborted: b[0] == 1}
}

// pack and unpack are the blobs of all members in order.
func pack(blobs [][]byte) []byte {
	var b []byte
	for _, x := range blobs {
		b = append(binary.BigEndian.AppendUint16(b, uint16(len(x))), x...)
	}
	return b
}

func unpack(b []byte, n int) ([][]byte, error) {
	out := make([][]byte, n)
	for i := range out {
		if len(b) < 2 || len(b)-2 < int(binary.BigEndian.Uint16(b)) {
			return nil, fmt.Errorf("an exchange that ends within part %d of %d", i, n)
		}
		k := 2 + int(binary.BigEndian.Uint16(b))
		out[i], b = b[2:k:k], b[k:]
	}
	if len(b) > 0 {
		return nil, fmt.Errorf("an exchange with %d bytes too many", len(b))
	}
	return out, nil
}
