package space

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

const wholeFile = `name = "rank and scheme"
repeats = 2
twins = true
order = "cheapest"
at-once = 2
max-time = "2h30m"
max-device-hours = 20
max-failures = 0
retries = 3
stop-diverged = false
stop-slower = true
constraints = [
  "rank * 4 <= d",
  'scheme != "vanilla" or tp > 1',
]

[set]
size = "tiny"
lr = 1e-3
grouping = true
"weight-decay" = 0

[axes]
tp = [1, 2]
variant = ["cola", "full"]
rank = "16..64*2"

[[axis]]
keys = ["d", "ff"]
values = [[128, 352], [256, 704]]

[[axis]]
keys = "norm"
values = "online,sync"
when = 'scheme == "btp"'
`

func TestParseTOML(t *testing.T) {
	f, err := ParseTOML([]byte(wholeFile), "x.toml")
	if err != nil {
		t.Fatal(err)
	}
	want := File{Spec: Spec{
		Name: "rank and scheme", Repeats: 2, Twins: true, Constraints: []string{"rank * 4 <= d", `scheme != "vanilla" or tp > 1`},
		Set: []Assign{{"size", "tiny"}, {"lr", "0.001"}, {"grouping", "on"}, {"weight-decay", "0"}},
		Axes: []Axis{
			{Keys: []string{"tp"}, Values: [][]string{{"1"}, {"2"}}},
			{Keys: []string{"variant"}, Values: [][]string{{"cola"}, {"full"}}},
			{Keys: []string{"rank"}, Values: [][]string{{"16"}, {"32"}, {"64"}}, Text: "16..64*2"},
			{Keys: []string{"d", "ff"}, Values: [][]string{{"128", "352"}, {"256", "704"}}},
			{Keys: []string{"norm"}, Values: [][]string{{"online"}, {"sync"}}, When: `scheme == "btp"`},
		},
	}, Options: FileOptions{Order: ptr("cheapest"), AtOnce: ptr(2), MaxTime: ptr(150 * time.Minute), MaxDeviceHours: ptr(20.0), MaxFailures: ptr(0), Retries: ptr(3),
		StopDiverged: ptr(false), StopSlower: ptr(true)}}
	if !reflect.DeepEqual(f, want) {
		t.Errorf("%+v\nwant %+v", f, want)
	}
	golden(t, "whole.toml", f.TOML())
	again, err := ParseTOML(f.TOML(), "again.toml")
	if err != nil || !reflect.DeepEqual(again, f) {
		t.Errorf("written and read back: %v\n%s", err, f.TOML())
	}
	if f, err = ParseTOML(nil, "empty.toml"); err != nil || !reflect.DeepEqual(f, File{}) {
		t.Errorf("%+v, %v", f, err)
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || string(want) != string(got) {
		t.Errorf("%s differs (%v), got\n%s", path, err, got)
	}
}

// Everything that is wrong is said at once, each with its line.
func TestMalformedFiles(t *testing.T) {
	_, err := ParseTOML([]byte(`name = 3
repeat = 2
rank = 32
order = "fastest"
at-once = 0
max-time = "2 hours"
max-device-hours = -1
retries = 1.5
twins = "yes"
constraints = ["rank <= dd", "rank", 3]
[set]
sizes = "tiny"
tp = "two"
tags = "a"
[axes]
tq = [1, 2]
tp = []
lr = 0.1
rank = "32..16"
scheme = ["btp", "bpt"]
[[axis]]
keys = ["d", "ff"]
values = [[1, 2], [3]]
[[axis]]
values = [1]
[[axis]]
keys = ["heads"]
values = [1]
when = "heads >"
if = "tp > 1"
`), "bad.toml")
	if err == nil {
		t.Fatal("no error")
	}
	golden(t, "malformed.txt", []byte(err.Error()+"\n"))
}

func TestMalformedFilesOneByOne(t *testing.T) {
	for text, want := range map[string]string{
		"tp = ":                      "bad.toml:1: ",
		"axes = 3":                   "bad.toml:1: axes: must be a table [axes]",
		"set = [1]":                  "set: must be a table [set]",
		"axis = 3":                   "axis: must be tables [[axis]]",
		"axis = [3]":                 "axis: must be tables [[axis]]",
		"[axis]\nkeys = [\"tp\"]":    "axis: must be tables [[axis]]",
		"constraints = \"rank > 3\"": "constraints: must be a list of strings",
		"[axes]\ntp = [[1, 2]]":      "tp: an entry has 2 values for 1 keys",
		"[[axis]]\nkeys = [3]":       "keys: must be strings",
		"[[axis]]\nkeys = [\"tp\"]":  "[[axis]] of tp: values are missing",
		"[axes]\nseed = [1, 2]\nrank = [3]\n[set]\n":                        "",
		"repeats = 2\n[axes]\nseed = [1, 2]":                                "bad.toml: seed is an axis and repeats give every point seeds of its own",
		"[axes]\ntp=[1]\n[[axis]]\nkeys=[\"tp\"]\nvalues=[2]":               "bad.toml: key tp is on two axes",
		"name = \"" + strings.Repeat("x", 65) + "\"":                        "name: has more than 64 characters",
		"name = \"a\\u0007b\"":                                              "name: \"a\\ab\" holds control characters",
		"[axes]\ndata = [\"" + strings.Repeat("x", 5000) + "\"]":            "data: has more than 4096 bytes",
		"x = \"" + strings.Repeat("x", 1<<20) + "\"":                        "are too many for a sweep's file",
		strings.Repeat("a.", 20) + "a = 1":                                  "a key with more than 8 parts",
		"[axes]\ntp = " + strings.Repeat("[", 50) + strings.Repeat("]", 50): "nested more than 8 deep",
		strings.Repeat("[[axis]]\n", 2000):                                  "more than 512 keys and sections",
	} {
		_, err := ParseTOML([]byte(text), "bad.toml")
		if want == "" && err == nil {
			continue
		}
		if err == nil || want == "" || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80q: %v\nwant %s", text, err, want)
		}
	}
}

// Values that TOML has no word for are strings there, and [[axis]] keeps the order of axes.
func TestTOMLRoundTrips(t *testing.T) {
	for _, axes := range [][]string{
		{"rank=auto,32", "tp=1,2"}, {"d,ff=512:1376", "tp=1"}, {"tp=1,2 if sp", "rank=3"}, {"rank=1 if tp==1", "rank=2 if tp==2"}, {"lr=1e-4..1e-2/3log", "sp=on,off", "keep-silu=auto,on"},
		{"data=a b,\"q\\", "beta1=0", "seed=1..3"}, nil,
	} {
		f := File{Spec: spec(t, axes, "keep-silu=off", "rank=auto", "tags=a,b", "data=x\"y")}
		once, err := ParseTOML(f.TOML(), "x.toml")
		if err != nil {
			t.Errorf("%s: %v\n%s", axes, err, f.TOML())
			continue
		}
		twice, err := ParseTOML(once.TOML(), "x.toml")
		if err != nil || !reflect.DeepEqual(once, twice) || once.Key() != f.Key() {
			t.Errorf("%s: %v\n%s\n%s", axes, err, f.TOML(), once.TOML())
		}
	}
}

func FuzzParseTOML(f *testing.F) {
	f.Add([]byte(wholeFile))
	for _, s := range []string{"", "name = 'x'", "[axes]\ntp = '1..4'", "[[axis]]\nkeys=['d','ff']\nvalues='1:2'", "axes = {tp = [1]}", "axes.tp = [1]\naxes.rank = '1'", "constraints=['rank>3']",
		"axis = [{keys='tp', values=[1], when='sp'}]", "[set]\ntags=['a']\nrank='auto'", "max-time='1h'\nretries=1"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := ParseTOML(data, "x.toml")
		if err != nil {
			if len(err.Error()) > 100<<10 {
				t.Fatalf("%d bytes of error", len(err.Error()))
			}
			return
		}
		again, err := ParseTOML(file.TOML(), "again.toml")
		if err != nil || !reflect.DeepEqual(file, again) {
			t.Fatalf("%v\n%+v\n%+v\n%s", err, file, again, file.TOML())
		}
	})
}
