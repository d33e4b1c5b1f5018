package tui_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"boost-tui/experiment"
	"boost-tui/runner"
	"boost-tui/sweeps"
	"boost-tui/sweeps/space"
	"boost-tui/tui"
)

func TestAnswersAboutDevicesAreKeptForAWhile(t *testing.T) {
	asked, at := 0, time.Unix(1e9, 0)
	check := tui.Remembered(func(_ context.Context, device string, ranks int) (string, error) {
		asked++
		return device, errors.New("nothing is here")
	}, func() time.Time { return at })
	for _, c := range []struct {
		device string
		ranks  int
		after  time.Duration
		asked  int
	}{{"cuda", 1, 0, 1}, {"cuda", 1, 0, 1}, {"cuda", 2, 0, 2}, {"emulated", 1, 0, 3}, {"cuda", 1, 59 * time.Second, 3}, {"cuda", 1, 2 * time.Second, 4}} {
		at = at.Add(c.after)
		if device, err := check(t.Context(), c.device, c.ranks); device != c.device || err == nil || asked != c.asked {
			t.Errorf("%+v: %s, %v, asked %d times", c, device, err, asked)
		}
	}
	gone, stop := context.WithCancel(t.Context())
	stop()
	if _, _ = check(gone, "cuda", 8); asked != 5 {
		t.Fatal("it was not asked")
	}
	if _, _ = check(t.Context(), "cuda", 8); asked != 6 {
		t.Error("what an ended context gave was kept")
	}
}

// What a sweep's points compute on is asked for before anything starts, and "auto" is settled for all of them.
func TestSweepOfTheScreenAsksForDevices(t *testing.T) {
	has := true
	check := func(_ context.Context, device string, ranks int) (string, error) {
		switch {
		case device == experiment.DeviceAuto && has:
			return experiment.DeviceCUDA, nil
		case device == experiment.DeviceAuto:
			return experiment.DeviceCPU, nil
		case device == experiment.DeviceCUDA && !has:
			return "", errors.New("device cuda cannot be had here; missing: driver: none")
		}
		return device, nil
	}
	ctx := t.Context()
	s := tui.NewSweepStoreOn(runner.NewStore(t.TempDir()), here, check)
	file := space.File{Spec: spec(t, "tp=1,2")}
	x, err := s.Expand(ctx, file.Spec)
	if err != nil || x.Device != experiment.DeviceCUDA {
		t.Fatalf("auto is %q, %v", x.Device, err)
	}
	id, _, err := s.Create(ctx, file, x, sweeps.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	if in, ok, err := s.Same(ctx, file.Spec); err != nil || !ok || in.ID != id {
		t.Errorf("the same space is not found again: %+v, %v", in, err)
	}
	has = false
	if _, err := s.Expand(ctx, spec(t, "device=cpu,cuda")); err == nil || !strings.Contains(err.Error(), "driver: none") {
		t.Errorf("a device that is not there: %v", err)
	}
	if err := s.Start(ctx, id); err == nil || !strings.Contains(err.Error(), "driver: none") {
		t.Errorf("it goes on without a device: %v", err)
	}
}

// Whoever waits for the answer that somebody else asks for waits no longer than its own time.
func TestWaitingForAnAnswerEnds(t *testing.T) {
	asked, answer := make(chan struct{}), make(chan struct{})
	check := tui.Remembered(func(context.Context, string, int) (string, error) {
		close(asked)
		<-answer
		return "cpu", nil
	}, time.Now)
	first := make(chan string, 1)
	go func() {
		device, _ := check(context.Background(), "auto", 1)
		first <- device
	}()
	<-asked
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if device, err := check(ctx, "auto", 1); !errors.Is(err, context.Canceled) || device != "" {
		t.Errorf("%q, %v", device, err)
	}
	close(answer)
	if device := <-first; device != "cpu" {
		t.Errorf("%q", device)
	}
	if device, err := check(t.Context(), "auto", 1); err != nil || device != "cpu" {
		t.Errorf("it was not remembered: %q, %v", device, err)
	}
}
