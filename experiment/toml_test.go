package experiment

import (
	"bytes"
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestTOMLGolden(t *testing.T) {
	for name, e := range map[string]Experiment{
		"default": Default(),
		"7b": mustResolve(t, "size=7b", "tp=4", "micro-batch=4", "name=seven \"b\" \\ billion", "tags=boost,7b", "clip=0", "weight-decay=0",
			"grouping=off", "lr=1", "data=/data/wiki"),
	} {
		path := "testdata/" + name + ".toml"
		got := e.TOML()
		if *update {
			if err := os.WriteFile(path, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s:\n%s\nwant\n%s", path, got, want)
		}
		if back, err := ParseTOML(want, path); err != nil || !reflect.DeepEqual(back, e) {
			t.Errorf("%s: %v\n%+v\n%+v", path, err, back, e)
		}
	}
}

func TestParseTOMLForms(t *testing.T) {
	for _, tc := range []struct{ in, key, want string }{
		{"model.size = '7b'", "size", "7b"},
		{"parallel = {tp = 4, sp = 'on'}", "tp", "4"},
		{"[train]\nlr = 1\n", "lr", "1"},
		{"[train]\nclip = 0\n", "clip", "0"},
		{"[step]\nmicro-batch = 'auto'\n", "micro-batch", ""},
		{"[step]\ngrouping = 'off'\n", "grouping", "off"},
		{"[model]\nkeep-silu = false\n", "keep-silu", "off"},
		{"tags = ['a', 'b c']", "tags", "a,b c"},
		{"", "size", "tiny"},
	} {
		e, err := ParseTOML([]byte(tc.in), "x.toml")
		if err != nil || e.Get(tc.key) != tc.want {
			t.Errorf("%q: %s is %q, want %q (%v)", tc.in, tc.key, e.Get(tc.key), tc.want, err)
		}
	}
}

func TestParseTOMLErrors(t *testing.T) {
	for _, tc := range []struct {
		in   string
		want []string
	}{
		{"[model]\nsize = '7b'\nvarient = 'svd'\n", []string{`x.toml:3: key "varient" is unknown in section [model]; nearest: variant`}},
		{"[step]\n\ntp = 2\n", []string{`x.toml:3: key "tp" belongs to section [parallel]`}},
		{"tp = 2\n", []string{`x.toml:1: key "tp" belongs to section [parallel]`}},
		{"[model]\nname = 'a'\n", []string{`x.toml:2: key "name" belongs to the top`}},
		{"[modle]\nsize = '7b'\n", []string{`x.toml:1: section [modle] is unknown; nearest: [model]`}},
		{"speed = 1\n", []string{`x.toml:1: key "speed" is unknown; nearest: seed`}},
		{"[parallel]\ntp = '2'\nzero = 1.5\nsp = 1\n", []string{"x.toml:2: tp: is a string, want a whole number", "x.toml:3: zero: is a number with a fraction", "x.toml:4: sp: is a whole number, want true or false"}},
		{"[model]\nsize = 7\n", []string{"x.toml:2: size: is a whole number, want a string"}},
		{"[model]\nsize = '8b'\n", []string{`x.toml:2: size: "8b" is unknown; allowed: tiny, 60m`}},
		{"[train]\nlr = nan\ntime = 1979-05-27\n", []string{"x.toml:2: lr:", "x.toml:3: key \"time\" belongs to section [where]"}},
		{"tags = [1]", []string{"x.toml:1: tags: every word must be a string"}},
		{"[step]\nseq = [1]", []string{"x.toml:2: seq: is a list"}},
		{"[[model]]\nsize='7b'", []string{"x.toml:1:"}},
		{"model = 3", []string{"x.toml:1:"}},
		{"[model\n", []string{"x.toml:2:"}},
		{"a = 1\na = 2\n", []string{"x.toml:2:"}},
	} {
		_, err := ParseTOML([]byte(tc.in), "x.toml")
		if err == nil {
			t.Errorf("%q: no error", tc.in)
			continue
		}
		lines := strings.Split(err.Error(), "\n")
		if len(lines) != len(tc.want) {
			t.Errorf("%q: %d errors, want %d: %v", tc.in, len(lines), len(tc.want), err)
		}
		for _, w := range tc.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%q: %v\nlacks %q", tc.in, err, w)
			}
		}
	}
}

// What parses is written back as a file that parses to the same value; nothing panics.
func FuzzParseTOML(f *testing.F) {
	f.Add(Default().TOML())
	f.Add(mustResolve(f, "size=40b", "tags=x,y", "name=ünï").TOML())
	f.Add([]byte("[model]\nsize = 7\n[step]\nsp = 1"))
	f.Add([]byte("model.size = '7b'\n[train]\nlr=1_0.5e-3"))
	for _, text := range hostile() {
		f.Add([]byte(text[:min(len(text), 4<<10)]))
	}
	f.Add([]byte(strings.Repeat("x.", 60_000) + "x = 1"))
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := ParseTOML(data, "f.toml")
		if err != nil {
			return
		}
		back, err := ParseTOML(e.TOML(), "g.toml")
		if err != nil || !reflect.DeepEqual(e, back) {
			t.Fatalf("%v\n%s\n%+v\n%+v", err, e.TOML(), e, back)
		}
		r, err := e.Resolve()
		if err != nil {
			t.Fatal(err)
		}
		r.Validate(Machine{})
	})
}

// What Set takes, Get gives in a form that Set takes again; what it refuses changes nothing.
func FuzzSet(f *testing.F) {
	f.Add(uint(2), "7b")
	f.Add(uint(20), "4")
	f.Add(uint(40), "0x1p-3")
	f.Add(uint(1), "a, b,,c")
	f.Fuzz(func(t *testing.T, n uint, value string) {
		k := Keys()[n%uint(len(Keys()))]
		e := Default()
		if err := e.Set(k.Name, value); err != nil {
			if !reflect.DeepEqual(e, Default()) {
				t.Fatalf("refused %q and changed: %v", value, err)
			}
			return
		}
		again := Default()
		if err := again.Set(k.Name, e.Get(k.Name)); err != nil || !reflect.DeepEqual(again, e) {
			t.Fatalf("%s %q: %v\n%+v\n%+v", k.Name, value, err, again, e)
		}
	})
}

// What a file says counts as said, also where it is the default.
func TestNames(t *testing.T) {
	for _, c := range []struct {
		text, key string
		want      bool
	}{
		{"[step]\ndevice = \"auto\"\n", "device", true}, {"[step]\nseq = 1\n", "device", false}, {"name = \"x\"\n", "name", true},
		{"", "name", false}, {"[step\n", "device", false}, {"[step]\nnone = 1\n", "none", false},
	} {
		if got := Names([]byte(c.text), c.key); got != c.want {
			t.Errorf("%q: %s is named: %v", c.text, c.key, got)
		}
	}
}
