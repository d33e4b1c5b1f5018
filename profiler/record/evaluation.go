package record

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"time"

	"boost-tui/internal/regular"
)

// EventEval is the kind of event that an evaluation is.
const EventEval = "eval"

// Evaluation is a loss of data that is not trained on.
type Evaluation struct {
	Step    int     `json:"step"`   // the last one before it
	Loss    float64 `json:"loss"`   // nats per token, mean; NaN: not finite
	Tokens  int64   `json:"tokens"` // that it is the mean of
	Seconds float64 `json:"seconds"`
}

// Perplexity is e to the loss.
func (v Evaluation) Perplexity() float64 { return math.Exp(v.Loss) }

// finite is nil for what JSON cannot say.
func finite(v float64) any {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return v
}

// MarshalJSON implements json.Marshaler: a loss that is not finite is null, and so is its perplexity, which stands beside it.
func (v Evaluation) MarshalJSON() ([]byte, error) { return json.Marshal(v.data()) }

func (v Evaluation) data() map[string]any {
	return map[string]any{"step": v.Step, "loss": finite(v.Loss), "perplexity": finite(v.Perplexity()), "tokens": v.Tokens, "seconds": v.Seconds}
}

// Event is the evaluation as an event of a run.
func (v Evaluation) Event(at time.Time) *EventLine {
	return &EventLine{Kind: EventEval, TSNanos: at.UnixNano(), Code: "evaluated", Msg: fmt.Sprintf("loss %.4f, perplexity %.3f after step %d", v.Loss, v.Perplexity(), v.Step),
		Data: v.data()}
}

// Evaluation is the evaluation that an event tells of; ok is false for other events.
func (l *EventLine) Evaluation() (v Evaluation, ok bool) {
	if l.Kind != EventEval {
		return v, false
	}
	number := func(key string) float64 { v, _ := l.Data[key].(float64); return v }
	loss, known := l.Data["loss"].(float64)
	if !known {
		loss = math.NaN()
	}
	return Evaluation{Step: int(number("step")), Loss: loss, Tokens: int64(number("tokens")), Seconds: number("seconds")}, true
}

// maxEvents bounds the events of a run that are read whole.
const maxEvents = 64 << 20

// Evaluations lists the evaluations of a run, in order. Lines that are damaged are passed over; a run without events has none.
func Evaluations(dir string) ([]Evaluation, error) {
	text, err := regular.ReadFile(EventsPath(dir), maxEvents)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("evaluations: %w", err)
	}
	var out []Evaluation
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var l EventLine
		if l.Decode(lines.Bytes()) != nil {
			continue
		}
		if v, ok := l.Evaluation(); ok {
			out = append(out, v)
		}
	}
	return out, lines.Err()
}
