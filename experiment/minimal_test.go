package experiment

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"testing"
)

func TestMinimal(t *testing.T) {
	for _, tc := range []struct{ set, want []string }{
		{nil, nil},
		{[]string{"size=60m"}, []string{"size"}},
		{[]string{"variant=full"}, []string{"variant"}},
		{[]string{"scheme=vanilla", "tp=2"}, []string{"scheme", "tp"}},
		{[]string{"rank=16"}, []string{"rank"}},
		{[]string{"rank=16", "rank-mlp=8"}, []string{"rank", "rank-mlp"}},
		{[]string{"rank-attn=16"}, []string{"rank-attn"}},
		{[]string{"d=256", "layers=2"}, []string{"d", "layers"}},
		{[]string{"d=128", "rank=32", "rank-attn=32", "micro-batch=8", "keep-silu=on", "device=cpu", "dtype=fp32"}, nil},
		{[]string{"size=7b", "keep-silu=on", "dtype=bf16"}, []string{"size", "keep-silu", "dtype"}},
	} {
		resolved := mustResolve(t, tc.set...)
		if got := resolved.Minimal().Given(); !slices.Equal(got, tc.want) {
			t.Errorf("%v: gives %v, want %v", tc.set, got, tc.want)
		}
	}
	unknown := Default()
	unknown.Model.Size = "5b"
	if got := unknown.Minimal(); !reflect.DeepEqual(got, unknown) {
		t.Errorf("an experiment that does not resolve was changed: %+v", got)
	}
}

// Another size after an earlier run of tiny is that size, not tiny under its name.
func TestMinimalFollowsTheSize(t *testing.T) {
	e := mustResolve(t, "tp=2").Minimal()
	if err := e.Set("size", "60m"); err != nil {
		t.Fatal(err)
	}
	got, err := e.Resolve()
	if want := mustResolve(t, "size=60m", "tp=2"); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v\nwant %+v", got, err, want)
	}
}

// Whatever is set: the minimal form resolves to the same, gives nothing that could go, and is a fixed point.
func TestMinimalResolvesToTheSame(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 400 {
		e := Default()
		for range random.IntN(9) {
			k := keys[random.IntN(len(keys))]
			value := "w" + strconv.Itoa(random.IntN(3))
			switch k.Kind {
			case Choice:
				value = k.Choices[random.IntN(len(k.Choices))]
			case Int, Float:
				value = strconv.Itoa(1 << random.IntN(9))
			case Switch:
				value = onOff(random.IntN(2) == 0)
			}
			if k.Name == "link" {
				value = "latency=" + value[1:] + "us"
			}
			if err := e.Set(k.Name, value); err != nil {
				t.Fatal(err)
			}
		}
		want, err := e.Resolve()
		if err != nil {
			t.Fatal(err)
		}
		for _, from := range []Experiment{e, want} {
			small := from.Minimal()
			if got, err := small.Resolve(); err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("%v: minimal %v resolves to\n%+v, want\n%+v (%v)", e.Given(), small.Given(), got, want, err)
			}
			if again := small.Minimal(); !reflect.DeepEqual(again, small) {
				t.Fatalf("%v: %v shrinks again to %v", e.Given(), small.Given(), again.Given())
			}
		}
	}
}

func TestFlags(t *testing.T) {
	got := mustResolve(t, "size=60m", "tp=2", "data=/a b").Flags()
	if want := []string{"--size", "60m", "--tp", "2", "--data", "/a b"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
