package experiment

import "strconv"

// nearest gives the closest numbers below and above n, from 1 to most, that are ok; n itself counts as below.
func nearest(n, most int, ok func(int) bool) []string {
	var out []string
	for i := min(n, most); i >= 1; i-- {
		if ok(i) {
			out = append(out, strconv.Itoa(i))
			break
		}
	}
	for i := max(n+1, 1); i <= most; i++ {
		if ok(i) {
			out = append(out, strconv.Itoa(i))
			break
		}
	}
	return out
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func lcm(a, b int) int { return a / gcd(a, b) * b }
