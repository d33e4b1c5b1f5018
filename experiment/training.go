package experiment

// evaluation checks that what is said about evaluations is done.
func (c *checker) evaluation() {
	if t := c.e.Train; t.EvalData != "" && t.EvalEvery == 0 && !c.has("eval-every") {
		c.add("eval-every", "eval-data is evaluated", "is 0, so that eval-data would never be read: say how many steps lie between two evaluations", "100")
	}
}

// starts checks that weights come from one place.
func (c *checker) starts() {
	if t := c.e.Train; t.Resume != "" && t.InitFrom != "" {
		c.add("init-from", "weights come from one place", "is of no use beside resume, which brings its own weights", none)
	}
}
