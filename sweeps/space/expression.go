package space

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"

	"boost-tui/experiment"
)

// Bounds of an expression, far beyond what anybody writes.
const (
	maxSource = 2000 // bytes
	maxNodes  = 500
)

// functions are the library's that an expression may use: none that loops over a list, reads the clock or makes
// text, so that an expression from somebody's file ends at once and always says the same.
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
	text := e.Get(k.Name)
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
		ast.Walk(&tree.Node, &v)
		for at := range v.ranges {
			v.fail(at, "a list from .. to is for whole numbers behind in: rank in 32..64")
		}
		if v.problem != nil {
			return nil, explain(source, v.problem.Bind(tree.Source))
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
		return false, fmt.Errorf("%s: %s", quoted(x.source), firstLine(err))
	}
	yes, ok := out.(bool)
	if !ok {
		return false, fmt.Errorf("%s: gives %T, not true or false", quoted(x.source), out)
	}
	return yes, nil
}

func firstLine(err error) string {
	var fe *file.Error
	if errors.As(err, &fe) {
		return fe.Message
	}
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// visitor looks at an expression before it is compiled: which keys it reads, and what the library would let pass.
type visitor struct {
	names   map[string]experiment.Key
	reads   map[string]experiment.Key
	ranges  map[ast.Node]bool // lists from .. to that the library would spell out
	problem *file.Error
}

// Visit implements ast.Visitor. Operands come before their operators.
func (v *visitor) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.IdentifierNode:
		if k, ok := v.names[n.Value]; ok {
			v.reads[n.Value] = k
		} else if n.Value == "$env" {
			v.fail(n, "name a key instead of $env")
		}
	case *ast.BinaryNode:
		switch n.Operator {
		case "==", "!=":
			v.compares(n.Left, n.Right)
			v.compares(n.Right, n.Left)
		case "in":
			v.within(n.Left, n.Right)
		case "..":
			v.ranges[n] = true
		}
	}
}

// within looks at "left in right". A range of whole numbers is compared with its ends there, not spelled out.
func (v *visitor) within(left, right ast.Node) {
	switch r := right.(type) {
	case *ast.ArrayNode:
		for _, item := range r.Nodes {
			v.compares(left, item)
		}
	case *ast.BinaryNode:
		id, named := left.(*ast.IdentifierNode)
		_, lo := r.Left.(*ast.IntegerNode)
		_, hi := r.Right.(*ast.IntegerNode)
		if named && lo && hi && v.names[id.Value].Kind == experiment.Int {
			delete(v.ranges, r)
		}
	}
}

// compares refuses a choice compared with what it can never be: such a condition says nothing, silently.
func (v *visitor) compares(left, right ast.Node) {
	id, ok := left.(*ast.IdentifierNode)
	if !ok {
		return
	}
	text, ok := right.(*ast.StringNode)
	k := v.names[id.Value]
	if !ok || k.Kind != experiment.Choice || slices.Contains(k.Choices, text.Value) {
		return
	}
	v.fail(right, fmt.Sprintf("%s is never %s; nearest: %s; allowed: %s", k.Name, quoted(text.Value), experiment.Closest(text.Value, k.Choices), k.Allowed()))
}

func (v *visitor) fail(at ast.Node, message string) {
	if v.problem == nil {
		v.problem = &file.Error{Location: at.Location(), Message: message}
	}
}

// explain is a library's error with the expression, the place in it and the nearest key.
func explain(source string, err error) error {
	var fe *file.Error
	if !errors.As(err, &fe) {
		return fmt.Errorf("%s: %s", quoted(source), firstLine(err))
	}
	message := fe.Message
	if name, ok := strings.CutPrefix(message, "unknown name "); ok {
		message += hint(source, fe.From, name)
	}
	at := fmt.Sprintf("column %d", fe.Column+1)
	if fe.Line > 1 {
		at = fmt.Sprintf("line %d %s", fe.Line, at)
	}
	return fmt.Errorf("%s, %s: %s", quoted(source), at, message)
}

// hint says what an unknown name may have been meant for.
func hint(source string, at int, name string) string {
	var all []string
	for _, k := range experiment.Keys() {
		all = append(all, k.Name)
		if strings.Contains(k.Name, "-") && around(source, k.Name, at) {
			return "; in expressions " + k.Name + " is written " + nameOf(k.Name)
		}
		for _, c := range k.Choices {
			if around(source, c, at) {
				return fmt.Sprintf("; text stands in quotes: %q", c)
			}
		}
	}
	return "; nearest: " + nameOf(experiment.Closest(name, all))
}

// around reports whether a word of the source covers a place in it.
func around(source, word string, at int) bool {
	runes := []rune(source)
	for from := max(0, at-len(word)); from <= at && from+len(word) <= len(runes); from++ {
		if string(runes[from:from+len(word)]) == word && from+len(word) > at && !wordAt(runes, from-1) && !wordAt(runes, from+len(word)) {
			return true
		}
	}
	return false
}

// wordAt reports whether a name goes on at a place.
func wordAt(runes []rune, i int) bool {
	if i < 0 || i >= len(runes) {
		return false
	}
	c := runes[i]
	return c == '_' || c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
