package weights

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"boost-tui/experiment"
	"boost-tui/trainer/checkpoint"
)

// Check says before a run begins whether an experiment can start from a source: *checkpoint.MisfitError with every reason when it would compute another
// function than the weights were trained for, or when tensors are missing, left over, or of other shapes.
func Check(s Source, e experiment.Experiment) error {
	if reasons := s.misfits(e); len(reasons) > 0 {
		return &checkpoint.MisfitError{Reasons: reasons}
	}
	if !s.Own(e.Model.Variant) {
		_, err := Start(s, e.Model.Variant, "layers.0.q.A", nil)
		return err
	}
	return nil
}

// Taken says in a few words what an experiment takes from a source that it can start from.
func Taken(s Source, e experiment.Experiment) string {
	text := taken(s, e)
	if f, ok := s.(*file); ok && f.tied() {
		text += "; the head starts from the embedding, and is trained by itself"
	}
	return text
}

func taken(s Source, e experiment.Experiment) string {
	switch v := e.Model.Variant; {
	case s.Own(v):
		return "as they are"
	case v == experiment.ReLoRA:
		return "its matrices are the frozen ones, and the factors' product begins at 0"
	case v == experiment.Full:
		return "each linear as the matrix that it makes"
	}
	return fmt.Sprintf("factors are the closest products of rank %s, rank-mlp %s, to its matrices", e.Get("rank-attn"), e.Get("rank-mlp"))
}

// misfits implements Source: first what the file's header and the config.json beside it say, then its tensors.
func (s *file) misfits(e experiment.Experiment) []string {
	for _, says := range []func(experiment.Experiment) []string{s.contradictions, s.config} {
		if reasons := says(e); len(reasons) > 0 {
			return reasons // the next would say the same in other words
		}
	}
	return s.tensors(e)
}

// factored reports whether the file holds factors, not matrices alone.
func (s *file) factored() bool { return s.Shape("layers.0.q.A") != nil }

// contradictions compares with the header, which files that were exported here have.
func (s *file) contradictions(e experiment.Experiment) (reasons []string) {
	about := s.arrays.About
	if s.factored() {
		was, is := experiment.Variant(about["variant"]), e.Model.Variant
		products := func(v experiment.Variant) bool { return v == experiment.SVD || v == experiment.LORO } // one function
		switch {
		case was == "":
			reasons = append(reasons, "it holds factors, and its header does not say of which variant")
		case was != is && !(products(was) && products(is)):
			reasons = append(reasons, fmt.Sprintf("variant is %s, and it holds the factors of %s; an export without factors holds matrices", is, was))
		}
	}
	if about["producer"] != producer {
		return reasons
	}
	keys := "heads " + checkpoint.Function
	if s.factored() {
		keys += " " + checkpoint.Form
	}
	for _, key := range strings.Fields(keys) {
		if was, there := about[key]; there && was != e.Get(key) {
			reasons = append(reasons, fmt.Sprintf("%s is %s, the file's %s", key, orNone(e.Get(key)), was))
		}
	}
	return reasons
}

func orNone(v string) string {
	if v == "" {
		return "none"
	}
	return v
}

// namedAtMost is how many tensors of a kind an error names.
const namedAtMost = 3

// tensors compares the file's tensors with those that an experiment takes.
func (s *file) tensors(e experiment.Experiment) []string {
	var wrong, left []string
	want := wanted(e, s.Own(e.Model.Variant))
	known := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		known[s.key(name)] = true
		shape := want[name]
		if is := s.Shape(name); shape == nil && is != nil {
			continue
		}
		if err := match(s, name, shape); err != nil {
			wrong = append(wrong, err.Error())
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s.arrays.Arrays)) {
		switch {
		case known[key]:
		case strings.HasSuffix(key, ".rotary_emb.inv_freq"):
			if err := s.frequencies(key, e); err != nil {
				wrong = append(wrong, err.Error())
			}
		default:
			left = append(left, fmt.Sprintf("%q", key))
		}
	}
	if len(left) > 0 {
		wrong = append([]string{fmt.Sprintf("the model has no place for %s %s", plural(len(left), "tensor"), short(left, ", "))}, wrong...)
	}
	if len(wrong) > namedAtMost {
		return append(wrong[:namedAtMost:namedAtMost], fmt.Sprintf("and %d more", len(wrong)-namedAtMost))
	}
	return wrong
}

func plural(n int, what string) string {
	if n == 1 {
		return what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// short joins the first of a list.
func short(list []string, with string) string {
	if len(list) > namedAtMost {
		return strings.Join(list[:namedAtMost], with) + fmt.Sprintf(" and %d more", len(list)-namedAtMost)
	}
	return strings.Join(list, with)
}

// frequencies compares the rotary frequencies that old files hold.
func (s *file) frequencies(key string, e experiment.Experiment) error {
	data := make([]byte, s.arrays.Arrays[key].Bytes())
	if err := s.arrays.Read(data, key, 0); err != nil {
		return err
	}
	is, err := floats(s.arrays.Arrays[key].DType, data)
	if err != nil {
		return fmt.Errorf("tensor %q: %w", key, err)
	}
	head := e.Model.D / e.Model.Heads
	if len(is) != head/2 {
		return fmt.Errorf("tensor %q is of heads of %d channels, wanted are %d", key, 2*len(is), head)
	}
	for i, v := range is {
		want := math.Pow(e.Model.RopeTheta, -2*float64(i)/float64(head))
		if math.Abs(float64(v)-want) > max(want/100, 1e-7) { // half precision holds no more
			return fmt.Errorf("tensor %q is of another rope-theta than %s", key, e.Get("rope-theta"))
		}
	}
	return nil
}

// wanted lists the tensors that an experiment takes from a file, by this program's names; a shape that only the model knows is nil. own: the linears are
// those of the variant, else matrices.
func wanted(e experiment.Experiment, own bool) map[string][]int64 {
	m := e.Model
	d, ff := int64(m.D), int64(m.FF)
	want := map[string][]int64{"embed.weight": {int64(m.Vocab), d}, "lm_head.weight": {int64(m.Vocab), d}, "final_norm.weight": {d}}
	for l := range m.Layers {
		at := func(name string) string { return fmt.Sprintf("layers.%d.%s", l, name) }
		want[at("attn_norm.weight")], want[at("mlp_norm.weight")] = []int64{d}, []int64{d}
		for _, linear := range []struct {
			name    string
			out, in int64
			rank    int
		}{{"q", d, d, m.RankAttn}, {"k", d, d, m.RankAttn}, {"v", d, d, m.RankAttn}, {"o", d, d, m.RankAttn},
			{"gate", ff, d, m.RankMLP}, {"up", ff, d, m.RankMLP}, {"down", d, ff, m.RankMLP}} {
			if !own || m.Variant == experiment.Full || m.Variant == experiment.ReLoRA {
				want[at(linear.name+".weight")] = []int64{linear.out, linear.in}
			}
			if !own || m.Variant == experiment.Full {
				continue
			}
			r := int64(linear.rank)
			want[at(linear.name+".A")], want[at(linear.name+".B")] = []int64{r, linear.in}, []int64{linear.out, r}
			if m.Variant == experiment.SLTrain {
				want[at(linear.name+".sparse_index")], want[at(linear.name+".sparse_value")] = nil, nil
			}
			switch {
			case l == 0 || m.Variant != experiment.LaX:
			case m.LaXGate == experiment.GateVector:
				want[at(linear.name+".lax_gate")] = []int64{r}
			case m.LaXGate == experiment.GateDense:
				want[at(linear.name+".lax_gate")] = []int64{r, r}
			}
		}
	}
	return want
}
