package experiment

import (
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

func keysOf(vs []Violation) []string {
	var out []string
	for _, v := range vs {
		out = append(out, v.Key)
	}
	return out
}

func TestPresetsAreValid(t *testing.T) {
	for _, p := range Presets() {
		for _, v := range []string{"full", "svd", "cola", "lax", "loro", "relora", "sltrain"} {
			if vs := mustResolve(t, "size="+p.Name, "variant="+v).Validate(Machine{}); len(vs) > 0 {
				t.Errorf("%s %s: %v", p.Name, v, vs)
			}
		}
	}
}

func TestValidate(t *testing.T) {
	for _, tc := range []struct {
		set  string
		keys string // of the violations
		near string // of the first
	}{
		{"tp=2", "", ""},
		{"warmup=1000 steps=10", "", ""},
		{"tp=3", "tp", "2 4"},
		{"tp=8", "tp", "4"},                                          // heads 4
		{"size=7b tp=3 scheme=vanilla", "tp", "2 4"},                 // rank 1024, vocabulary 32000
		{"tp=3 scheme=vanilla rank=96", "tp", "2 4"},                 // the vocabulary still
		{"tp=8 variant=full", "tp", "4"},                             // heads 4
		{"tp=3 variant=full vocab=258 ff=351 heads=3 d=126", "", ""}, // d need not divide
		{"size=30b tp=128", "tp", "64"},
		{"heads=3", "heads", "2 4"},
		{"heads=128", "heads", "64"},
		{"d=127 rank=32", "d", "120 128"},
		{"rank=200", "rank-attn rank-mlp", "128"},
		{"rank=200 scheme=vanilla tp=2", "rank-attn rank-mlp", "128"},
		{"variant=full scheme=btp", "scheme", "full-rank"},
		{"variant=cola scheme=full-rank", "scheme", "btp vanilla"},
		{"variant=lax pp=2 dp=2 zero=1 recompute=full accumulate=2", "", ""},
		{"variant=full tp=2 pp=2 dp=3 zero=1 sp=on accumulate=2", "", ""},
		{"variant=loro dp=2 zero=1 tp=2", "", ""},
		{"variant=lax pp=2", "accumulate", "2"}, // a warning
		{"pp=3 accumulate=4", "pp", "2 4"},
		{"pp=3", "pp", "2 4"},
		{"zero=1", "zero", "0"},
		{"sp=on tp=2", "sp", "off"},
		{"sp=on tp=2 scheme=vanilla", "sp", "off"},
		{"sp=on variant=full", "sp", "off"},
		{"sp=on variant=relora tp=4 micro-batch=1 seq=126", "sp", "off"},
		{"tp=2 pp=4 dp=4096 accumulate=4", "dp", "512"},
		{"variant=relora scheme=btp", "scheme", "full-rank"},
		{"variant=sltrain scheme=vanilla", "scheme", "full-rank"},
		{"variant=lax scheme=full-rank", "scheme", "btp vanilla"},
		{"variant=lax lax-gate=dense lax-base=cola recompute=low-rank tp=4", "", ""},
		{"variant=loro loro-every=30 loro-refresh=20", "loro-refresh", "15 30"},
		{"variant=loro loro-every=3 restart-warmup=5", "restart-warmup", "3"},
		{"variant=relora relora-every=3", "", ""},
		{"variant=relora relora-every=10 restart-warmup=11", "restart-warmup", "10"},
		{"variant=relora relora-alpha=0 relora-every=0", "relora-alpha relora-every", "1e-06"},
		{"variant=cola relora-alpha=0 relora-every=0 lax-gate=dense", "", ""},
		{"variant=sltrain sltrain-delta=2", "sltrain-delta", "1"},
		{"variant=sltrain sltrain-delta=0", "sltrain-delta", "0.03"},
		{"variant=sltrain sltrain-delta=0.00001", "sltrain-delta", "0.0001220703125"},
		{"tp=2 link=bw=2GB/s,latency=20us", "", ""},
		{"link=bw=2GB/s", "link", ""}, // a warning
		{"tp=2 link=bw=2GB/s device=cuda", "link", "none"},
		{"tp=2 link=bw=2GB/s device=emulated", "link", "none"},
		{"where=slurm nodes=2 dp=2 device=cuda", "", ""},
		{"where=slurm nodes=2 dp=2 device=emulated", "device", "cpu"},
		{"dtype=bf16 device=emulated tp=2", "", ""},
		{"dtype=bf16 device=cpu", "dtype", "fp32"},
		{"where=slurm nodes=2", "nodes", "1"},
		{"nodes=2 dp=2", "nodes", "1"},
		{"where=ssh nodes=2 dp=2", "hosts", ""},
		{"where=ssh nodes=2 dp=2 hosts=a,b", "", ""},
		{"eval-every=1 eval-data=x checkpoint-every=5 resume=r", "", ""},
		{"eval-data=x", "eval-every", "100"},
		{"documents=separated document-token=255", "", ""},
		{"documents=separated document-token=256", "document-token", "none"},
		{"documents=separated document-token=-1", "document-token", "none"},
		{"documents=separated document-token=x", "document-token", "none"},
		{"document-token=0", "document-token", "none"},
		{"init-from=x resume=r", "init-from", "none"},
		{"variant=full recompute=low-rank", "", ""},
		{"dtype=bf16", "dtype", "fp32"},
		{"steps=0 tp=0 lr=-1 beta1=1 eps=0", "tp steps lr beta1 eps", "1"},
		{"micro-batch=4096 seq=4096", "micro-batch", "1024"},
		{"layers=-3 seq=2000000", "layers seq", "1"},
		{"data=", "data", "embedded"},
	} {
		vs := mustResolve(t, strings.Fields(tc.set)...).Validate(Machine{})
		if got := strings.Join(keysOf(vs), " "); got != tc.keys {
			t.Errorf("%q: violations of %q, want %q: %v", tc.set, got, tc.keys, vs)
			continue
		}
		if len(vs) > 0 && strings.Join(vs[0].Nearest, " ") != tc.near {
			t.Errorf("%q: nearest %q, want %q", tc.set, vs[0].Nearest, tc.near)
		}
	}
}

func TestValidateMachine(t *testing.T) {
	e := mustResolve(t, "tp=4")
	vs := e.Validate(Machine{MemBytes: 1 << 30, NeedBytes: 3 << 30, Cores: 2})
	if len(vs) != 2 || vs[0].Key != "micro-batch" || !strings.Contains(vs[0].Reason, "3.0 GiB") || !vs[1].Warning {
		t.Fatalf("%v", vs)
	}
	for set, want := range map[string]string{"dp=64": "dp 64: 64 ranks share 2 cores", "tp=4 dp=2": "tp 4: with tp 4 and dp 2 8 ranks share 2 cores", "pp=4": "pp 4: 4 ranks share"} {
		if vs := mustResolve(t, strings.Fields(set)...).Validate(Machine{Cores: 2}); len(vs) == 0 || !strings.HasPrefix(vs[len(vs)-1].String(), want) {
			t.Errorf("%s: %v, want %q", set, vs, want)
		}
	}
	var invalid *InvalidError
	if err := Invalid(vs); !errors.As(err, &invalid) || len(invalid.Violations) != 1 {
		t.Errorf("%v", err)
	}
	if err := Invalid(vs[1:]); err != nil {
		t.Errorf("a warning is an error: %v", err)
	}
	for set, key := range map[string]string{"size=7b": "seq", "micro-batch=1": "size"} {
		if vs := mustResolve(t, set).Validate(Machine{MemBytes: 1, NeedBytes: 2}); len(vs) != 1 || vs[0].Key != key {
			t.Errorf("%s: %v", set, vs)
		}
	}
}

// random draws an experiment with a lot wrong in it.
func random(t *testing.T, rng *rand.Rand) Experiment {
	pick := func(of ...string) string { return of[rng.IntN(len(of))] }
	e := Default()
	for _, kv := range [][2]string{
		{"size", pick(presetNames()...)}, {"variant", pick("cola", "svd", "full", "lax", "relora", "loro", "sltrain")}, {"scheme", pick("auto", "btp", "vanilla", "full-rank")},
		{"tp", strconv.Itoa(rng.IntN(70) - 2)}, {"pp", pick("1", "1", "2", "-1")}, {"steps", pick("0", "10")}, {"beta2", pick("0.5", "1", "-1")},
		{"d", pick("auto", "127", "130", "4096", "100", "66000", "6", "0")}, {"heads", pick("auto", "7", "12", "200000", "3", "5", "0")}, {"ff", pick("auto", "5461", "1", "7", "352")},
		{"vocab", pick("auto", "32001", "1", "0")}, {"rank", pick("auto", "33", "9000", "0")}, {"rank-mlp", pick("auto", "48")}, {"dtype", pick("auto", "bf16")},
		{"micro-batch", pick("auto", "4000", "-1", "0")}, {"seq", pick("auto", "5000", "3000000", "0")}, {"recompute", pick("none", "full")},
		{"loro-every", pick("10", "7", "0")}, {"loro-refresh", pick("auto", "4", "-1")}, {"restart-warmup", pick("auto", "9", "1")}, {"sltrain-delta", pick("0.1", "0", "1e-9")},
		{"norm-eps", pick("1e-5", "0", "2")}, {"stop-after", pick("0", "-1")}, {"seed", pick("1", "-1")},
	} {
		if rng.IntN(4) == 0 {
			continue
		}
		if err := e.Set(kv[0], kv[1]); err != nil {
			t.Fatal(err)
		}
	}
	return e
}

func rulesOf(vs []Violation) map[[2]string]bool {
	out := map[[2]string]bool{}
	for _, v := range vs {
		out[[2]string{v.Key, v.Rule}] = true
	}
	return out
}

// Setting a key to one of the nearest values, as its user would, mends that rule and breaks no other.
func TestNearestValuesWork(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	proposed, lost := 0, 0
	for range 400 {
		e := random(t, rng)
		r, err := e.Resolve()
		if err != nil {
			t.Fatal(err)
		}
		vs := r.Validate(Machine{})
		before := rulesOf(vs)
		for _, v := range vs {
			for _, n := range v.Nearest {
				proposed++
				mended := e
				if err := mended.Set(v.Key, n); err != nil {
					t.Fatalf("%v: %v", v, err)
				}
				mended, err := mended.Resolve()
				if err != nil {
					t.Fatal(err)
				}
				for rule := range rulesOf(mended.Validate(Machine{})) {
					if rule == [2]string{v.Key, v.Rule} || !before[rule] {
						t.Fatalf("%s\n%v: with %s: %v", e.TOML(), v, n, rule)
					}
				}
			}
			if len(v.Nearest) == 0 {
				lost++
				if !strings.Contains(v.Reason, ": change ") {
					t.Fatalf("%v: no way out", v)
				}
			}
		}
	}
	if t.Logf("%d proposals, %d violations without", proposed, lost); proposed < 1000 || lost > proposed/4 {
		t.Errorf("%d proposals, %d violations without", proposed, lost)
	}
}

func TestNearestValuesOfPairs(t *testing.T) {
	for _, tc := range []struct{ set, want string }{
		{"variant=full d=130 ff=352 tp=2", "heads 4: must divide d (130) into heads of an even width; no heads does here: change d to 128 or 136"},
		{"scheme=vanilla ff=7 tp=16", "rank-mlp 32: is larger than d and ff (7): a product of factors has no higher rank; no rank-mlp does here: change ff to 32"},
		{"d=0", "d 0: must be a whole number from 1 to 65536; nearest: 8"},
		{"vocab=0 tp=4", "vocab 0: must be a whole number from 2 to 1048576; nearest: 4"},
	} {
		vs := mustResolve(t, strings.Fields(tc.set)...).Validate(Machine{})
		if len(vs) == 0 || vs[0].String() != tc.want {
			t.Errorf("%s: %v\nwant %s", tc.set, vs, tc.want)
		}
	}
}

func TestEverythingAtOnce(t *testing.T) {
	vs := mustResolve(t, "seq=0", "micro-batch=0", "stop-after=-1", "seed=-1", "rank=0", "heads=3").Validate(Machine{})
	if got := strings.Join(keysOf(vs), " "); got != "rank micro-batch seq seed stop-after heads" {
		t.Errorf("%s: %v", got, vs)
	}
	for _, v := range vs {
		if v.Key == "seed" && (v.Value != "-1" || v.Nearest[0] != "0") || v.Key == "seq" && v.Value != "0" {
			t.Error(v)
		}
	}
}

func TestViolationString(t *testing.T) {
	got := mustResolve(t, "size=7b", "tp=3").Validate(Machine{})[0].String()
	want := "tp 3: under btp tp must divide heads (32), d (4096), ff (11008) and vocab (32000); nearest: 2 or 4"
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestFormatBytes(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1536: "1.5 KiB", 3 << 30: "3.0 GiB", 1 << 62: "4.0 EiB"} {
		if got := FormatBytes(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

// Broken finds what Validate finds, and says nothing of ways out.
func TestBroken(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		e, err := random(t, rng).Resolve()
		if err != nil {
			t.Fatal(err)
		}
		m := Machine{MemBytes: 1 << 30, NeedBytes: int64(rng.IntN(2)) << 31, Cores: rng.IntN(3)}
		got, want := e.Broken(m), e.Validate(m)
		if len(got) != len(want) {
			t.Fatalf("%v, want %v", got, want)
		}
		for i, v := range got {
			if w := want[i]; v.Key != w.Key || v.Rule != w.Rule || v.Value != w.Value || v.Warning != w.Warning || len(v.Nearest) > 0 || !strings.HasPrefix(w.Reason, v.Reason) {
				t.Errorf("%v, want %v", v, w)
			}
		}
	}
}
