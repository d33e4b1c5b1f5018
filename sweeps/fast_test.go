package sweeps

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
)

// sameAsJSON says whether the fast way decodes a line, and fails where it does so in a way of its own.
func sameAsJSON(t testing.TB, data []byte) bool {
	var fast, slow line
	if !fastLine(data, &fast) {
		return false
	}
	if err := json.Unmarshal(data, &slow); err != nil || !reflect.DeepEqual(fast, slow) {
		t.Errorf("%q: %+v, encoding/json: %+v, %v", data, fast, slow, err)
	}
	return true
}

func TestFastLines(t *testing.T) {
	for text, want := range map[string]bool{
		`{"t":1,"k":"begin","epoch":1,"point":"a","attempt":1}`:                 true,
		`{"t":9223372036854775807,"k":"run","point":"a","attempt":1,"run":"b"}`: true,
		`{"t":1,"k":"end","seconds":1.5e-3,"machine":true,"again":true}`:        true,
		`{"t":1,"k":"end","cause":"a,b}c","state":"","rule":"r","ended":0}`:     true,
		`{"t":1,"t":2,"k":"end"}`:                    true,
		`{"t":9223372036854775808,"k":"end"}`:        false,
		`{"t":99999999999999999999,"k":"end"}`:       false,
		`{"t":01,"k":"end"}`:                         false,
		`{"t":-1,"k":"end"}`:                         false,
		`{"t":1,"k":"end","seconds":1.}`:             false,
		`{"t":1,"k":"end","seconds":1e999}`:          false,
		`{"t":1,"k":"end","seconds":}`:               false,
		`{"t":1,"k":"end","machine":false}`:          false,
		`{"t":1,"k":"end","cause":"a\nb"}`:           false,
		`{"t":1,"k":"end","cause":"` + "\xff" + `"}`: false,
		`{"t":1,"k":"end","schema":2}`:               false,
		`{"t":1,"k":"pause"}`:                        false,
		`{"T":1,"k":"end"}`:                          false,
		`{"t":1,"k":"end"}x`:                         false,
		`{"t":1,"k":"end",}`:                         false,
		`{"t":1,"k":"end"`:                           false,
		`{"t":1,"k"`:                                 false,
		`{}`:                                         false,
		``:                                           false,
		`[1]`:                                        false,
		`{"t":1 ,"k":"end"}`:                         false,
		`{"t":1,"k":"end","point":"a"`:               false,
		`{"t":1,"k":"end","point":"a""run":"b"}`:     false,
	} {
		if got := sameAsJSON(t, []byte(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
	h := newHistory(0)
	for range 60 {
		h.grow(t)
	}
	fast := 0
	for one := range bytes.Lines(h.data) {
		if sameAsJSON(t, bytes.TrimSpace(one)) {
			fast++
		}
	}
	if fast < 20 {
		t.Errorf("%d of 60 lines", fast)
	}
}

func FuzzFastLine(f *testing.F) {
	f.Add([]byte(`{"t":1,"k":"begin","epoch":1,"point":"a","attempt":1}`))
	f.Add([]byte(`{"t":1,"k":"end","point":"a","attempt":1,"run":"b","state":"s","cause":"c","machine":true,"again":true,"rule":"r","seconds":1.5,"ended":2}`))
	f.Fuzz(func(t *testing.T, data []byte) { sameAsJSON(t, data) })
}
