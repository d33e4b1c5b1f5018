package experiment

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func mustResolve(t testing.TB, set ...string) Experiment {
	t.Helper()
	e := Default()
	for _, kv := range set {
		k, v, _ := strings.Cut(kv, "=")
		if err := e.Set(k, v); err != nil {
			t.Fatal(err)
		}
	}
	r, err := e.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestResolve(t *testing.T) {
	for _, tc := range []struct{ set, want string }{
		{"", "size=tiny d=128 layers=4 heads=4 ff=352 vocab=256 rank=32 micro-batch=8 accumulate=1 seq=128 scheme=btp dtype=fp32 device=cpu keep-silu=on"},
		{"", "steps=100 warmup=20 lr=0.003 weight-decay=0.1 beta1=0.9 beta2=0.95 eps=1e-08 clip=1 seed=1 norm-eps=1e-06 rope-theta=10000 grouping=on norm=online"},
		{"weight-decay=0 clip=0 warmup=0 grouping=off lr=0 beta1=0", "weight-decay=0 clip=0 warmup=0 grouping=off lr=0 beta1=0"},
		{"size=130m", "d=768 rank=256 rank-attn=256 rank-mlp=256 keep-silu=on micro-batch=1 seq=4096 vocab=32000"},
		{"size=350m", "keep-silu=off rank=256"},
		{"size=350m variant=svd", "keep-silu=on scheme=btp"},
		{"size=1b", "ff=5472 rank=512"},
		{"size=3b", "d=3072 layers=28 heads=24 ff=8192"},
		{"size=40b", "d=8192 layers=48 heads=64 ff=22016 rank=2048"},
		{"size=7b d=2048", "d=2048 ff=11008 rank=512"},
		{"size=7b rank=100 rank-mlp=50", "rank=100 rank-attn=100 rank-mlp=50"},
		{"variant=full rank=8", "rank= rank-attn= rank-mlp= scheme=full-rank"},
		{"variant=relora", "scheme=full-rank rank=32 relora-every=500 relora-alpha=32 relora-keep-step=on restart-warmup=50 lax-gate= loro-every="},
		{"variant=relora relora-every=10 relora-keep-step=off", "restart-warmup=1 relora-keep-step=off"},
		{"variant=lax", "lax-gate=identity lax-base=svd keep-silu=on restart-warmup="},
		{"variant=lax lax-base=cola size=350m lax-gate=dense", "lax-gate=dense keep-silu=off"},
		{"variant=loro size=1b", "loro-every=200 loro-refresh=200 restart-warmup=5"},
		{"variant=loro loro-every=30", "loro-refresh=30"},
		{"variant=loro loro-every=3", "restart-warmup=3 loro-refresh=3"},
		{"variant=sltrain", "sltrain-delta=0.03 sltrain-alpha=32 relora-alpha="},
		{"variant=cola lax-gate=dense loro-every=9 sltrain-delta=0.5", "lax-gate= loro-every= sltrain-delta="},
		{"device=cuda", "dtype=bf16 device=cuda"},
		{"rank=auto seq=auto dtype=auto", "rank=32 seq=128 dtype=fp32"},
	} {
		e := mustResolve(t, strings.Fields(tc.set)...)
		for _, kv := range strings.Fields(tc.want) {
			k, v, _ := strings.Cut(kv, "=")
			if got := e.Get(k); got != v {
				t.Errorf("%q: %s is %q, want %q", tc.set, k, got, v)
			}
		}
		if again, err := e.Resolve(); err != nil || !reflect.DeepEqual(again, e) {
			t.Errorf("%q: resolving twice: %+v, %v", tc.set, again, err)
		}
	}
}

func TestResolveForPlan(t *testing.T) {
	e := Default()
	if r, err := e.ResolveForPlan(); err != nil || r.Step.DType != BF16 || r.Step.Device != DeviceAuto || Invalid(r.Validate(Machine{})) != nil {
		t.Errorf("no device: %+v, %v, %v", r.Step, err, r.Validate(Machine{}))
	}
	e.Step.Device = DeviceCPU
	if r, err := e.ResolveForPlan(); err != nil || r.Step.DType != FP32 {
		t.Errorf("cpu: %+v, %v", r.Step, err)
	}
	e.Model.Size = "9b"
	if _, err := e.ResolveForPlan(); err == nil || !strings.Contains(err.Error(), "nearest: ") {
		t.Errorf("unknown size: %v", err)
	}
}

// The registry, the JSON tags and the TOML sections name the same values.
func TestRegistryMatchesJSON(t *testing.T) {
	raw, err := json.Marshal(mustResolve(t))
	if err != nil {
		t.Fatal(err)
	}
	var top map[string]any
	if err := json.Unmarshal(raw, &top); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, k := range Keys() {
		in := top
		if k.Section != "" {
			in = top[k.Section].(map[string]any)
		}
		if _, ok := in[k.Name]; !ok {
			t.Errorf("key %s is not in section %q of the JSON", k.Name, k.Section)
		}
	}
	for _, v := range top {
		if m, ok := v.(map[string]any); ok {
			n += len(m)
		} else {
			n++
		}
	}
	if n != len(Keys()) {
		t.Errorf("JSON holds %d values, the registry %d", n, len(Keys()))
	}
}

func TestJSONRoundTrip(t *testing.T) {
	e := mustResolve(t, "size=130m", "tags=a,b", "seed=4611686018427387904", "clip=0")
	raw, _ := json.Marshal(e)
	var back Experiment
	if err := json.Unmarshal(raw, &back); err != nil || !reflect.DeepEqual(e, back) {
		t.Fatalf("%v\n%+v\n%+v", err, e, back)
	}
}

func TestSetErrors(t *testing.T) {
	for _, tc := range []struct{ key, value, want string }{
		{"micro-batch", "x", "whole number"},
		{"micro_batch", "1", "nearest: micro-batch"},
		{"scheme", "megatron", "btp, vanilla or full-rank"},
		{"variant", "Full", "cola, full, svd"},
		{"grouping", "maybe", "on or off"},
		{"lr", "NaN", "finite"},
		{"lr", "1e999", "finite"},
		{"steps", "1.5", "whole number"},
		{"data", "a\x1b[2J", "control characters"},
		{"size", "8b", "tiny, 60m"},
	} {
		e := Default()
		err := e.Set(tc.key, tc.value)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("Set(%s, %q): %v, want %q", tc.key, tc.value, err, tc.want)
		}
		if !reflect.DeepEqual(e, Default()) {
			t.Errorf("Set(%s, %q) failed and changed the experiment", tc.key, tc.value)
		}
	}
}

func TestSetGetRoundTrip(t *testing.T) {
	e := mustResolve(t, "size=7b", "eval-data=none", "sp=true")
	var back Experiment
	for _, k := range Keys() {
		if err := back.Set(k.Name, e.Get(k.Name)); err != nil && e.Get(k.Name) != "" {
			t.Error(err)
		}
	}
	if !reflect.DeepEqual(e, back) {
		t.Errorf("\n%+v\n%+v", e, back)
	}
	if (Experiment{}).Get("no-such-key") != "" {
		t.Error("an unknown key has a value")
	}
}
