package trainer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"boost-tui/internal/wallclock"
	"boost-tui/kernels"
	"boost-tui/runner/protocol"
	"boost-tui/trainer/rendezvous"
)

// Keys of the rendezvous. Communicators have "comm/<generation>/<name>/<members>".
const (
	keyFailure = "failure" // a cause: the run has failed
	keyStop    = "stop"    // a step: the run ends after it
)

// Deadlines of a job's coming together and parting.
const (
	meetLimit  = 60 * time.Second // until every rank has connected
	readyLimit = 15 * time.Minute // until every rank has its weights
	tellLimit  = time.Second      // to publish or learn a first cause
	partLimit  = 5 * time.Second  // until every rank has finished

	// preflightMeetLimit is meetLimit of a preflight, which is over after a minute whatever happens.
	preflightMeetLimit = 20 * time.Second
)

// link is a rank's connection to the others. A job of one rank that was given no rendezvous has none;
// then every method does what it does for the only rank of a world.
type link struct {
	server *rendezvous.Server // on rank 0
	client *rendezvous.Client
}

// openLink serves the rendezvous (rank 0, on the inherited socket) and connects to it. What else knocks there is said.
func openLink(ctx context.Context, spec protocol.RankSpec, say func(format string, args ...any)) (*link, error) {
	l := &link{}
	if spec.Rendezvous == "" && spec.World == 1 {
		return l, nil
	}
	version, err := rendezvous.BinaryHash()
	if err != nil {
		return nil, err
	}
	o := rendezvous.Options{Secret: spec.Secret, World: spec.World, Rank: spec.Rank, Version: version, Say: say, From: spec.Address}
	if spec.Rank == 0 {
		if err := l.serve(spec, o); err != nil {
			return nil, err
		}
	}
	limit := meetLimit
	if spec.Preflight != nil {
		limit = preflightMeetLimit
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if l.client, err = rendezvous.Dial(ctx, spec.Rendezvous, o); err != nil {
		return nil, errors.Join(err, l.close())
	}
	if err := l.client.Barrier(ctx, "meet"); err != nil {
		return nil, errors.Join(fmt.Errorf("meet the other ranks: %w", err), l.close())
	}
	return l, nil
}

func (l *link) serve(spec protocol.RankSpec, o rendezvous.Options) error {
	if spec.ListenerFD < 0 {
		return errors.New("rank 0 was given no socket for the rendezvous")
	}
	f := os.NewFile(uintptr(spec.ListenerFD), "rendezvous")
	ln, err := net.FileListener(f)
	err = errors.Join(err, f.Close()) // FileListener works on a duplicate
	if err != nil {
		return fmt.Errorf("rendezvous: inherited socket %d: %w", spec.ListenerFD, err)
	}
	o.OnLost = func(rank int) {
		c := &cause{Rank: rank, Text: "it vanished without a word: killed, crashed, or its host is cut off", TSNanos: wallclock.UnixNano()}
		if b, err := c.encode(); err == nil {
			// A full store can only mean that a cause is there.
			_, _ = l.server.SetIfAbsent(keyFailure, b)
		}
	}
	l.server, err = rendezvous.Serve(ln, o)
	return err
}

// uid gives a communicator's identity to all its members; the first one makes it.
func (l *link) uid(ctx context.Context, dev kernels.Device, name string, members []int, rank int) (kernels.UID, error) {
	if len(members) == 1 {
		return dev.UID()
	}
	words := make([]string, len(members))
	for i, m := range members {
		words[i] = strconv.Itoa(m)
	}
	key := fmt.Sprintf("comm/0/%s/%s", name, strings.Join(words, "."))
	if len(key) > rendezvous.MaxKeyBytes {
		// The first member and the size identify a group of the mesh.
		key = fmt.Sprintf("comm/0/%s/%d+%d", name, members[0], len(members))
	}
	if rank == members[0] {
		id, err := dev.UID()
		if err != nil {
			return id, err
		}
		return id, l.client.Set(ctx, key, id[:])
	}
	var id kernels.UID
	b, err := l.client.Wait(ctx, key, members[0])
	if err == nil && len(b) != len(id) {
		err = fmt.Errorf("identity of %d bytes, not %d", len(b), len(id))
	}
	copy(id[:], b)
	return id, err
}

// barrier waits for all ranks.
func (l *link) barrier(ctx context.Context, name string, limit time.Duration) error {
	if l.client == nil {
		return ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return l.client.Barrier(ctx, name)
}

// publish tells all ranks why the run fails, and gives the cause that was first.
func (l *link) publish(c *cause) *cause {
	if l == nil || l.client == nil {
		return c
	}
	b, err := c.encode()
	if err != nil {
		return c
	}
	ctx, cancel := context.WithTimeout(context.Background(), tellLimit)
	defer cancel()
	b, err = l.client.SetIfAbsent(ctx, keyFailure, b)
	if err != nil {
		return c // nobody can be told any more
	}
	first, err := parseCause(b)
	if err != nil {
		return c
	}
	return first
}

// stopAfter agrees on the step that ends the run, and gives the one that was proposed first.
func (l *link) stopAfter(ctx context.Context, step int) (int, error) {
	if l == nil || l.client == nil {
		return step, nil
	}
	ctx, cancel := context.WithTimeout(ctx, tellLimit)
	defer cancel()
	b, err := l.client.SetIfAbsent(ctx, keyStop, strconv.AppendInt(nil, int64(step), 10))
	if err != nil {
		return step, err
	}
	return strconv.Atoi(string(b))
}

// watch calls failed once when a cause is published or the rendezvous is lost, and stop once when a
// last step is agreed on. It returns when both happened or the context ends.
func (l *link) watch(ctx context.Context, failed func(*cause), stop func(step int)) {
	if l.client == nil {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if b, ok := l.await(ctx, keyStop); ok {
			if n, err := strconv.Atoi(string(b)); err == nil {
				stop(n)
			}
		}
	}()
	if b, ok := l.await(ctx, keyFailure); ok {
		if c, err := parseCause(b); err == nil {
			failed(c)
		}
	} else if ctx.Err() == nil {
		failed(&cause{Rank: 0, Text: "it vanished, and with it the rendezvous: killed, crashed, or its host is cut off", TSNanos: wallclock.UnixNano()})
	}
	<-done
}

// await waits for a key for as long as the connection and the context last.
func (l *link) await(ctx context.Context, key string) ([]byte, bool) {
	for {
		b, err := l.client.Wait(ctx, key, -1)
		if err == nil {
			return b, true
		}
		var late *rendezvous.PeerError
		if !errors.As(err, &late) || ctx.Err() != nil {
			return nil, false
		}
	}
}

// lost reports whether the connection has ended.
func (l *link) lost() bool { return l != nil && l.client != nil && l.client.Err() != nil }

// close parts from the others; rank 0 stays until they have left, or have had time to.
func (l *link) close() error {
	var err error
	if l.client != nil {
		err = l.client.Close()
	}
	if l.server != nil {
		ctx, cancel := context.WithTimeout(context.Background(), tellLimit)
		defer cancel()
		l.server.Settle(ctx, 0)
		err = errors.Join(err, l.server.Close())
	}
	return err
}
