package logview_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"boost-tui/tui/theme"
	"boost-tui/tui/widget/logview"

	"github.com/muesli/termenv"
)

var plain = theme.New(theme.Options{Dark: true, Profile: termenv.Ascii, Plain: true})

func filled(n int) *logview.View {
	v := &logview.View{}
	for i := range n {
		text := fmt.Sprint("line ", i)
		if i%10 == 3 {
			text = fmt.Sprint("an error in ", i)
		}
		v.Append(text)
	}
	v.Draw(plain, 40, 5)
	return v
}

func TestFollowsUntilScrolled(t *testing.T) {
	v := filled(50)
	if got := v.Draw(plain, 40, 5); !strings.Contains(got, "line 49") {
		t.Fatalf("does not follow:\n%s", got)
	}
	v.Scroll(-10)
	before := v.Draw(plain, 40, 5)
	v.Append("line 50", "line 51")
	if got := v.Draw(plain, 40, 5); got != before {
		t.Errorf("new lines moved what is read:\n%s\n%s", before, got)
	}
	v.Scroll(1 << 30)
	if got := v.Draw(plain, 40, 5); !v.Following() || !strings.Contains(got, "line 51") {
		t.Errorf("the end does not follow again:\n%s", got)
	}
}

func TestErrorsAndSearch(t *testing.T) {
	v := filled(50)
	v.ToggleErrors()
	if got := v.Draw(plain, 40, 5); strings.Contains(got, "line") || !strings.Contains(got, "error in 43") {
		t.Errorf("errors only:\n%s", got)
	}
	v.ToggleErrors()
	v.Search("LINE 7")
	if !v.Next(false) || !strings.Contains(v.Draw(plain, 40, 5), "line 7") {
		t.Errorf("the search found nothing:\n%s", v.Draw(plain, 40, 5))
	}
}

func TestWrapKeepsEveryCharacter(t *testing.T) {
	v := &logview.View{}
	v.ToggleWrap()
	v.Append(strings.Repeat("abcdefg", 20))
	got := strings.Join(strings.Fields(v.Draw(plain, 31, 10)), "")
	if got != strings.Repeat("abcdefg", 20) {
		t.Errorf("wrapped into %q", got)
	}
}

// P17: a chatty log costs what is visible, and memory stays bounded.
func TestChattyLog(t *testing.T) {
	v := &logview.View{}
	start := time.Now()
	for range 200 {
		batch := make([]string, 1000)
		for i := range batch {
			batch[i] = "step 145 loss 4.312 tok/s 81402 step_ms 201.1"
		}
		v.Append(batch...)
		v.Draw(plain, 100, 30)
	}
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("200 000 lines took %v", d)
	}
	if v.Len() != 200_000 {
		t.Errorf("%d lines counted", v.Len())
	}
}

func TestSearchCountsAndMarksWhereItStands(t *testing.T) {
	v := filled(50)
	v.Search("error")
	if got := v.State(); got != "/error 5 lines follow" {
		t.Errorf("state %q", got)
	}
	for _, want := range []string{"5 of 5", "4 of 5", "3 of 5"} {
		if v.Next(false); !strings.Contains(v.State(), want) {
			t.Errorf("state %q, want %s", v.State(), want)
		}
	}
	frame := v.Draw(plain, 40, 20)
	if strings.Count(frame, "▸an error in 23") != 1 || strings.Count(frame, "▸") != 1 || !strings.Contains(frame, "·an error in 13") {
		t.Errorf("the match is not marked:\n%s", frame)
	}
	v.Next(true)
	v.Next(true)
	if v.Next(true); !strings.Contains(v.State(), "1 of 5") {
		t.Errorf("no way round: %q", v.State())
	}
	v.Append(make([]string, logview.Limit-5)...)
	if at, all := v.Matches(); at != 0 || all != 0 {
		t.Errorf("%d of %d matches in lines that are gone", at, all)
	}
	if v.Search(""); v.Searching() || strings.ContainsAny(v.Draw(plain, 40, 20), "▸·") {
		t.Error("the search goes on")
	}
	empty := &logview.View{}
	empty.Append("fine")
	if empty.ToggleErrors(); !strings.Contains(empty.Draw(plain, 60, 5), "no line looks like an error") {
		t.Errorf("an empty frame says nothing: %q", empty.Draw(plain, 60, 5))
	}
}

// A match stays in sight while lines are added.
func TestAMatchHoldsTheView(t *testing.T) {
	v := filled(50)
	v.Search("line 49")
	v.Next(false)
	before := v.Draw(plain, 40, 5)
	v.Append("line 50", "line 51")
	if got := v.Draw(plain, 40, 5); got != before || v.Following() {
		t.Errorf("the match is gone:\n%s", got)
	}
	v.Search("")
	if v.Scroll(100); !v.Following() {
		t.Error("it does not follow again")
	}
}
