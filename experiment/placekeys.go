package experiment

import (
	"slices"
	"strings"
)

// atPlaces are the keys that mean something at some places only, and those places.
var atPlaces = []struct {
	key    string
	places []string
}{
	{"hosts", []string{WhereSSH}},
	{"account", []string{WhereSlurm}},
	{"partition", []string{WhereSlurm}},
	{"time", []string{WhereSlurm}},
	{"qos", []string{WhereSlurm}},
	{"constraint", []string{WhereSlurm}},
	{"setup", []string{WhereSSH, WhereSlurm}},
	{"interface", []string{WhereSSH, WhereSlurm}},
}

// placeKeys refuses what is said of a place and means nothing at the chosen one: who says it has other machines in mind, and would
// get a run here without a word.
func (c *checker) placeKeys() {
	place := c.e.place()
	if c.has("where") {
		return
	}
	for _, k := range atPlaces {
		if c.e.Get(k.key) != "" && !slices.Contains(k.places, place) {
			c.add(k.key, "means something where it runs", "means nothing with --where "+place+": say --where "+strings.Join(k.places, " or ")+", or leave it out")
		}
	}
}

// ForPlace is the experiment without what was said of another place than its own and was carried over from an earlier one: the keys that
// mean nothing where it runs and are as in the earlier.
func (e Experiment) ForPlace(earlier Experiment) Experiment {
	place := e.place()
	def := Default()
	for _, k := range atPlaces {
		if !slices.Contains(k.places, place) && e.Get(k.key) == earlier.Get(k.key) {
			if key, ok := KeyOf(k.key); ok {
				_ = key.set(&e, def.Get(k.key)) // a key takes its own default
			}
		}
	}
	return e
}

func (e Experiment) place() string {
	if e.Where.Where == "" {
		return WhereLocal
	}
	return e.Where.Where
}
