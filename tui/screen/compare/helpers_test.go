package compare_test

import (
	"boost-tui/tui/msg"
	"boost-tui/tui/testkit"
)

// compareAll asks for every run of the store.
func compareAll(s *testkit.Store) msg.CompareRuns {
	var ids []string
	for _, in := range s.Infos {
		ids = append(ids, in.ID)
	}
	return msg.CompareRuns{IDs: ids}
}
