package space

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestParseAxis(t *testing.T) {
	for _, tc := range []struct {
		text, want string // values, joined
	}{
		{"tp=1,2,4", "1 2 4"},
		{" tp = 1 , 2 ", "1 2"},
		{"tp=4", "4"},
		{"tp=0,-3", "0 -3"}, // out of range is for Validate
		{"tp=1..4", "1 2 3 4"},
		{"tp=3..3", "3"},
		{"rank=32..256*2", "32 64 128 256"},
		{"rank=32..300*2", "32 64 128 256"},
		{"rank=8..30*1.5", "8 12 18 27"},
		{"rank=1..4*1.1", "1 2 3 4"}, // rounded, equal ones once
		{"rank=32..128+32", "32 64 96 128"},
		{"rank=32..120+32", "32 64 96"},
		{"rank=16..64/4", "16 32 48 64"},
		{"rank=1..3/9", "1 2 3"},
		{"rank=auto,32..64*2,100", "auto 32 64 100"},
		{"seed=9007199254740990..9007199254740992", "9007199254740990 9007199254740991 9007199254740992"},
		{"lr=1e-4..1e-2/5log", "0.0001 0.000316227766017 0.001 0.00316227766017 0.01"},
		{"lr=1e-4..1e-2/3log", "0.0001 0.001 0.01"},
		{"lr=0.1..0.5+0.1", "0.1 0.2 0.3 0.4 0.5"},
		{"lr=1e-4..1e-1*10", "0.0001 0.001 0.01 0.1"},
		{"lr=1e+0..1e+1+4.5", "1 5.5 10"},
		{"lr=0..1/3", "0 0.5 1"},
		{"lr=0.123456789012345..0.5/2", "0.123456789012345 0.5"},
		{"lr=1e-3,0.01", "0.001 0.01"},
		{"clip=-1..1", "-1 0 1"},
		{"data=../a..b.txt,embedded", "../a..b.txt embedded"}, // not a number's key: no range
		{"sp=on,off", "on off"},
		{"d,ff=512:1376,768:2048", "512:1376 768:2048"},
		{"size=tiny,60m", "tiny 60m"},
	} {
		a, err := ParseAxis(tc.text)
		if err != nil {
			t.Errorf("%s: %v", tc.text, err)
			continue
		}
		var got []string
		for _, v := range a.Values {
			got = append(got, strings.Join(v, ":"))
		}
		if s := strings.Join(got, " "); s != tc.want {
			t.Errorf("%s: %s, want %s", tc.text, s, tc.want)
		}
		if again, err := ParseAxis(a.String()); err != nil || !reflect.DeepEqual(again, a) {
			t.Errorf("%s: written as %s and read back as %+v: %v", tc.text, a, again, err)
		}
	}
}

func TestParseAxisWithACondition(t *testing.T) {
	a, err := ParseAxis(`rank=32,64 if variant != "full"`)
	want := Axis{Keys: []string{"rank"}, Values: [][]string{{"32"}, {"64"}}, When: `variant != "full"`}
	if err != nil || !reflect.DeepEqual(a, want) {
		t.Errorf("%+v, %v", a, err)
	}
	if a, err = ParseAxis("rank=8..32*2 if tp > 1"); err != nil || a.Text != "8..32*2" || len(a.Values) != 3 {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestMalformedAxes(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"", `axis "": write a key, = and its values, as in tp=1,2`},
		{"tp", `axis "tp": write a key`},
		{"=1,2", `write a key`},
		{"tp=", `a value of tp is missing`},
		{"tp=1,,2", `a value of tp is missing; allowed: a whole number from 1 to 4096`},
		{"tp=1,2,", `a value of tp is missing`},
		{"tp=one", `tp: "one" is not a whole number`},
		{"tp=1.5", `is not a whole number`},
		{"tq=1,2", `key "tq" is unknown; nearest: tp`},
		{"schema=btp", `key "schema" is unknown; nearest: scheme`},
		{"scheme=bpt", `scheme: "bpt" is unknown; allowed: btp, vanilla or full-rank`},
		{"name=a,b", "name is no axis: what runs is the same under any name"},
		{"tags=a", "tags is no axis"},
		{"tp,tp=1:2", "key tp stands there twice"},
		{"tp,=1:2", "a key is missing"},
		{"d,ff=512,768", `"512" has 1 values for 2 keys`},
		{"d,ff=512:1:2", `has 3 values for 2 keys`},
		{"d,ff=512:x", `ff: "x" is not a whole number`},
		{"tp=4..1", `range "4..1" of tp: it starts above its end; ranges are lo..hi`},
		{"tp=1..", `its end "" is no whole number`},
		{"tp=..4", `its start "" is no whole number`},
		{"tp=1...4", `its end ".4" is no whole number`},
		{"tp=1..4+0", "its step \"0\" is no whole number above 0"},
		{"tp=1..4+0.5", "its step \"0.5\" is no whole number above 0"},
		{"tp=1..4*1", "its factor \"1\" is no number above 1"},
		{"tp=1..4*x", "its factor \"x\" is no number above 1"},
		{"tp=0..4*2", "a range by factors starts above 0"},
		{"lr=0..1/3log", "a range by factors starts above 0"},
		{"lr=1..2/1", `"1" is no count of values of at least 2`},
		{"lr=1..2/xlog", `"x" is no count of values of at least 2`},
		{"lr=1..inf", `its end "inf" is no finite number`},
		{"lr=nan..1", `its start "nan" is no finite number`},
		{"tp=1..99999999999999999999", "is no whole number, or beyond 2^53"},
		{"seed=1..10000000", "10 000 000 values are more than the 200 000 points that a sweep may have"},
		{"lr=1..2/10000000log", "10 000 000 values are more"},
		{"lr=0..1e300", "1e+300 values are more"},
		{"lr=1e-300..1e300*1.0000000001", "values are more"},
		{"rank=32 if ", "nothing stands behind if"},
		{"rank=32 if tp >", "condition \"tp >\", column 4: unexpected token EOF"},
		{"tq=32 if tp >", "key \"tq\" is unknown; nearest: tp\ncondition \"tp >\""},
		{"data=a\x00b", "holds control characters"},
		{"tp=1\n2", "the values stand on one line"},
	} {
		began := time.Now()
		_, err := ParseAxis(tc.text)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q: %v\nwant %s", tc.text, err, tc.want)
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%q took %v", tc.text, took)
		}
	}
}

func FuzzParseAxis(f *testing.F) {
	for _, s := range []string{"tp=1,2", "rank=32..256*2", "lr=1e-4..1e-2/5log", "lr=0.1..0.5+0.1", "d,ff=512:1376,768:2048", "rank=32 if tp>1", "data=../x", "tp=1..4/2",
		"seed=1..9007199254740992", "clip=-1e308..1e308/3", "lr=1e-320..1/3log", "tags=a", "sp=on"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := ParseAxis(text)
		if err != nil {
			if len(err.Error()) > 2000 {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
			return
		}
		if len(a.Values) == 0 || len(a.Values) > MaxPoints {
			t.Fatalf("%d values", len(a.Values))
		}
		for _, v := range a.Values {
			for i, key := range a.Keys {
				k, err := axisKey(key)
				if err != nil {
					t.Fatal(err)
				}
				if again, err := written(k, v[i]); err != nil || again != v[i] {
					t.Fatalf("%q gave %q, which is written %q: %v", text, v[i], again, err)
				}
			}
		}
		again, err := ParseAxis(a.String())
		if err != nil || !reflect.DeepEqual(a, again) {
			t.Fatalf("%q: %+v is written as %q and read back as %+v: %v", text, a, a.String(), again, err)
		}
	})
}
