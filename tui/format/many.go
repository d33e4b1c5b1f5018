package format

// Many is "1 run", "2 runs", "12 000 runs".
func Many(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return Count(int64(n)) + " " + what + "s"
}
