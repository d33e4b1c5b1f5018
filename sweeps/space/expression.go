package space

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"

	"boost-tui/experiment"
)

// Bounds of an expression, far beyond what anybody writes.
const (
	maxSource = 2000 // bytes
	maxNodes  = 500
)

// functions are the library's that an expression may use. None loops over a list, reads the clock or makes long text, so
// that an expression from somebody's file ends at once and always says the same.
var functions = [...]string{"abs", "ceil", "floor", "round", "int", "float", "string", "min", "max", "len", "hasPrefix", "hasSuffix", "trim", "upper", "lower"}

// expression is a condition over the keys of an experiment, compiled.
type expression struct {
	source  string
	program *vm.Program
	reads   []variable
	env     map[string]any // reused by every evaluation
	vm      vm.VM
}

// variable is a key that an expression reads.
type variable struct {
	name string // in the expression
	key  experiment.Key
}

// nameOf is a key's name in expressions.
func nameOf(key string) string { return strings.ReplaceAll(key, "-", "_") }

// typed is a key's value as expressions see it: numbers as numbers, switches as true and false, else text.
func typed(k experiment.Key, e *experiment.Experiment) any {
	text := k.Say(e)
	switch k.Kind {
	case experiment.Int:
		n, _ := strconv.Atoi(text) // open: 0, as for the rank of a full variant
		return n
	case experiment.Float:
		f, _ := strconv.ParseFloat(text, 64) // Get writes it
		return f
	case experiment.Switch:
		return text == "on"
	default:
		return text
	}
}

// compile checks an expression against the keys. The error says where it is wrong.
func compile(source string) (*expression, error) {
	if len(source) > maxSource {
		return nil, fmt.Errorf("%s has %d bytes, more than %d", quoted(source), len(source), maxSource)
	}
	names := map[string]experiment.Key{}
	env := map[string]any{}
	def := experiment.Default()
	for _, k := range experiment.Keys() {
		names[nameOf(k.Name)] = k
		env[nameOf(k.Name)] = typed(k, &def)
	}
	x := &expression{source: source, env: map[string]any{}}
	if tree, err := parser.Parse(source); err == nil { // what does not parse is refused below
		v := visitor{names: names, reads: map[string]experiment.Key{}, ranges: map[ast.Node]bool{}}
		if problem := v.look(tree.Node); problem != nil {
			return nil, explain(source, problem.Bind(tree.Source))
		}
		for name, k := range v.reads {
			x.reads = append(x.reads, variable{name, k})
		}
	}
	options := []expr.Option{expr.Env(env), expr.AsBool(), expr.WarnOnAny(), expr.MaxNodes(maxNodes), expr.DisableAllBuiltins()}
	for _, f := range functions {
		options = append(options, expr.EnableBuiltin(f))
	}
	var err error
	if x.program, err = expr.Compile(source, options...); err != nil {
		return nil, explain(source, err)
	}
	return x, nil
}

// holds evaluates the expression for a resolved experiment.
func (x *expression) holds(e *experiment.Experiment) (bool, error) {
	for _, v := range x.reads {
		x.env[v.name] = typed(v.key, e)
	}
	out, err := x.vm.Run(x.program, x.env)
	if err != nil {
		return false, fmt.Errorf("%s: %s", quoted(x.source), plain(firstLine(err)))
	}
	yes, ok := out.(bool)
	if !ok {
		return false, fmt.Errorf("%s: gives %T, not true or false", quoted(x.source), out)
	}
	return yes, nil
}
