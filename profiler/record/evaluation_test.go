package record

import (
	"math"
	"os"
	"reflect"
	"testing"
	"time"
)

func TestEvaluations(t *testing.T) {
	dir := t.TempDir()
	if got, err := Evaluations(dir); got != nil || err != nil {
		t.Errorf("without events: %v, %v", got, err)
	}
	w, err := OpenWriter(EventsPath(dir))
	if err != nil {
		t.Fatal(err)
	}
	want := []Evaluation{{10, 2.5, 4096, 0.25}, {20, 2.25, 4096, 0.5}}
	for _, v := range want {
		if err := w.Event(&EventLine{Kind: EventNote, Code: "x"}); err != nil {
			t.Fatal(err)
		}
		if err := w.Event(v.Event(time.Now())); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(EventsPath(dir), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("{\"t\":\"eval\",\"data\":{"); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if got, err := Evaluations(dir); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	if p := want[0].Perplexity(); math.Abs(p-12.182) > 1e-3 {
		t.Errorf("perplexity %v", p)
	}
}
