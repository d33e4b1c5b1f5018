package record

import (
	"encoding/json"
	"errors"
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
	lost := Evaluation{30, math.NaN(), 4096, 0.5}
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
	dir = t.TempDir()
	if w, err = OpenWriter(EventsPath(dir)); err == nil {
		err = errors.Join(w.Event(lost.Event(time.Now())), w.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Evaluations(dir); err != nil || len(got) != 1 || got[0].Step != 30 || !math.IsNaN(got[0].Loss) {
		t.Errorf("a loss that is not finite: %v, %v", got, err)
	}
	if text, err := json.Marshal(struct{ Evaluation }{lost}); err != nil || string(text) != `{"loss":null,"perplexity":null,"seconds":0.5,"step":30,"tokens":4096}` {
		t.Errorf("%s, %v", text, err)
	}
	if p := want[0].Perplexity(); math.Abs(p-12.182) > 1e-3 {
		t.Errorf("perplexity %v", p)
	}
}
