package runner

import (
	"encoding/json"
	"fmt"
	"net"

	"boost-tui/runner/control"
	"boost-tui/runner/protocol"
)

// What agents of several hosts say to each other (runner/control carries it).
const (
	// From an agent to the one that leads.
	wordHello = control.FirstKind + iota // greeting: who it is
	wordExit                             // protocol.ExitRecord: a rank failed
	wordPart                             // part: its ranks have ended
	wordAsk                              // ask: it was told to end the run
	wordBoard                            // []standing: where its ranks are
	// From the one that leads to all.
	wordEnd // order: the ranks are to end
)

// greeting is what an agent says about its host.
type greeting struct {
	Name    string `json:"name"`
	Address string `json:"address"`
}

// ask is why an agent wants the run to end.
type ask struct {
	Reason string `json:"reason"`
}

// order is why the ranks are to end.
type order struct {
	State State  `json:"state"` // Cancelled or Failed
	Cause string `json:"cause"`
}

// say makes a message. Everything that is said this way can be encoded.
func say(kind byte, v any) control.Message {
	body, err := json.Marshal(v)
	if err != nil || len(body) > control.MaxBody {
		body = []byte("{}")
	}
	return control.Message{Kind: kind, Body: body}
}

// parse reads a message; it comes from an agent of the run, and is bounded all the same.
func parse[T any](m control.Message, check func(T) error) (v T, err error) {
	if err := json.Unmarshal(m.Body, &v); err != nil {
		return v, fmt.Errorf("word %d of another agent: %w", m.Kind, err)
	}
	if err := check(v); err != nil {
		return v, fmt.Errorf("word %d of another agent: %w", m.Kind, err)
	}
	return v, nil
}

func (g greeting) check() error {
	if net.ParseIP(g.Address) == nil {
		return fmt.Errorf("its address is %q", clean(g.Address, 80))
	}
	return nil
}

func (o order) check() error {
	if o.State != Cancelled && o.State != Failed {
		return fmt.Errorf("ranks are to end as %q", clean(string(o.State), 20))
	}
	return nil
}

// within reports whether a rank belongs to the share.
func (s Share) within(rank, world int) bool {
	first, end := s.ranks(world)
	return rank >= first && rank < end
}

// checkExit refuses a record of a rank that its host does not have.
func (s Share) checkExit(world int) func(protocol.ExitRecord) error {
	return func(e protocol.ExitRecord) error {
		if !s.within(e.Rank, world) || e.Step < 0 {
			return fmt.Errorf("it is about rank %d, which is not its own", e.Rank)
		}
		return nil
	}
}

// checkPart refuses an account of ranks that its host does not have.
func (s Share) checkPart(world int) func(part) error {
	return func(p part) error {
		for _, r := range p.Ranks {
			if !s.within(r.Rank, world) {
				return fmt.Errorf("it is about rank %d, which is not its own", r.Rank)
			}
		}
		return nil
	}
}
