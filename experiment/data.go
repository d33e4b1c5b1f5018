package experiment

import (
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"
)

// DataPart is one file or folder that data names, and how much of what is trained on comes from it.
type DataPart struct {
	Path   string
	Weight float64 // above 0; shares are weights over their sum
}

// maxDataParts bounds what one value names.
const maxDataParts = 1 << 10

// ParseData reads a value of data: parts separated by commas, each PATH or PATH:WEIGHT. In a path, a backslash takes the meaning of a comma, colon or
// backslash away. A weight that is not said is 1.
func ParseData(text string) ([]DataPart, error) {
	var parts []DataPart
	for _, piece := range cutData(text, ',') {
		p := DataPart{Weight: 1}
		sides := cutData(piece, ':')
		last := sides[len(sides)-1]
		if w, err := strconv.ParseFloat(last, 64); err == nil && len(sides) > 1 {
			if !(w > 0) || math.IsInf(w, 0) {
				return nil, fmt.Errorf("data: the weight %s of %q is not above 0", last, clip(piece))
			}
			p.Weight, sides = w, sides[:len(sides)-1]
		}
		p.Path = unquoteData.Replace(strings.Join(sides, ":"))
		if p.Path == "" {
			return nil, fmt.Errorf("data: %q names an empty path", clip(text))
		}
		if parts = append(parts, p); len(parts) > maxDataParts {
			return nil, fmt.Errorf("data: more than %d parts: name a folder", maxDataParts)
		}
	}
	return parts, nil
}

// cutData cuts at a separator that no backslash stands before.
func cutData(text string, at byte) []string {
	var out []string
	from := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case at:
			out = append(out, text[from:i])
			from = i + 1
		}
	}
	return append(out, text[from:])
}

var (
	quoteData   = strings.NewReplacer(`\`, `\\`, ",", `\,`, ":", `\:`)
	unquoteData = strings.NewReplacer(`\\`, `\`, `\,`, ",", `\:`, ":")
)

// FormatData is the value that names the parts.
func FormatData(parts []DataPart) string {
	var out []string
	for _, p := range parts {
		s := quoteData.Replace(p.Path)
		if p.Weight != 1 {
			s += ":" + strconv.FormatFloat(p.Weight, 'g', -1, 64)
		}
		out = append(out, s)
	}
	return strings.Join(out, ",")
}

// AbsoluteData makes a value of data independent of the folder that it was said in.
func AbsoluteData(text string) (string, error) {
	if text == "" || text == DataEmbedded {
		return text, nil
	}
	parts, err := ParseData(text)
	if err != nil {
		return "", err
	}
	for i := range parts {
		if parts[i].Path == DataEmbedded {
			continue
		}
		if parts[i].Path, err = filepath.Abs(parts[i].Path); err != nil {
			return "", fmt.Errorf("data %s: %w", text, err)
		}
	}
	return FormatData(parts), nil
}
