package layout

import "strings"

// Wrap breaks one line into lines of at most w cells, at blanks where it can. What stands in front of its first word
// stands in front of the following lines too, if there is room for it.
func Wrap(s string, w int) []string {
	if Width(s) <= w || w <= 0 {
		return []string{s}
	}
	indent := s[:len(s)-len(strings.TrimLeft(s, " "))]
	if len(indent) > w/2 {
		indent = ""
	}
	var out []string
	line := ""
	for _, word := range strings.Fields(s) {
		if line != "" && Width(line)+1+Width(word) > w {
			out, line = append(out, line), ""
		}
		if line == "" {
			line = indent + word
		} else {
			line += " " + word
		}
		for Width(line) > w { // a word wider than a line
			head := Cut(line, w, "")
			if len(head) <= len(indent) || !strings.HasPrefix(line, head) {
				break
			}
			out, line = append(out, head), indent+line[len(head):]
		}
	}
	return append(out, line)
}
