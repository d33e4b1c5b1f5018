// Package control is the channel between the agents of a run on several hosts. The agent of the first host, which leads,
// listens (Serve); each of the others dials it (Dial). Both sides know the run's secret and prove it before anything else is
// read (internal/handshake); every frame is sealed and bounded. Each side says something at least every Beat; whoever was not heard of
// for Silence is lost, and an agent that was stopped itself for so long learns that first. A connection that breaks is made
// again; what was sent for good is said again then, so that receivers may hear it twice.
//
// Beats carry the time of day, from which each side works out how far the other's clock is off.
//
// Start reading at Options and Event, then Serve and Dial. Silence is measured on the receiver's own monotonic clock: no two
// hosts' clocks are compared.
package control

import (
	"errors"
	"fmt"
	"time"

	"boost-tui/internal/handshake"
)

// spoken is the protocol of the channel.
const spoken handshake.Protocol = "boost-agents 1"

// Bounds and deadlines.
const (
	MaxHosts = 1 << 14
	MaxBody  = 512 << 10 // bytes of a message: an exit record has at most half of that

	handshakeLimit = 5 * time.Second
	strangers      = 64      // connections that may stand in the handshake at once, beside those of all hosts
	queueLength    = 256     // of events
	maxPending     = 1 << 17 // messages for a peer that does not read: there are fewer ranks than that
	// brokenPatience is how long a host whose connection broke may take to come back: an agent that was killed does not.
	brokenPatience = 3 * time.Second
	redial         = 50 * time.Millisecond
	partLimit      = 2 * time.Second // for the last words
	// beatsPerSilence is how many beats may go astray before a host counts as lost.
	beatsPerSilence = 5
	slowestBeat     = time.Second
)

// Options of either side.
type Options struct {
	Secret      string        // of the run
	Version     string        // of the program: agents of different ones refuse each other
	Incarnation string        // of the run's agents: those of another start are refused
	Host, Hosts int           // this side's number, and how many there are; the leader is 0
	Silence     time.Duration // after which the other side is lost
	Join        time.Duration // how long the others may take to come
	Local       string        // IP address to dial from; empty: whichever the system takes
	Now         func() time.Time
	// Say is told, on the leader, of connections that were refused, now and then; nil: nobody is.
	Say func(format string, args ...any)
}

func (o *Options) check() error {
	if o.Now == nil {
		o.Now = time.Now
	}
	switch {
	case len(o.Secret) < handshake.MinSecret:
		return fmt.Errorf("the secret has %d bytes, at least %d are needed", len(o.Secret), handshake.MinSecret)
	case len(o.Version) > handshake.MaxVersion || len(o.Incarnation) > handshake.MaxSubject:
		return errors.New("the version or the incarnation is too long")
	case o.Hosts < 2 || o.Hosts > MaxHosts || o.Host < 0 || o.Host >= o.Hosts:
		return fmt.Errorf("host %d of %d", o.Host, o.Hosts)
	case o.Silence <= 0:
		return fmt.Errorf("a silence of %v", o.Silence)
	}
	return nil
}

// beat is how often a side says something.
func (o *Options) beat() time.Duration { return min(slowestBeat, o.Silence/beatsPerSilence) }

// Message is what a side says: the kind and the body are its users', kind 0 excepted.
type Message struct {
	Kind byte
	Body []byte
}

// Kinds that belong to the channel: users' messages begin behind them.
const (
	kindBeat  = 0
	kindBye   = 1
	FirstKind = 16 // the least kind of a user's message
)

// What says what happened.
type What int

// Whats.
const (
	Joined  What = iota + 1 // the host has come, or has come back
	Said                    // it said something
	Left                    // it said that it leaves
	Lost                    // nothing was heard of it for too long, or it never came; it is not heard again
	Stopped                 // this side itself stood still for longer than the others wait
)

// Event is something that happened on the channel.
type Event struct {
	Host    int
	What    What
	Message Message       // of Said
	Why     string        // of Lost
	For     time.Duration // of Lost and Stopped: how long nothing was heard, or this side stood still
}

// EndedWithoutWord is why a host is lost whose connection ended and did not come back: its agent was killed, or crashed.
const EndedWithoutWord = "its agent ended without a word"

// Offset is how far another host's clock is ahead of this one's.
type Offset struct {
	Offset, Error time.Duration // Error: half of the shortest round trip
	Known         bool
}
