package experiment

import (
	"reflect"
	"strings"
	"testing"
)

func TestParseData(t *testing.T) {
	for _, c := range []struct {
		text string
		want []DataPart
	}{
		{"embedded", []DataPart{{"embedded", 1}}},
		{"/a/b.bin", []DataPart{{"/a/b.bin", 1}}},
		{"a.bin:0.7,b.bin:0.3", []DataPart{{"a.bin", 0.7}, {"b.bin", 0.3}}},
		{"a.bin,b:c:2", []DataPart{{"a.bin", 1}, {"b:c", 2}}},
		{`a\,b.txt,c\:3:4,d\\e`, []DataPart{{"a,b.txt", 1}, {"c:3", 4}, {`d\e`, 1}}},
		{"C:text", []DataPart{{"C:text", 1}}},
	} {
		got, err := ParseData(c.text)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q: %v, %v", c.text, got, err)
		}
		if again, err := ParseData(FormatData(got)); err != nil || !reflect.DeepEqual(again, got) {
			t.Errorf("%q: again %v, %v", c.text, again, err)
		}
	}
	for _, text := range []string{"", "a,,b", "a:0", "a:-1", "a:Inf", "a:NaN", ":3"} {
		if got, err := ParseData(text); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
	if got, err := AbsoluteData("/x/a.bin:2,embedded"); err != nil || got != "/x/a.bin:2,embedded" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := AbsoluteData("a,b:2"); err != nil || strings.Count(got, "/experiment/") != 2 || !strings.HasSuffix(got, "/b:2") {
		t.Errorf("%q, %v", got, err)
	}
}

func FuzzParseData(f *testing.F) {
	f.Add(`a\,b:2,c`)
	f.Fuzz(func(t *testing.T, text string) {
		parts, err := ParseData(text)
		if err != nil {
			return
		}
		if again, err := ParseData(FormatData(parts)); err != nil || !reflect.DeepEqual(again, parts) {
			t.Fatalf("%q is %v, and %q %v, %v", text, parts, FormatData(parts), again, err)
		}
	})
}
