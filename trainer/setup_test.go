package trainer

import "testing"

func TestLibrariesAreToldApart(t *testing.T) {
	for want, libraries := range map[string][]string{
		"no libraries":                         nil,
		"one 1.0 (/a)":                         {"one 1.0 (/a)"},
		"cuBLASLt 13.0 (/a b), NCCL 2.28 (/c)": {"cuBLASLt 13.0 (/a b)", "NCCL 2.28 (/c)"},
	} {
		if got := librariesText(libraries); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
