package slurm

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// parseTime reads a point in time in Slurm's standard form, in UTC; zero: unknown.
func parseTime(text string) time.Time {
	t, err := time.Parse("2006-01-02T15:04:05", strings.TrimSpace(text))
	if err != nil {
		return time.Time{}
	}
	return t
}

// maxLimit bounds a time limit: what is longer is a damaged number.
const maxLimit = 100 * 365 * 24 * time.Hour

// parseLimit reads [days-]hours:minutes:seconds, or minutes:seconds; unlimited says that there is none. Zero is unknown.
func parseLimit(text string) (limit time.Duration, unlimited bool) {
	text = strings.TrimSpace(text)
	if strings.EqualFold(text, "UNLIMITED") || strings.EqualFold(text, "infinite") {
		return 0, true
	}
	days, rest, hasDays := strings.Cut(text, "-")
	if !hasDays {
		days, rest = "0", text
	}
	parts := strings.Split(rest, ":")
	units := []time.Duration{time.Hour, time.Minute, time.Second}
	switch {
	case len(parts) > 3 || len(parts) < 2 && !hasDays:
		return 0, false
	case !hasDays: // minutes:seconds has no hours
		units = units[3-len(parts):]
	}
	total, ok := scaled(days, 24*time.Hour)
	for i, p := range parts {
		d, good := scaled(p, units[i])
		total, ok = total+d, ok && good
	}
	if !ok || total > maxLimit {
		return 0, false
	}
	return total, false
}

func scaled(text string, unit time.Duration) (time.Duration, bool) {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil || time.Duration(n) > maxLimit/unit {
		return 0, false
	}
	return time.Duration(n) * unit, true
}

// Clock writes a duration as Slurm does: 4:05, 1:30:00, 2-00:00:00.
func Clock(d time.Duration) string {
	s := int64(d.Round(time.Second) / time.Second)
	days, h, m, sec := s/86400, s/3600%24, s/60%60, s%60
	switch {
	case days > 0:
		return fmt.Sprintf("%d-%02d:%02d:%02d", days, h, m, sec)
	case h > 0:
		return fmt.Sprintf("%d:%02d:%02d", h, m, sec)
	}
	return fmt.Sprintf("%d:%02d", m, sec)
}
