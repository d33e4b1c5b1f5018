package handshake

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
)

const spoken Protocol = "test 1"

const secret = "0123456789abcdef"

// meet runs both sides over a pipe.
func meet(client, server Protocol, theirs string, h Hello, admit func(Hello) error) (got Hello, seals [4]Seal, offered, accepted error) {
	a, b := net.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		got, seals[2], seals[3], accepted = Accept(b, server, []byte(secret), admit)
		b.Close()
	}()
	seals[0], seals[1], offered = Offer(a, client, []byte(theirs), h)
	a.Close()
	<-done
	return got, seals, offered, accepted
}

func welcomeAll(Hello) error { return nil }

func TestHandshake(t *testing.T) {
	h := Hello{Rank: 3, World: 8, Version: "v1", Subject: []byte("lane 2")}
	got, s, err, err2 := meet(spoken, spoken, secret, h, welcomeAll)
	if err != nil || err2 != nil || got.Rank != 3 || got.World != 8 || got.Version != "v1" || string(got.Subject) != "lane 2" {
		t.Fatalf("%+v, %v, %v", got, err, err2)
	}
	var wire bytes.Buffer
	for _, text := range []string{"first", "second"} {
		if err := s[0].Write(&wire, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	sent := bytes.Clone(wire.Bytes())
	for _, text := range []string{"first", "second"} {
		if b, err := s[2].Read(&wire, 100); err != nil || string(b) != text {
			t.Errorf("%q, %v", b, err)
		}
	}
	if _, err := s[2].Read(bytes.NewReader(sent), 100); !errors.Is(err, ErrAuth) {
		t.Errorf("a repeated frame: %v", err)
	}
	if _, err := s[1].Read(bytes.NewReader(sent), 100); !errors.Is(err, ErrAuth) {
		t.Errorf("a frame sent back: %v", err)
	}
	if _, err := s[2].Read(bytes.NewReader(sent), 3); !errors.Is(err, ErrOversize) {
		t.Errorf("a frame beyond its bound: %v", err)
	}
}

func TestRefusals(t *testing.T) {
	for what, tc := range map[string]struct {
		client  Protocol
		secret  string
		h       Hello
		admit   error
		offered error
		text    string
	}{
		"wrong secret":    {spoken, "another secret, long enough", Hello{}, nil, ErrAuth, "secret"},
		"no answer":       {spoken, "another secret, long enough", Hello{}, nil, ErrNoAnswer, ""},
		"other protocol":  {"test 2", secret, Hello{}, nil, nil, "does not speak test 2"},
		"refused":         {spoken, secret, Hello{}, errors.New("no room"), ErrRefused, "refused: no room"},
		"long version":    {spoken, secret, Hello{Version: strings.Repeat("v", MaxVersion+1)}, nil, ErrOversize, ""},
		"long subject":    {spoken, secret, Hello{Subject: make([]byte, MaxSubject+1)}, nil, ErrOversize, ""},
		"lengthy refusal": {spoken, secret, Hello{}, errors.New(strings.Repeat("x", 4000)), ErrRefused, "refused: x"},
	} {
		_, _, err, err2 := meet(tc.client, spoken, tc.secret, tc.h, func(Hello) error { return tc.admit })
		if err == nil || err2 == nil || tc.offered != nil && !errors.Is(err, tc.offered) || !strings.Contains(err.Error(), tc.text) || len(err.Error()) > 700 {
			t.Errorf("%s: %v; %v", what, err, err2)
		}
	}
}

// Whoever repeats what a genuine client said on another connection meets another nonce.
func TestReplay(t *testing.T) {
	h := Hello{nonce: make([]byte, nonceBytes)}
	said := h.append(nil)
	frame := append(said, prove([]byte(secret), spoken.label("client"), make([]byte, nonceBytes), said)...)
	a, b := net.Pipe()
	go func() {
		ReadFrame(a, MaxFrame)
		WriteFrame(a, frame)
	}()
	if _, _, _, err := Accept(b, spoken, []byte(secret), func(Hello) error { return fmt.Errorf("asked") }); !errors.Is(err, ErrAuth) {
		t.Error(err)
	}
}

func FuzzFrame(f *testing.F) {
	f.Add([]byte{0, 0, 0, 2, 'h', 'i'})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := ReadFrame(bytes.NewReader(b), MaxFrame)
		if err == nil && len(p) > MaxFrame {
			t.Errorf("frame of %d bytes", len(p))
		}
		h, said, proof, err := parseHello(b)
		if err == nil && (len(said)+len(proof) != len(b) || !bytes.Equal(h.append(nil), said)) {
			t.Errorf("hello %x decodes to %+v", b, h)
		}
		(&Seal{key: []byte(secret)}).Read(bytes.NewReader(b), MaxFrame)
	})
}

// stream plays the other side of a connection: what it says is given, what it hears is dropped.
type stream struct{ io.Reader }

func (stream) Write(b []byte) (int, error) { return len(b), nil }

// Whatever the other side says that does not know the secret, neither role believes it.
func FuzzRoles(f *testing.F) {
	var hello bytes.Buffer
	said := Hello{nonce: make([]byte, nonceBytes), World: 2, Version: "v1", Subject: []byte("s")}.append(nil)
	if err := WriteFrame(&hello, append(said, prove([]byte("another secret"), spoken.label("client"), make([]byte, nonceBytes), said)...)); err != nil {
		f.Fatal(err)
	}
	f.Add(hello.Bytes())
	var answer bytes.Buffer
	if err := errors.Join(WriteFrame(&answer, append([]byte(spoken.greeting()), make([]byte, nonceBytes)...)),
		WriteFrame(&answer, append([]byte(welcome), make([]byte, TagBytes)...))); err != nil {
		f.Fatal(err)
	}
	f.Add(answer.Bytes())
	f.Add([]byte{0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, _, _, err := Accept(stream{bytes.NewReader(b)}, spoken, []byte(secret), welcomeAll); err == nil {
			t.Errorf("a server believes %x", b)
		}
		if _, _, err := Offer(stream{bytes.NewReader(b)}, spoken, []byte(secret), Hello{World: 2}); err == nil {
			t.Errorf("a client believes %x", b)
		}
	})
}
