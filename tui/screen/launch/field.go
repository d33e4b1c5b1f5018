package launch

import (
	"strconv"
	"strings"

	"boost-tui/experiment"
	"boost-tui/tui/widget/form"
)

func (d *draft) field(k experiment.Key) form.Field {
	f := form.Field{ID: k.Name, Label: label(k.Name), Value: d.resolved.Get(k.Name), Note: k.Help}
	if k.Name == "setup" && f.Value == "" && len(d.setups) > 0 {
		f.Value = noSetup
	}
	if text := d.partitionNote(); k.Name == "partition" && text != "" {
		f.Note = text
	}
	if k.Name == "device" && isOpen(d.set) { // else the machine's answer would stand in the place of what was said
		f.Value = experiment.DeviceAuto
	}
	if text := d.deviceNote(); k.Name == "device" && text != "" {
		f.Note = text
	}
	if k.Open && d.set.Get(k.Name) == "" {
		f.Note = "(" + k.Default + ")"
	}
	if k.Name == "rank" && !d.resolved.Model.Variant.LowRank() && d.resolved.Model.Rank == 0 {
		f.Value, f.Note = "", "the variant has no factors"
		return f
	}
	f.Typed = k.Kind != experiment.Choice && k.Kind != experiment.Switch
	switch k.Kind {
	case experiment.Int:
		f.Digits = "0123456789"
	case experiment.Float:
		f.Digits = "0123456789.eE+-"
	}
	for _, v := range d.options(k) {
		f.Options = append(f.Options, form.Option{Value: v, Blocked: d.blocked(k.Name, v)})
	}
	for _, v := range d.faults {
		if v.Key == k.Name && !v.Warning {
			f.Problem = problem(v)
			break
		}
	}
	return f
}

// problem is a broken rule in few words: reason and what would work.
func problem(v experiment.Violation) string {
	s := v.Reason
	if len(v.Nearest) > 0 {
		s += "; try " + strings.Join(v.Nearest, " or ")
	}
	return s
}

func label(key string) string {
	switch key {
	case "tp":
		return "TP degree"
	case "dp":
		return "DP degree"
	case "qos":
		return "QOS"
	case "heartbeat-timeout":
		return "Lost after s"
	case "gpus-per-node":
		return "GPUs per node"
	case "lr":
		return "Peak LR"
	case "seq":
		return "Sequence"
	}
	return strings.ToUpper(key[:1]) + strings.ReplaceAll(key[1:], "-", " ")
}

// options are the values to pick with left and right.
func (d *draft) options(k experiment.Key) []string {
	switch k.Kind {
	case experiment.Choice:
		return k.Choices
	case experiment.Switch:
		return []string{"on", "off"}
	}
	switch k.Name {
	case "tp":
		return powers(1, 8)
	case "rank", "rank-attn", "rank-mlp":
		return ranks(d.resolved.Model.D)
	case "micro-batch":
		return powers(1, 32)
	case "accumulate":
		return powers(1, 8)
	case "seq":
		return powers(128, 4096)
	case "steps":
		return []string{"20", "50", "100", "200", "500", "1000"}
	case "nodes":
		return powers(1, 16)
	case "dp":
		return powers(1, 16)
	case "setup":
		if len(d.setups) > 0 {
			return append([]string{noSetup}, d.setups...)
		}
	case "partition":
		return d.partitionNames()
	case "max-restarts":
		return []string{"0", "1", "2", "5"}
	case "warmup":
		return []string{"0", "10", "20", "50", "100"}
	}
	return nil
}

func powers(low, high int) []string {
	var out []string
	for v := low; v <= high; v *= 2 {
		out = append(out, strconv.Itoa(v))
	}
	return out
}

// ranks are the usual fractions of the width.
func ranks(width int) []string {
	var out []string
	for _, part := range []int{16, 8, 4, 3, 2, 1} {
		if r := width / part; r > 0 && (len(out) == 0 || out[len(out)-1] != strconv.Itoa(r)) {
			out = append(out, strconv.Itoa(r))
		}
	}
	return out
}

// blocked says why a value cannot work with the rest as it is; "" when it can.
// Rules that are broken already, whatever the value, do not count.
func (d *draft) blocked(key, value string) string {
	other := *d
	other.quick = true // nobody reads what else would work
	other.start.fault = nil
	if err := other.change(key, value); err != nil {
		return err.Error()
	}
	for _, v := range other.faults {
		if v.Warning || key == "where" && v.Key == "hosts" { // they are named there
			continue
		}
		known := false
		for _, old := range d.faults {
			known = known || (old.Key == v.Key && old.Rule == v.Rule && old.Key != key)
		}
		if !known {
			if v.Key != key {
				return v.Key + " " + v.Reason
			}
			return v.Reason
		}
	}
	return ""
}
