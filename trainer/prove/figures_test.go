package prove

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// withMark is a result of a part with its mark, where it bears one.
func withMark(part, device, result string) json.RawMessage {
	if marked(part) {
		result = strings.Replace(result, "{", fmt.Sprintf(`{"figures": %q, "emulated_device": %v, `, figures(part, device, false), device == "emulated"), 1)
	}
	return json.RawMessage(result)
}

// sound is a report whose parts are of one device.
func sound(device, card string) Report {
	r := Report{Schema: Schema, Device: device, EmulatedDevice: device == "emulated", Figures: Figures(device, false), Begun: time.Unix(1, 0), Limit: 1, Program: json.RawMessage(`{}`),
		Machine: Machine{Cores: 1}}
	for name, result := range map[string]string{
		PartVersions:   `{"cuda": {"device": "x"}}`,
		PartGoldenFP32: `{"checks": 1, "held": 1, "reports": [{"device": "` + device + `", "dtype": "fp32"}]}`,
		PartGoldenBF16: `{"checks": 1, "held": 1, "reports": [{"device": "` + device + `", "dtype": "bf16"}]}`,
		PartAttention:  `{"card": "` + card + `", "rows": []}`, PartElements: `{"card": "` + card + `", "rows": []}`,
		"step-1b-full": `{"card": "` + card + `"}`, "rank-7b-btp-tp4": `{"card": "` + card + `"}`,
		PartTwoRanks: `{"device": "` + device + `"}`, PartKernels: `{"program": "sh", "output": "device none"}`,
	} {
		p := Part{Name: name, State: StateOK, Result: withMark(name, device, result)}
		p.Figures = p.meaning(device, false)
		r.Parts = append(r.Parts, p)
	}
	return r
}

// A report says of one device what its figures mean, and holds results of that device alone.
func TestReportOfOneDevice(t *testing.T) {
	parse := func(r Report, change func(*Part)) error {
		for i := range r.Parts {
			change(&r.Parts[i])
		}
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		_, err = Parse(text)
		return err
	}
	for device, card := range map[string]string{"cuda": "NVIDIA A100", "emulated": emulatedCard} {
		other, otherCard := "emulated", emulatedCard
		if device == other {
			other, otherCard = "cuda", "NVIDIA A100"
		}
		if err := parse(sound(device, card), func(*Part) {}); err != nil {
			t.Errorf("%s: %v", device, err)
		}
		for name, result := range map[string]string{
			PartGoldenFP32: `{"checks": 1, "held": 1, "reports": [{"device": "` + other + `", "dtype": "fp32"}]}`,
			PartGoldenBF16: `{"checks": 1, "held": 1, "reports": [{"device": "` + device + `", "dtype": "fp32"}]}`,
			PartAttention:  `{"card": "` + otherCard + `", "rows": []}`, PartElements: `{"rows": []}`,
			"step-1b-full": `{"card": "NVIDIA H100"}`, PartTwoRanks: `{"device": "` + other + `"}`,
		} {
			err := parse(sound(device, card), func(p *Part) {
				if p.Name == name {
					p.Result = withMark(name, device, result)
				}
			})
			if err == nil {
				t.Errorf("%s on %s: %s passes", name, device, result)
			}
		}
		for name, change := range map[string]func(*Report){
			"another device": func(r *Report) { r.Device = other }, "no GPU's": func(r *Report) { r.Device = "cpu" },
			"another size": func(r *Report) { r.Tiny = true }, "other figures": func(r *Report) { r.Figures = "fast" },
			"a result without its mark": func(r *Report) {
				p := &r.Parts[slices.IndexFunc(r.Parts, func(p Part) bool { return p.Name == PartElements })]
				p.Result = json.RawMessage(`{"card": "` + card + `", "rows": []}`)
			},
			"a result with another's": func(r *Report) {
				p := &r.Parts[slices.IndexFunc(r.Parts, func(p Part) bool { return p.Name == PartElements })]
				p.Result = withMark(PartElements, other, `{"card": "`+card+`", "rows": []}`)
			},
			"no figures": func(r *Report) { r.Figures = figuresNoGPU }, "another mark": func(r *Report) { r.EmulatedDevice = !r.EmulatedDevice },
			"complete": func(r *Report) { r.Complete = true }, "an optional part": func(r *Report) { r.Parts[0].Optional = true },
			"a part's figures": func(r *Report) { r.Parts[0].Figures = "" },
		} {
			r := sound(device, card)
			change(&r)
			if parse(r, func(*Part) {}) == nil {
				t.Errorf("%s on %s passes", name, device)
			}
		}
	}
}

// The figures of the emulator and of tiny sizes say that they say nothing.
func TestFigures(t *testing.T) {
	for _, c := range []struct {
		device string
		tiny   bool
		says   bool
	}{{"cuda", false, false}, {"cuda", true, true}, {"emulated", false, true}, {"emulated", true, true}} {
		for _, part := range Parts() {
			text := figures(part, c.device, c.tiny)
			if strings.Contains(text, "no statement") != c.says || strings.Contains(text, "measured on a GPU") != (c.device == "cuda") ||
				strings.Contains(text, "one rank alone") != strings.HasPrefix(part, "rank-") {
				t.Errorf("%s on %s, tiny %v: %s", part, c.device, c.tiny, text)
			}
		}
	}
}
