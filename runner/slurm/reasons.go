package slurm

import (
	"regexp"
	"strings"
)

// reason is a word of Slurm's for why a job waits, in people's words.
type reason struct {
	text string
	// never says that waiting alone will not help: what is wrong has to be changed.
	never bool
}

// reasons are those that a job of a run can meet with. Whatever else there is, is shown as it is.
var reasons = map[string]reason{
	"Priority":                    {"waits behind jobs of higher priority", false},
	"Resources":                   {"is next in line and waits for nodes to become free", false},
	"BeginTime":                   {"waits for its start time", false},
	"Dependency":                  {"waits for another job", false},
	"DependencyNeverSatisfied":    {"waits for a job that failed, so it will never start: cancel it", true},
	"JobHeldUser":                 {"is held by its user: scontrol release lets it go", true},
	"JobHeldAdmin":                {"is held by an administrator", true},
	"JobHoldMaxRequeue":           {"is held: it was requeued too often", true},
	"launch failed requeued held": {"is held: its nodes could not start it", true},
	"Licenses":                    {"waits for a licence", false},
	"Reservation":                 {"waits for its reservation to begin", false},
	"ReservationDeleted":          {"was for a reservation that is gone, so it will never start: cancel it", true},
	"ReqNodeNotAvail":             {"waits for nodes that are down, drained or reserved", false},
	"NodeDown":                    {"waits for a node that is down", false},
	"BadConstraints":              {"asks for nodes that no partition has, so it will never start: change constraint, nodes or memory", true},
	"PartitionDown":               {"waits: its partition is down", false},
	"PartitionInactive":           {"waits: its partition is inactive", false},
	"PartitionNodeLimit":          {"asks for more nodes than its partition gives (or has up), so it will not start as it is: say fewer nodes or another partition", true},
	"PartitionTimeLimit":          {"asks for more time than its partition gives, so it will not start as it is: say less time or another partition", true},
	"PartitionConfig":             {"asks for what its partition does not give, so it will not start as it is: say another partition", true},
	"AccountNotAllowed":           {"names an account that its partition does not take: say another account or partition", true},
	"QOSNotAllowed":               {"names a quality of service that its partition or account does not take: say another qos", true},
	"InvalidAccount":              {"names an account that is not valid (any more): say another account", true},
	"InvalidQOS":                  {"names a quality of service that is not valid (any more): say another qos", true},
	"QOSUsageThreshold":           {"waits: its quality of service has used up its share", false},
	"AssociationJobLimit":         {"waits: as many jobs of its account run as may", false},
	"AssociationResourceLimit":    {"waits: its account uses as much as it may", false},
	"AssociationTimeLimit":        {"waits: its account has used up its time", false},
	"QOSJobLimit":                 {"waits: as many jobs of its quality of service run as may", false},
	"QOSResourceLimit":            {"waits: its quality of service uses as much as it may", false},
	"QOSTimeLimit":                {"asks for more time than its quality of service gives: say less time", true},
	"JobArrayTaskLimit":           {"waits: as many tasks of its array run as may", false},
	"Prolog":                      {"has nodes, which are being prepared", false},
	"Cleaning":                    {"is being cleaned up before it starts again", false},
	"Constraints":                 {"waits for nodes with the features that it asks for", false},
	"FrontEndDown":                {"waits: no front end is up", false},
	"InactiveLimit":               {"was idle for too long", false},
	"SchedDefer":                  {"was just submitted", false},
	"MaxMemPerLimit":              {"asks for more memory than may be asked for: it will not start as it is", true},
	"SystemFailure":               {"met with a failure of the system", false},
	"FedJobLock":                  {"waits for the clusters of its federation to agree", false},
	"OutOfMemory":                 {"used more memory than it had asked for", false},
	"TimeLimit":                   {"reached its time limit", false},
	"NodeFail":                    {"lost a node", false},
	"JobLaunchFailure":            {"could not be started on its nodes", false},
	"NonZeroExitCode":             {"its script failed", false},
	"Nodes_required_for_job_are_DOWN,_DRAINED_or_reserved_for_jobs_in_higher_priority_partitions": {"waits for nodes that are down, drained or reserved", false},
}

// limitName takes the names of limits apart: QOSMaxCpuPerUserLimit, AssocGrpNodeLimit and some sixty more.
var limitName = regexp.MustCompile(`^(QOS|Assoc)(Grp|Max)?([A-Za-z]*?)(PerUser|PerAccount|PerJob|PerNode|PA|PU)?(Mins|RunMinutes|Minutes)?(Limit)?$`)

// Words say a reason in people's words; a word that is not known is shown as it is. The text makes a sentence with
// "Slurm job 12" before it.
func Words(r string) string { return lookUp(r).text }

// Hopeless reports that a job with this reason will not start unless something is changed.
func Hopeless(r string) bool { return lookUp(r).never }

func lookUp(r string) reason {
	r = word(r)
	if r == "" {
		return reason{"was just submitted", false}
	}
	if known, ok := reasons[r]; ok {
		return known
	}
	key, _, _ := strings.Cut(strings.NewReplacer("(", ",", " ", ",").Replace(r), ",")
	if known, ok := reasons[key]; ok {
		detail := strings.Trim(strings.ReplaceAll(strings.TrimPrefix(r, key), "_", " "), " ,()")
		if detail != "" && len(detail) <= 120 {
			known.text += " (" + detail + ")"
		}
		return known
	}
	if m := limitName.FindStringSubmatch(key); m != nil && m[3] != "" {
		return limitReached(m)
	}
	if strings.HasPrefix(r, "Nodes_required") || strings.HasPrefix(r, "Nodes required") {
		return reason{"waits for nodes that are down, drained or reserved", false}
	}
	return reason{"waits (" + r + ")", false}
}

// limitReached words a limit whose name was taken apart.
func limitReached(m []string) reason {
	whose := map[string]string{"QOS": "its quality of service", "Assoc": "its account"}[m[1]]
	per := map[string]string{"PerUser": " for each user", "PU": " for each user", "PerAccount": " for each account", "PA": " for each account",
		"PerJob": " for each job", "PerNode": " on a node"}[m[4]]
	what := map[string]string{"Cpu": "CPUs", "CPU": "CPUs", "Node": "nodes", "Nodes": "nodes", "GRES": "GPUs and the like", "Gres": "GPUs and the like", "Mem": "memory",
		"Memory": "memory", "Jobs": "jobs", "SubmitJobs": "jobs submitted", "SubmitJob": "jobs submitted", "Wall": "time", "WallDuration": "time", "WallDurationPerJob": "time for a job",
		"Billing": "billing units", "BB": "burst buffer", "License": "licences", "Energy": "energy"}[m[3]]
	if what == "" {
		what = m[3]
	}
	if m[5] != "" {
		what += " over time"
	}
	// What one job may ask for does not change while it waits.
	never := m[4] == "PerJob" || m[4] == "PerNode" || strings.HasPrefix(m[3], "Wall") && m[2] == "Max"
	text := "waits: the limit of " + whose + " on " + what + per + " is reached"
	if never {
		text = "asks for more " + what + " than " + whose + " gives" + per + ", so it will not start as it is"
	}
	return reason{text, never}
}
