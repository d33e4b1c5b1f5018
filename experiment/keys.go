package experiment

import "slices"

// Kind is the type of a key's value.
type Kind uint8

// Kinds of values.
const (
	String Kind = iota
	Choice      // one of Key.Choices
	Int
	Float
	Switch // on or off
	List   // of words, separated by commas
)

var kindNames = [...]string{"text", "choice", "whole number", "number", "on or off", "list of words"}

func (k Kind) String() string { return kindNames[min(int(k), len(kindNames)-1)] }

// Key describes one value of an experiment. The list of keys drives flags, TOML and the form.
type Key struct {
	Name     string // as in flags, TOML and JSON
	Section  string // TOML section; "" for name and tags
	Help     string // one line
	Kind     Kind
	Choices  []string  // of a Choice, the default first
	Default  string    // as shown to people: "d/4", "1"
	Open     bool      // when unset (0 or empty) Resolve fills it in; Set takes "auto" for it
	Min, Max float64   // of numbers, both allowed unless OpenMin or OpenMax
	OpenMin  bool      // Min itself is not allowed
	OpenMax  bool      // Max itself is not allowed
	For      []Variant // the variants that the key means something to; nil: all
	field    func(*Experiment) any
	reads    func(text string) (string, error) // checks a text and brings it into its one form; nil: any will do
}

// Bounds of counts. They keep every product of shapes inside 64 bits, far beyond what anybody trains.
const (
	maxWidth  = 1 << 16
	maxFF     = 1 << 18
	maxVocab  = 1 << 20
	maxLayers = 1 << 10
	maxSeq    = 1 << 20
	maxCount  = 1 << 12
	maxRanks  = 1 << 12
	maxSteps  = 1 << 40
	maxTokens = 1 << 22 // of one micro-batch
)

// Keys lists every key in the order of files and forms.
func Keys() []Key { return append([]Key(nil), keys...) }

// KeyOf finds a key by name.
func KeyOf(name string) (Key, bool) {
	for i := range keys { // keys are large
		if keys[i].Name == name {
			return keys[i], true
		}
	}
	return Key{}, false
}

// Sections lists the TOML sections in order.
func Sections() []string { return []string{"model", "parallel", "step", "train", "where"} }

func keyNames(section string) []string {
	var names []string
	for _, k := range keys {
		if section == "*" || k.Section == section {
			names = append(names, k.Name)
		}
	}
	return names
}

func text(section, name, def, help string, f func(*Experiment) any) Key {
	return Key{Name: name, Section: section, Help: help, Kind: String, Default: def, field: f}
}

func choice(section, name, help string, choices []string, f func(*Experiment) any) Key {
	return Key{Name: name, Section: section, Help: help, Kind: Choice, Choices: choices, Default: choices[0], field: f}
}

func opt(section, name, def, help string, choices []string, f func(*Experiment) any) Key {
	return Key{Name: name, Section: section, Help: help, Kind: Choice, Choices: choices, Default: def, Open: true, field: f}
}

func count(section, name, def string, lo, hi float64, help string, f func(*Experiment) any) Key {
	return Key{Name: name, Section: section, Help: help, Kind: Int, Default: def, Min: lo, Max: hi, field: f}
}

func number(section, name, def string, lo, hi float64, help string, f func(*Experiment) any) Key {
	return Key{Name: name, Section: section, Help: help, Kind: Float, Default: def, Min: lo, Max: hi, field: f}
}

func toggle(section, name, def, help string, f func(*Experiment) any) Key {
	return Key{Name: name, Section: section, Help: help, Kind: Switch, Default: def, field: f}
}

func (k Key) open() Key { k.Open = true; return k }

func (k Key) of(variants ...Variant) Key { k.For = variants; return k }

// Means reports whether the key means something to a variant. Where it does not, Resolve empties it.
func (k Key) Means(v Variant) bool { return k.For == nil || slices.Contains(k.For, v) }

func (k Key) read(f func(string) (string, error)) Key { k.reads = f; return k }

func (k Key) exclusive(lo, hi bool) Key { k.OpenMin, k.OpenMax = lo, hi; return k }
