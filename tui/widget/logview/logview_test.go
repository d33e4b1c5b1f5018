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
