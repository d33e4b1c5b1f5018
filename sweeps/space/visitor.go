package space

import (
	"fmt"
	"slices"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"

	"boost-tui/experiment"
)

// visitor looks at an expression before it is compiled: which keys it reads, and what the library would let pass (its
// loops over lists cannot be switched off there).
type visitor struct {
	names   map[string]experiment.Key
	reads   map[string]experiment.Key
	ranges  map[ast.Node]bool // lists from .. to that the library would spell out
	problem *file.Error
}

// look goes through an expression. The first problem in it counts.
func (v *visitor) look(root ast.Node) *file.Error {
	ast.Walk(&root, v)
	for at := range v.ranges {
		v.fail(at, "a list from .. to is for whole numbers behind in: rank in 32..64")
	}
	return v.problem
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
	case *ast.BuiltinNode:
		if !slices.Contains(functions[:], n.Name) {
			v.fail(n, noFunction(n.Name))
		}
	case *ast.VariableDeclaratorNode: // doubling a text over and over would fill the memory
		v.fail(n, "let is not for expressions over an experiment")
	case *ast.BinaryNode:
		switch n.Operator {
		case "matches":
			v.fail(n, "matches is not for expressions over an experiment; there are contains, startsWith and endsWith")
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
	if v.problem == nil || at.Location().From < v.problem.From {
		v.problem = &file.Error{Location: at.Location(), Message: message}
	}
}
