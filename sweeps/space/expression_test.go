package space

import (
	"strings"
	"testing"
	"time"

	"boost-tui/experiment"
)

func TestExpressions(t *testing.T) {
	e, err := experiment.Default().Resolve()
	if err != nil {
		t.Fatal(err)
	}
	full := e
	full.Model.Variant, full.Parallel.Scheme = experiment.Full, ""
	if full, err = full.Resolve(); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		source     string
		cola, full bool
	}{
		{"rank > 3", true, false},
		{"rank == d/4", true, false},
		{"rank_attn == rank and micro_batch == 8", true, true},
		{"rank in 32..64", true, false},
		{"rank in [16, 32]", true, false},
		{"variant != 'full'", true, false},
		{`"full" == variant`, false, true},
		{"scheme in ['btp', 'vanilla']", true, false},
		{"scheme not in ['btp', 'vanilla']", false, true},
		{"not sp && grouping", true, true},
		{"keep_silu", true, true},
		{"lr == 3e-3 || lr < 1e-5", true, true},
		{"d % heads == 0", true, true},
		{"rank == 0 || d % rank == 0", true, true},
		{"1 < rank < 64", true, false},
		{"if tp > 1 { rank > 64 } else { rank <= 64 }", true, true},
		{"variant == 'full' ? rank == 0 : rank > 0", true, true},
		{"min(rank, d) == 32", true, false},
		{"max([rank, 5]) == 5", false, true},
		{"data startsWith 'emb' and data contains 'bed'", true, true},
		{"seed == 1 and stop_after == 0 and steps >= 100", true, true},
		{"rank | abs() == 32", true, false},
		{"rank / 0 > 1", true, false}, // division is of numbers with fractions
		{"rank > 3 // because", true, false},
	} {
		x, err := compile(tc.source)
		if err != nil {
			t.Errorf("%s: %v", tc.source, err)
			continue
		}
		for range 2 { // an expression is used over and over
			onCola, err1 := x.holds(&e)
			onFull, err2 := x.holds(&full)
			if onCola != tc.cola || onFull != tc.full || err1 != nil || err2 != nil {
				t.Errorf("%s: %v %v, want %v %v (%v, %v)", tc.source, onCola, onFull, tc.cola, tc.full, err1, err2)
			}
		}
	}
}

func TestMalformedExpressions(t *testing.T) {
	for _, tc := range []struct{ source, want string }{
		{"", `"", column 1: unexpected token EOF`},
		{"rank >", `column 6: unexpected token EOF`},
		{"rank = 32", `"rank = 32", column 6: compare with ==`},
		{"rank", `"rank": must be true or false and is of type int`},
		{"rank ?? true", "must be true or false and is of type unknown"},
		{"rank*4 <= dd", `"rank*4 <= dd", column 11: unknown name dd; nearest: d`},
		{"microbatch > 1", "column 1: unknown name microbatch; nearest: micro_batch"},
		{"world > 1", "unknown name world"},
		{"rank-attn <= 16", "column 6: unknown name attn; in expressions rank-attn is written rank_attn"},
		{"tp > 1 and stop-after == 0", "in expressions stop-after is written stop_after"},
		{"variant != full", `column 12: unknown name full; text stands in quotes: "full"`},
		{"scheme == full-rank", `text stands in quotes: "full-rank"`},
		{"scheme == 'vanila'", `column 11: scheme is never "vanila"; nearest: vanilla; allowed: btp, vanilla or full-rank`},
		{"'60mm' != size", `column 1: size is never "60mm"; nearest: 60m`},
		{"scheme in ['btp', 'x']", `column 19: scheme is never "x"`},
		{"rank == '32'", "column 6: invalid operation: == (mismatched types int and string)"},
		{"grouping == 'on'", "mismatched types bool and string"},
		{"rank && true", "mismatched types int and bool"},
		{"rank > 3 \n and foo", "line 2 column 6: unknown name foo"},
		{"rank in 1..d", "column 10: a list from .. to is for whole numbers behind in"},
		{"lr in 1..3", "a list from .. to"},
		{"1..1000000000 == []", "a list from .. to"},
		{"all([rank], # > 1)", "there is no function all; there are abs, "},
		{"any([1], any([1], # > 0))", "column 1: there is no function any"},
		{"now() > now()", "there is no function now"},
		{"repeat('x', 1000000000) == 'x'", "there is no function repeat"},
		{"foo(rank) > 1", "unknown name foo; there is no function foo; there are abs"},
		{"let a = data + data; let b = a + a; len(b) > 1", "let is not for expressions"},
		{"data matches '(a*)*b'", "matches is not for expressions"},
		{"$env['rank'] == 32", "name a key instead of $env"},
		{"\x1b[31mrank > 1", `"\x1b[31mrank > 1", column 1: unrecognized character`},
		{strings.Repeat("(", 2000), "has 2000 bytes"},
		{"true" + strings.Repeat(" && true", 400), "bytes, more than 2000"},
		{"1" + strings.Repeat("+1", 600) + " > 1", "exceeds maximum allowed nodes"},
	} {
		began := time.Now()
		_, err := compile(tc.source)
		if tc.want == "has 2000 bytes" { // short enough, and still no expression
			tc.want = "unexpected token EOF"
		}
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%.60q: %v\nwant %s", tc.source, err, tc.want)
		} else if strings.ContainsAny(err.Error(), "\x1b\n") || len(err.Error()) > 1000 {
			t.Errorf("%.60q: %q is not for a terminal", tc.source, err)
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%.60q took %v", tc.source, took)
		}
	}
}

// An expression that cannot be computed for a point is an error that says for which.
func TestExpressionsThatFail(t *testing.T) {
	s := spec(t, []string{"variant=cola,full", "tp=1,2"})
	s.Constraints = []string{"heads % rank == 0"}
	s.Axes = append(s.Axes, Axis{Keys: []string{"lr"}, Values: [][]string{{"0.1"}}, When: "heads % rank >= 0"})
	_, err := Expand(t.Context(), s, noMachine)
	if err == nil || !strings.Contains(err.Error(), "condition of axis lr: \"heads % rank >= 0\": runtime error: integer divide by zero, for 2 combinations, first variant=full tp=1: guard it") {
		t.Error(err)
	}
	s.Axes = s.Axes[:2]
	_, err = Expand(t.Context(), s, noMachine)
	if err == nil || !strings.Contains(err.Error(), "constraint 1: \"heads % rank == 0\": runtime error: integer divide by zero, for 2 combinations") {
		t.Error(err)
	}
}

// Every key can be read, under a name that the language does not take.
func TestEveryKeyCanBeRead(t *testing.T) {
	for _, k := range experiment.Keys() {
		if _, err := compile(nameOf(k.Name) + " == " + nameOf(k.Name)); err != nil {
			t.Error(err)
		}
	}
}

func FuzzCompile(f *testing.F) {
	for _, s := range []string{"rank > 3", "variant != 'full'", "scheme in ['btp']", "rank in 32..64", "all([1], # > 0)", "if tp > 1 {true} else {false}", "let a = 1; a > 0",
		"data[0:2] == 'x'", "rank % 0 == 0", "-rank ** 2 < 1e3", "rank | abs() > 1", "{a: 1}.a == rank", "x?.y ?? true"} {
		f.Add(s)
	}
	e, err := experiment.Default().Resolve()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, source string) {
		x, err := compile(source)
		if err == nil {
			_, err = x.holds(&e)
		}
		if err != nil && (strings.ContainsAny(err.Error(), "\x1b\n\r") || len(err.Error()) > 20<<10) {
			t.Errorf("%q", err)
		}
	})
}
