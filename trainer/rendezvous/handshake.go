package rendezvous

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
)

// ErrAuth says that the peer does not know the run's secret, or that its bytes were tampered with.
var ErrAuth = errors.New("authentication failed: the peer does not know this run's secret")

// ErrRefused says that the server knows the secret but will not have this client: another binary,
// another world, or a rank that is there already. The text says which.
var ErrRefused = errors.New("the rendezvous refused this rank")

const (
	greeting      = "boost-rendezvous 1\n"
	nonceBytes    = 32
	maxVersion    = 128
	minSecret     = 16
	maxRefusal    = 512
	helloFixed    = nonceBytes + 4 + 4 + 2
	fromClient    = 'c'
	fromServer    = 's'
	labelClient   = "boost-rendezvous client"
	labelServer   = "boost-rendezvous server"
	labelSession  = "boost-rendezvous session"
	refusalPrefix = "refused: "
	welcome       = "welcome"
)

// hello is what a client says about itself.
type hello struct {
	nonce       []byte
	rank, world int
	version     string
}

func (h hello) append(b []byte) []byte {
	b = append(b, h.nonce...)
	b = binary.BigEndian.AppendUint32(b, uint32(h.rank))
	b = binary.BigEndian.AppendUint32(b, uint32(h.world))
	b = binary.BigEndian.AppendUint16(b, uint16(len(h.version)))
	return append(b, h.version...)
}

// parseHello splits a client's frame into what it says and the proof that follows.
func parseHello(b []byte) (h hello, said, proof []byte, err error) {
	if len(b) < helloFixed+tagBytes {
		return h, nil, nil, fmt.Errorf("hello of %d bytes: %w", len(b), io.ErrUnexpectedEOF)
	}
	n := int(binary.BigEndian.Uint16(b[nonceBytes+8:]))
	if n > maxVersion {
		return h, nil, nil, fmt.Errorf("version of %d bytes: %w", n, errOversize)
	}
	if len(b) != helloFixed+n+tagBytes {
		return h, nil, nil, fmt.Errorf("hello of %d bytes, announced %d", len(b), helloFixed+n+tagBytes)
	}
	said, proof = b[:helloFixed+n], b[helloFixed+n:]
	h = hello{
		nonce:   said[:nonceBytes],
		rank:    int(int32(binary.BigEndian.Uint32(b[nonceBytes:]))),
		world:   int(int32(binary.BigEndian.Uint32(b[nonceBytes+4:]))),
		version: string(said[helloFixed:]),
	}
	return h, said, proof, nil
}

// prove is HMAC-SHA256 under the secret of a label and byte strings, each preceded by its length.
func prove(secret []byte, label string, parts ...[]byte) []byte {
	h := hmac.New(sha256.New, secret)
	io.WriteString(h, label)
	for _, p := range parts {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(p)))
		h.Write(n[:])
		h.Write(p)
	}
	return h.Sum(nil)
}

func newNonce() ([]byte, error) {
	b := make([]byte, nonceBytes)
	if _, err := rand.Read(b); err != nil {
		return nil, fmt.Errorf("random numbers for the handshake: %w", err)
	}
	return b, nil
}

// serverHandshake challenges the client and proves itself. accept decides, for a client that knows
// the secret, whether it may join. Both nonces enter every proof, so neither side's can be replayed.
func serverHandshake(rw io.ReadWriter, secret []byte, accept func(hello) error) (hello, seal, seal, error) {
	fail := func(err error) (hello, seal, seal, error) { return hello{}, seal{}, seal{}, err }
	nonce, err := newNonce()
	if err != nil {
		return fail(err)
	}
	if err := writeFrame(rw, append([]byte(greeting), nonce...)); err != nil {
		return fail(err)
	}
	b, err := readFrame(rw, maxHandshake)
	if err != nil {
		return fail(err)
	}
	h, said, proof, err := parseHello(b)
	if err != nil {
		return fail(err)
	}
	if !hmac.Equal(proof, prove(secret, labelClient, nonce, said)) {
		return fail(ErrAuth)
	}
	verdict, refusal := []byte(welcome), accept(h)
	if refusal != nil {
		verdict = []byte(refusalPrefix + refusal.Error())
		verdict = verdict[:min(len(verdict), maxRefusal)]
	}
	if err := writeFrame(rw, append(verdict, prove(secret, labelServer, h.nonce, nonce, verdict)...)); err != nil {
		// The caller must undo what accept did even though the client will never know.
		return h, seal{}, seal{}, errors.Join(refusal, err)
	}
	if refusal != nil {
		return fail(fmt.Errorf("%w: %w", ErrRefused, refusal))
	}
	key := prove(secret, labelSession, nonce, h.nonce)
	return h, seal{key: key, dir: fromClient}, seal{key: key, dir: fromServer}, nil
}

// clientHandshake answers the server's challenge and demands proof in turn. It gives the seals for
// writing and reading.
func clientHandshake(rw io.ReadWriter, secret []byte, h hello) (out, in seal, err error) {
	b, err := readFrame(rw, maxHandshake)
	if err != nil {
		return out, in, lostError{fmt.Errorf("no greeting: %w", err)}
	}
	if len(b) != len(greeting)+nonceBytes || string(b[:len(greeting)]) != greeting {
		return out, in, errors.New("what answers is not a rendezvous of this program")
	}
	nonce := b[len(greeting):]
	if h.nonce, err = newNonce(); err != nil {
		return out, in, err
	}
	said := h.append(nil)
	if err := writeFrame(rw, append(said, prove(secret, labelClient, nonce, said)...)); err != nil {
		return out, in, lostError{err}
	}
	b, err = readFrame(rw, maxHandshake)
	if errors.Is(err, io.EOF) {
		// A server says nothing to those who do not know the secret, nor does one that was killed.
		return out, in, lostError{ErrAuth}
	}
	if err != nil {
		return out, in, lostError{err}
	}
	if len(b) < tagBytes {
		return out, in, ErrAuth
	}
	verdict, proof := b[:len(b)-tagBytes], b[len(b)-tagBytes:]
	if !hmac.Equal(proof, prove(secret, labelServer, h.nonce, nonce, verdict)) {
		return out, in, ErrAuth
	}
	if why, refused := strings.CutPrefix(string(verdict), refusalPrefix); refused {
		return out, in, fmt.Errorf("%w: %s", ErrRefused, why)
	}
	key := prove(secret, labelSession, nonce, h.nonce)
	return seal{key: key, dir: fromClient}, seal{key: key, dir: fromServer}, nil
}
