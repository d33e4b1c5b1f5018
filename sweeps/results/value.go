package results

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"boost-tui/experiment"
	"boost-tui/internal/filter"
)

// Value is what a row says under the name of an axis, a key or a metric. Its text is as a key's Set takes it, of a
// metric the shortest that reads back; empty: unknown, or it means nothing here.
type Value = filter.Value

// Names of fields that are neither a key of the experiment nor a metric.
const (
	fieldRun   = "run"
	fieldPoint = "point"
	fieldLabel = "label"
	fieldState = "state"
	fieldCause = "cause"
	fieldTwin  = "twin"

	fieldPartial    = "partial"
	fieldUnfinished = "unfinished"
	fieldOverlapped = "overlapped" // how many runs slowed it

	fieldLink     = "emulated_link"   // that its messages were slowed down to
	fieldEmulator = "emulated_device" // that it ran on, whose times say nothing about a GPU
)

var plainFields = []string{fieldRun, fieldPoint, fieldLabel, fieldState, fieldCause, fieldTwin, fieldPartial, fieldUnfinished, fieldOverlapped, fieldLink, fieldEmulator}

// always are the keys that every row shows, whether they are axes or not.
var always = []string{"variant", "scheme", "tp", "rank", "size"}

// Field is what the row says under a name: one of plainFields, a key of the experiment, or a metric,
// which its title names as well. false: there is no such name. A value that is unknown has no Text.
func (r *Row) Field(name string) (Value, bool) {
	switch name {
	case fieldRun:
		return Value{Text: r.Run}, true
	case fieldPoint:
		return Value{Text: r.Point}, true
	case fieldLabel:
		return Value{Text: r.Label}, true
	case fieldState:
		return Value{Text: string(r.Status)}, true
	case fieldCause:
		return Value{Text: r.Cause}, true
	case fieldLink:
		return Value{Text: r.Link()}, true
	case fieldEmulator:
		return Value{Text: r.emulator()}, true
	case fieldTwin:
		return Value{Text: onOff(r.Twin)}, true
	case fieldPartial:
		return Value{Text: onOff(r.Partial)}, true
	case fieldUnfinished:
		return Value{Text: onOff(r.Unfinished)}, true
	case fieldOverlapped:
		if v := ofRun(r, len(r.Overlapped)); v != nil {
			return filter.Number(*v), true
		}
		return Value{}, true
	}
	if m := metricNamed(name); m != nil {
		return m.field(r), true
	}
	if v, ok := r.key(name); ok {
		return v, true
	}
	if m := metricTitled(name); m != nil {
		return m.field(r), true
	}
	return Value{}, false
}

// field is the row's value as a field.
func (m *Metric) field(r *Row) Value {
	v, known := m.Of(r)
	if !known {
		return Value{}
	}
	return Value{Text: float(v), Number: v, IsNum: true}
}

// key is the value of a key of the experiment.
func (r *Row) key(name string) (Value, bool) {
	k, ok := experiment.KeyOf(name)
	if !ok {
		return Value{}, false
	}
	switch name {
	case "size":
		return Value{Text: r.Size}, true
	case "rank":
		if r.Rank == 0 {
			return Value{}, true
		}
		return Value{Text: strconv.Itoa(r.Rank), Number: float64(r.Rank), IsNum: true}, true
	}
	return valueOf(k, &r.Experiment), true
}

func valueOf(k experiment.Key, e *experiment.Experiment) Value {
	v := Value{Text: k.Say(e)}
	if k.Kind == experiment.Int || k.Kind == experiment.Float {
		if n, err := strconv.ParseFloat(v.Text, 64); err == nil {
			v.Number, v.IsNum = n, true
		}
	}
	return v
}

func onOff(b bool) string {
	if b {
		return "on"
	}
	return "off"
}

// Words is the text that bare words of a filter are looked for in.
func (r *Row) Words() string {
	w := []string{r.Label, string(r.Status), r.Run, r.Point, r.Cause, r.Variant, r.Scheme, r.Size}
	for _, a := range r.axes {
		if v, ok := r.key(a); ok {
			w = append(w, v.Text)
		}
	}
	return strings.Join(w, " ")
}

// Fields lists what rows can be sorted and filtered by: the axes first, then what every row has, then metrics. Any
// other key of the experiment serves as well.
func (t *Table) Fields() []string {
	out := slices.Clone(t.Axes)
	for _, list := range [][]string{always, plainFields} {
		for _, n := range list {
			if !slices.Contains(out, n) {
				out = append(out, n)
			}
		}
	}
	for _, m := range metrics {
		out = append(out, m.Name)
	}
	return out
}

// isField reports whether rows have a field of that name.
func isField(name string) bool {
	_, ok := (&Row{}).Field(name)
	return ok
}

// known refuses the name of a field that rows do not have.
func (t *Table) known(name string) error {
	if isField(name) {
		return nil
	}
	return fmt.Errorf("%q is neither an axis, nor a key of the experiment, nor a metric; there are %s", name, strings.Join(t.Fields(), ", "))
}

// Sort orders the rows by a field, ascending or descending; rows that are equal stay in their order, and those whose
// value is unknown come last either way. Metric.Higher says which way the best come first.
func (t *Table) Sort(by string, desc bool) error {
	if err := t.known(by); err != nil {
		return fmt.Errorf("sort: %w", err)
	}
	sortBy(t.Rows, desc, func(r *Row) Value { v, _ := r.Field(by); return v })
	return nil
}

// sortBy orders what has a value, unknown ones last.
func sortBy[T any](rows []T, desc bool, of func(T) Value) {
	type keyed struct {
		row T
		v   Value
	}
	all := make([]keyed, len(rows))
	for i, r := range rows {
		all[i] = keyed{r, of(r)}
	}
	slices.SortStableFunc(all, func(a, b keyed) int {
		if c := cmp.Compare(one(a.v.Text == ""), one(b.v.Text == "")); c != 0 || a.v.Text == "" {
			return c
		}
		c := compareValues(a.v, b.v)
		if desc {
			return -c
		}
		return c
	})
	for i, k := range all {
		rows[i] = k.row
	}
}

// compareValues orders numbers before texts.
func compareValues(a, b Value) int {
	if a.IsNum && b.IsNum {
		return cmp.Compare(a.Number, b.Number)
	}
	if c := cmp.Compare(one(b.IsNum), one(a.IsNum)); c != 0 {
		return c
	}
	return cmp.Compare(a.Text, b.Text)
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Filter is the table with the rows for which keep is true, in their order; nil keeps all. The rows themselves are
// shared; the counts, the pruned points and the speed-ups stay those of the whole sweep. keep may be asked about rows
// of pruned points, whose state is "pruned": a heat map shows those that pass.
func (t *Table) Filter(keep func(*Row) bool) *Table {
	out := *t
	out.Rows = make([]*Row, 0, len(t.Rows))
	if keep != nil {
		out.keep = append(slices.Clip(t.keep), keep)
	}
	for _, r := range t.Rows {
		if keep == nil || keep(r) {
			out.Rows = append(out.Rows, r)
		}
	}
	return &out
}

// Where reads a line of the filter language (internal/filter) into what Filter wants; "" keeps all. A term that makes no
// sense, such as one on a field that rows do not have, is left out, and the error is about the first of those.
func (t *Table) Where(line string) (keep func(*Row) bool, err error) {
	q, err := filter.Parse(line, filter.Fields{Names: t.Fields(), More: isField, Unit: unitOf})
	if q.Empty() {
		return nil, err
	}
	return func(r *Row) bool { return q.Match(r) }, err
}
