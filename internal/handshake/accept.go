package handshake

import (
	"context"
	"errors"
	"net"
	"time"
)

// acceptPause is how long a listener that refuses for a moment is left alone.
const acceptPause = 20 * time.Millisecond

// Each hands every connection of a listener to take, which must not block, until the listener is closed or the context ends.
func Each(ctx context.Context, ln net.Listener, take func(net.Conn)) {
	for {
		conn, err := ln.Accept()
		if err == nil {
			take(conn)
			continue
		}
		if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
			return
		}
		// Out of descriptors, a connection reset before it was accepted: both pass.
		select {
		case <-time.After(acceptPause):
		case <-ctx.Done():
			return
		}
	}
}
