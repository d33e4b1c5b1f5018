package experiment

import "strings"

// clip keeps text of a stranger's file short in an error.
func clip(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// list is "a, b or c".
func list(words []string) string { return enumerate(words, " or ") }

// and is "a, b and c".
func and(words []string) string { return enumerate(words, " and ") }

func enumerate(words []string, last string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + last + words[len(words)-1]
}

// Closest is the word of a list that comes nearest to one that is not in it, for errors.
func Closest(word string, words []string) string { return closest(word, words) }

// closest is the word with the smallest edit distance, the first of equals.
func closest(word string, words []string) string {
	word = clip(strings.ToLower(strings.ReplaceAll(word, "_", "-")))
	best, found := 1<<30, ""
	for _, w := range words {
		if d := distance(word, w); d < best {
			best, found = d, w
		}
	}
	return found
}

// distance is the number of insertions, deletions and replacements between two words.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			d := diagonal
			if a[i] != b[j] {
				d++
			}
			diagonal = row[j+1]
			row[j+1] = min(d, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
