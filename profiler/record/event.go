package record

import (
	"encoding/json"
	"fmt"
)

// Kinds of events.
const (
	EventState = "state"
	EventAlert = "alert"
	EventCkpt  = "ckpt"
	EventNote  = "note"
)

// EventLine is something that happened to the run: a line of events.jsonl. Low rate.
type EventLine struct {
	Kind    string         `json:"t"`
	Schema  int            `json:"schema,omitempty"` // absent: 1
	TSNanos int64          `json:"ts_ns"`
	Rank    *int           `json:"rank,omitempty"` // nil: the run as a whole
	Code    string         `json:"code"`           // for programs: "running", "rank_died", …
	Msg     string         `json:"msg,omitempty"`  // for people
	Data    map[string]any `json:"data,omitempty"`
}

// Append appends the line as JSON, without a newline. Data that JSON cannot hold is an error.
func (l *EventLine) Append(b []byte) ([]byte, error) {
	j, err := json.Marshal(l)
	if err != nil {
		return b, fmt.Errorf("event %s: %w", l.Code, err)
	}
	return append(b, j...), nil
}

// Decode reads a line. Kinds that are not known are kept: they are for people to read.
func (l *EventLine) Decode(line []byte) error {
	*l = EventLine{}
	if err := json.Unmarshal(line, l); err != nil {
		return fmt.Errorf("event: %w", err)
	}
	if l.Schema > Schema {
		return fmt.Errorf("event of schema %d: %w", l.Schema, ErrNewerSchema)
	}
	if l.Kind == "" {
		return fmt.Errorf("event without a type")
	}
	return nil
}
