package handshake

import (
	"context"
	"errors"
	"net"
	"testing"
)

// listener plays a listener's troubles.
type listener struct {
	net.Listener
	say []error // nil: a connection
}

func (l *listener) Accept() (net.Conn, error) {
	err := l.say[0]
	l.say = l.say[1:]
	return nil, err
}

// What passes is waited out, and only the end of the listener or of the context ends the loop.
func TestEach(t *testing.T) {
	busy := errors.New("too many open files")
	taken := 0
	Each(t.Context(), &listener{say: []error{nil, busy, nil, net.ErrClosed}}, func(net.Conn) { taken++ })
	if taken != 2 {
		t.Errorf("%d connections, not 2", taken)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	Each(ctx, &listener{say: []error{busy}}, func(net.Conn) { t.Error("a connection of a listener that has none") })
}
