package experiment

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
)

// maxFileBytes bounds an experiment file; a real one has under 4 KiB.
const maxFileBytes = 1 << 20

// ParseTOML reads an experiment file over Default. name is how errors call the file. All problems are
// reported at once, one per line, as "name:line: what is wrong; what is allowed or nearest"; the experiment then has
// what could be read.
func ParseTOML(data []byte, name string) (Experiment, error) {
	if len(data) > maxFileBytes {
		return Default(), fmt.Errorf("%s: %d bytes are too many for an experiment file (%d allowed)", name, len(data), maxFileBytes)
	}
	if err := CheckTOML(data, name); err != nil {
		return Default(), err
	}
	var top map[string]toml.Primitive
	md, err := toml.Decode(string(data), &top)
	if err != nil {
		return Default(), TOMLError(name, err)
	}
	p := parser{md: &md, e: Default()}
	for key, prim := range top {
		value, line := p.read(prim)
		if _, table := value.(map[string]any); table && slices.Contains(Sections(), key) {
			p.section(key, prim)
		} else {
			p.key("", key, value, line)
		}
	}
	return p.e, p.problems.Err(name)
}

// Names reports whether an experiment file says a key at all, be it by the value that it has anyway.
func Names(data []byte, key string) bool {
	k, ok := KeyOf(key)
	var top map[string]toml.Primitive
	md, err := toml.Decode(string(data), &top)
	if !ok || err != nil {
		return false
	}
	return k.Section == "" && md.IsDefined(key) || md.IsDefined(k.Section, key)
}

type parser struct {
	md       *toml.MetaData
	e        Experiment
	problems Problems
}

// probe reads a value of any type. It refuses it, because the library tells a value's line in errors only.
type probe struct{ value any }

var errProbe = errors.New("probe")

// UnmarshalTOML implements toml.Unmarshaler.
func (p *probe) UnmarshalTOML(v any) error {
	p.value = v
	return errProbe
}

// ReadTOML is a value of a decoded file as the library reads values into an any, and the line it ends on (0: unknown).
func ReadTOML(md *toml.MetaData, prim toml.Primitive) (value any, line int) {
	var pr probe
	var pe toml.ParseError
	if errors.As(md.PrimitiveDecode(prim, &pr), &pe) {
		line = pe.Position.Line
	}
	return pr.value, line
}

func (p *parser) read(prim toml.Primitive) (value any, line int) { return ReadTOML(p.md, prim) }

func (p *parser) section(section string, prim toml.Primitive) {
	var in map[string]toml.Primitive
	if err := p.md.PrimitiveDecode(prim, &in); err != nil {
		p.problems.Add(0, fmt.Sprintf("section [%s]: %s", section, err))
		return
	}
	for key, prim := range in {
		value, line := p.read(prim)
		p.key(section, key, value, line)
	}
}

func (p *parser) key(section, key string, value any, line int) {
	k, ok := KeyOf(key)
	if !ok || k.Section != section {
		p.problems.Add(line, p.misplaced(section, key, value, k, ok))
		return
	}
	text, err := k.FromTOML(value)
	if err == nil {
		err = k.set(&p.e, text)
	}
	if err != nil {
		p.problems.Add(line, err.Error())
	}
}

func (p *parser) misplaced(section, key string, value any, k Key, known bool) string {
	switch _, table := value.(map[string]any); {
	case known && k.Section == "":
		return fmt.Sprintf("key %q belongs to the top of the file, above every section", key)
	case known && !table:
		return fmt.Sprintf("key %q belongs to section [%s]", key, k.Section)
	case table && section == "":
		return fmt.Sprintf("section [%s] is unknown; nearest: [%s]; there are %s", clip(key), closest(key, Sections()), list(Sections()))
	case section == "":
		return unknownKey(key).Error()
	default:
		return fmt.Sprintf("key %q is unknown in section [%s]; nearest: %s", clip(key), section, closest(key, keyNames(section)))
	}
}

// FromTOML turns a TOML value of the right type into the text that Set takes.
func (k Key) FromTOML(value any) (string, error) {
	switch v := value.(type) {
	case string:
		if k.Kind == Int || k.Kind == Float {
			if k.Open && v == auto {
				return v, nil
			}
			return "", k.wrongType("a string")
		}
		if k.Kind == List {
			return "", k.wrongType("a string")
		}
		return v, nil
	case int64:
		if k.Kind == Int || k.Kind == Float {
			return strconv.FormatInt(v, 10), nil
		}
		return "", k.wrongType("a whole number")
	case float64:
		if k.Kind == Float {
			return strconv.FormatFloat(v, 'g', -1, 64), nil
		}
		return "", k.wrongType("a number with a fraction")
	case bool:
		if k.Kind == Switch {
			return onOff(v), nil
		}
		return "", k.wrongType("true or false")
	case []any:
		return k.listFromTOML(v)
	case map[string]any, []map[string]any:
		return "", k.wrongType("a table")
	default:
		return "", k.wrongType("a date")
	}
}

func (k Key) listFromTOML(v []any) (string, error) {
	if k.Kind != List {
		return "", k.wrongType("a list")
	}
	words := make([]string, len(v))
	for i, x := range v {
		w, ok := x.(string)
		if !ok || strings.Contains(w, ",") {
			return "", fmt.Errorf("%s: every word must be a string without commas", k.Name)
		}
		words[i] = w
	}
	return strings.Join(words, ","), nil
}

func (k Key) wrongType(is string) error {
	kind := map[Kind]string{String: "a string", Choice: "a string", Int: "a whole number", Float: "a number", Switch: "true or false", List: "a list of strings"}
	return fmt.Errorf("%s: is %s, want %s: %s", k.Name, is, kind[k.Kind], k.Allowed())
}

// TOML writes the experiment as a file that ParseTOML reads back to the same value. Open values are left out.
func (e Experiment) TOML() []byte {
	var b strings.Builder
	def := Default()
	for _, s := range append([]string{""}, Sections()...) {
		if s != "" {
			fmt.Fprintf(&b, "\n[%s]\n", s)
		}
		for _, k := range keys {
			if v := k.get(&e); k.Section == s && (v != "" || k.get(&def) != "") {
				fmt.Fprintf(&b, "%s = %s\n", k.Name, k.literal(v))
			}
		}
	}
	return []byte(strings.TrimLeft(b.String(), "\n"))
}

// literal writes a value as FromTOML reads it back.
func (k Key) literal(v string) string {
	switch k.Kind {
	case Int:
		return v
	case Float:
		if !strings.ContainsAny(v, ".e") {
			v += ".0"
		}
		return v
	case Switch:
		return strconv.FormatBool(v == on)
	case List:
		words := strings.Split(v, ",")
		for i, w := range words {
			words[i] = QuoteTOML(w)
		}
		return "[" + strings.Join(words, ", ") + "]"
	default:
		return QuoteTOML(v)
	}
}

// QuoteTOML writes a TOML basic string.
func QuoteTOML(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&b, "\\u%04X", r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
