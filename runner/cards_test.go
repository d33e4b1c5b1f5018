package runner

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"boost-tui/profiler/record"
	"boost-tui/profiler/sample"
)

// Cards that come after the start are sampled from then on.
func TestCardsThatComeLate(t *testing.T) {
	dir := t.TempDir()
	m, err := startMeter(dir, "here", nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	a := &agent{meter: m, cards: cardsWait{make(chan opened), func() {}}}
	a.tookCards(opened{cards: sample.NewSimulator(2, time.Now)})
	if a.cards.got != nil {
		t.Error("they are waited for still")
	}
	for deadline := time.Now().Add(time.Minute); ; {
		data, err := os.ReadFile(record.HealthPath(dir, "here"))
		if err == nil && strings.Count(string(data), `"t":"`+record.KindGPU+`"`) >= 2 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s, %v", data, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err := m.stop(); err != nil {
		t.Error(err)
	}
}

// Whoever ends while a driver is waited for ends the wait.
func TestCardsThatNeverCome(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	got := make(chan opened, 1)
	go func() {
		<-ctx.Done()
		got <- opened{err: errors.New("not waited for")}
	}()
	a := &agent{cards: cardsWait{got, cancel}}
	a.leaveCards()
	if ctx.Err() == nil || a.cards.got != nil || len(got) != 0 {
		t.Error("somebody waits still")
	}
}
