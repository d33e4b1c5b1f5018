package pack

import (
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"
)

type inner struct {
	Name string
	Nums []int
}

type everything struct {
	B   bool
	I   int
	I8  int8
	U   uint32
	F   float64
	F32 float32
	S   string
	T   time.Time
	Raw []byte
	P   *inner
	L   []inner
	M   map[string]float64
	In  inner
	Arr []string
}

func some(r *rand.Rand) everything {
	text := func() string { return strings.Repeat(string(rune('a'+r.IntN(1000))), r.IntN(5)) }
	e := everything{B: r.IntN(2) == 0, I: int(r.Uint64()), I8: int8(r.Uint64()), U: r.Uint32(), F: math.Float64frombits(r.Uint64()), F32: r.Float32(),
		S: text(), In: inner{text(), nil}}
	if math.IsNaN(e.F) { // DeepEqual finds no two equal
		e.F = math.Inf(-1)
	}
	if r.IntN(2) == 0 {
		e.T = time.Unix(r.Int64N(1<<40)-1<<39, r.Int64N(1e9)).UTC()
		e.Raw, e.Arr = []byte(text()), []string{}
		e.P = &inner{text(), []int{r.IntN(10), -r.IntN(1 << 40)}}
		e.L = []inner{{}, {text(), []int{}}}
		e.M = map[string]float64{text(): r.Float64(), text(): 0}
	}
	return e
}

func codecFor(t testing.TB) *Codec[everything] {
	c, err := New[everything]()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestRoundTrip(t *testing.T) {
	c, r := codecFor(t), rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		want := some(r)
		data := c.Append([]byte("before"), &want)[len("before"):]
		got := some(r) // what was there before must not shine through
		if err := c.Read(string(data), &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%v\n%+v\n%+v", err, got, want)
		}
		for n := range data { // a value that is cut off is none
			if err := c.Read(string(data[:n]), &got); err == nil {
				t.Fatalf("%d of %d bytes were read", n, len(data))
			}
		}
	}
}

func TestLayoutTellsTypesApart(t *testing.T) {
	seen := map[uint64]string{}
	add := func(name string, layout uint64) {
		if other, ok := seen[layout]; ok {
			t.Errorf("%s looks like %s", name, other)
		}
		seen[layout] = name
	}
	layout(t, add, "a", struct{ A, B int }{})
	layout(t, add, "other order", struct{ B, A int }{})
	layout(t, add, "other type", struct {
		A int
		B uint
	}{})
	layout(t, add, "nested", struct{ A struct{ B int } }{})
	layout(t, add, "pointer", struct{ A *struct{ B int } }{})
	layout(t, add, "slice", struct{ A []struct{ B int } }{})
	layout(t, add, "time", struct{ A time.Time }{})
	layout(t, add, "bytes", struct{ A []byte }{})
}

func layout[T any](t *testing.T, add func(string, uint64), name string, _ T) {
	c, err := New[T]()
	if err != nil {
		t.Fatal(err)
	}
	add(name, c.Layout())
}

type selfish struct{ Next *selfish }

func TestWhatCannotBePacked(t *testing.T) {
	for name, err := range map[string]error{
		"interface":  second(New[struct{ A any }]()),
		"unexported": second(New[struct{ a int }]()),
		"function":   second(New[func()]()),
		"map":        second(New[map[int]int]()),
		"itself":     second(New[selfish]()),
	} {
		if err == nil {
			t.Errorf("%s was packed", name)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func FuzzRead(f *testing.F) {
	c, r := codecFor(f), rand.New(rand.NewPCG(3, 4))
	for range 5 {
		e := some(r)
		f.Add(string(c.Append(nil, &e)))
	}
	f.Add("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")
	f.Fuzz(func(t *testing.T, data string) {
		var e everything
		if c.Read(data, &e) != nil {
			return
		}
		var again everything
		if err := c.Read(string(c.Append(nil, &e)), &again); err != nil {
			t.Errorf("what was read cannot be packed and read: %v", err)
		}
	})
}
