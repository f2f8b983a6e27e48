// Package spelling finds the word that a misspelt one was meant to be.
//
// What must not come in: words of its own.
package spelling

// farthest is the number of differing letters from which on a word is not taken for a
// typing mistake.
const farthest = 4

// longest is the length of a word from which on none is looked for: comparing two costs their lengths multiplied.
const longest = 256

// Nearest returns the known word that is nearest to what was written, the first of
// equals; "" if none is near: at most three letters and half of the word may differ.
func Nearest(written string, known []string) string {
	best, distance := "", farthest
	if len(written) > longest {
		return best
	}
	for _, word := range known {
		if abs := len(written) - len(word); abs >= distance || -abs >= distance {
			continue // and so a long list of long words costs little
		}
		if d := editDistance(written, word); d < distance && 2*d <= len(word) {
			best, distance = word, d
		}
	}
	return best
}

// editDistance counts the letters to insert, delete or replace to turn a into b.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
