// Package handshake is how two processes of a run prove to each other that they know its secret, before anything
// else is read from either: HMAC-SHA256 over a nonce of each side. Afterwards every frame carries a tag over its place
// in the stream (Seal). All sizes are bounded before anything is allocated. Deadlines are the caller's.
//
// The rendezvous of ranks and the communicators of ranks on several hosts use it, each under a Protocol of its own.
// Start reading at Accept and Offer.
package handshake

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

// Protocol is what the two sides want to speak, with its version: "boost-rendezvous 1". Proofs of one are none of another.
type Protocol string

func (p Protocol) greeting() string { return string(p) + "\n" }

func (p Protocol) label(what string) string { return string(p) + " " + what }

// Errors that callers tell apart with errors.Is.
var (
	// ErrAuth says that the peer does not know the run's secret, or that its bytes were tampered with.
	ErrAuth = errors.New("authentication failed: the peer does not know this run's secret")
	// ErrRefused says that the peer knows the secret but will not have this side. The text says why.
	ErrRefused = errors.New("refused")
	// ErrNoAnswer says that the connection broke before the handshake was through.
	ErrNoAnswer = errors.New("no answer")
	// ErrOversize reports a frame or field beyond its bound: a broken or hostile peer.
	ErrOversize = errors.New("larger than the protocol allows")
)

// Bounds.
const (
	MinSecret  = 16  // bytes
	MaxVersion = 128 // bytes of Hello.Version
	MaxSubject = 256 // bytes of Hello.Subject
	MaxFrame   = 1024

	maxRefusal    = 512
	nonceBytes    = 32
	helloFixed    = nonceBytes + 4 + 4 + 2 + 2
	refusalPrefix = "refused: "
	welcome       = "welcome"
)

// Hello is what a client says about itself.
type Hello struct {
	Rank, World int
	Version     string // of the program
	Subject     []byte // what the connection is for, as the protocol has it
	nonce       []byte
}

func (h Hello) append(b []byte) []byte {
	b = append(b, h.nonce...)
	b = binary.BigEndian.AppendUint32(b, uint32(h.Rank))
	b = binary.BigEndian.AppendUint32(b, uint32(h.World))
	b = binary.BigEndian.AppendUint16(b, uint16(len(h.Version)))
	b = binary.BigEndian.AppendUint16(b, uint16(len(h.Subject)))
	b = append(b, h.Version...)
	return append(b, h.Subject...)
}

// parseHello splits a client's frame into what it says and the proof that follows.
func parseHello(b []byte) (h Hello, said, proof []byte, err error) {
	if len(b) < helloFixed+TagBytes {
		return h, nil, nil, fmt.Errorf("hello of %d bytes: %w", len(b), io.ErrUnexpectedEOF)
	}
	version, subject := int(binary.BigEndian.Uint16(b[nonceBytes+8:])), int(binary.BigEndian.Uint16(b[nonceBytes+10:]))
	if version > MaxVersion || subject > MaxSubject {
		return h, nil, nil, fmt.Errorf("version of %d and subject of %d bytes: %w", version, subject, ErrOversize)
	}
	n := helloFixed + version + subject
	if len(b) != n+TagBytes {
		return h, nil, nil, fmt.Errorf("hello of %d bytes, announced %d", len(b), n+TagBytes)
	}
	said, proof = b[:n], b[n:]
	h = Hello{
		nonce:   said[:nonceBytes],
		Rank:    int(int32(binary.BigEndian.Uint32(b[nonceBytes:]))),
		World:   int(int32(binary.BigEndian.Uint32(b[nonceBytes+4:]))),
		Version: string(said[helloFixed : helloFixed+version]),
		Subject: said[helloFixed+version:],
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

// Accept challenges the client of a connection and proves itself. admit decides, for a client that knows the secret,
// whether it may come in. Both nonces enter every proof, so neither side's can be replayed. It gives the seals for
// reading and writing. An error after admit accepted comes with the Hello: the caller undoes what admit did.
func Accept(rw io.ReadWriter, p Protocol, secret []byte, admit func(Hello) error) (h Hello, in, out Seal, err error) {
	fail := func(err error) (Hello, Seal, Seal, error) { return Hello{}, Seal{}, Seal{}, err }
	nonce, err := newNonce()
	if err != nil {
		return fail(err)
	}
	if err := WriteFrame(rw, append([]byte(p.greeting()), nonce...)); err != nil {
		return fail(err)
	}
	b, err := ReadFrame(rw, MaxFrame)
	if err != nil {
		return fail(err)
	}
	h, said, proof, err := parseHello(b)
	if err != nil {
		return fail(err)
	}
	if !hmac.Equal(proof, prove(secret, p.label("client"), nonce, said)) {
		return fail(ErrAuth)
	}
	verdict, refusal := []byte(welcome), admit(h)
	if refusal != nil {
		verdict = []byte(refusalPrefix + refusal.Error())
		verdict = verdict[:min(len(verdict), maxRefusal)]
	}
	if err := WriteFrame(rw, append(verdict, prove(secret, p.label("server"), h.nonce, nonce, verdict)...)); err != nil {
		// The caller must undo what admit did even though the client will never know.
		return h, Seal{}, Seal{}, errors.Join(refusal, err)
	}
	if refusal != nil {
		return fail(fmt.Errorf("%w: %w", ErrRefused, refusal))
	}
	key := prove(secret, p.label("session"), nonce, h.nonce)
	return h, Seal{key: key, dir: fromClient}, Seal{key: key, dir: fromServer}, nil
}

// Offer answers the server's challenge and demands proof in turn. It gives the seals for writing and reading.
func Offer(rw io.ReadWriter, p Protocol, secret []byte, h Hello) (out, in Seal, err error) {
	if len(h.Version) > MaxVersion || len(h.Subject) > MaxSubject {
		return out, in, fmt.Errorf("version of %d and subject of %d bytes: %w", len(h.Version), len(h.Subject), ErrOversize)
	}
	b, err := ReadFrame(rw, MaxFrame)
	if err != nil {
		return out, in, broken(fmt.Errorf("no greeting: %w", err))
	}
	if len(b) != len(p.greeting())+nonceBytes || string(b[:len(p.greeting())]) != p.greeting() {
		return out, in, fmt.Errorf("what answers does not speak %s", p)
	}
	nonce := b[len(p.greeting()):]
	if h.nonce, err = newNonce(); err != nil {
		return out, in, err
	}
	said := h.append(nil)
	if err := WriteFrame(rw, append(said, prove(secret, p.label("client"), nonce, said)...)); err != nil {
		return out, in, broken(err)
	}
	b, err = ReadFrame(rw, MaxFrame)
	if errors.Is(err, io.EOF) {
		// A server says nothing to those who do not know the secret, nor does one that was killed.
		return out, in, broken(ErrAuth)
	}
	if err != nil {
		return out, in, broken(err)
	}
	if len(b) < TagBytes {
		return out, in, ErrAuth
	}
	verdict, proof := b[:len(b)-TagBytes], b[len(b)-TagBytes:]
	if !hmac.Equal(proof, prove(secret, p.label("server"), h.nonce, nonce, verdict)) {
		return out, in, ErrAuth
	}
	if why, refused := strings.CutPrefix(string(verdict), refusalPrefix); refused {
		return out, in, refusal(why)
	}
	key := prove(secret, p.label("session"), nonce, h.nonce)
	return Seal{key: key, dir: fromClient}, Seal{key: key, dir: fromServer}, nil
}

// refusal is what a server that knows the secret says; it is ErrRefused.
type refusal string

func (r refusal) Error() string        { return refusalPrefix + string(r) }
func (r refusal) Is(target error) bool { return target == ErrRefused }

// noAnswer marks an error as ErrNoAnswer without changing its text.
type noAnswer struct{ error }

func (e noAnswer) Unwrap() []error { return []error{ErrNoAnswer, e.error} }

func broken(err error) error { return noAnswer{err} }
