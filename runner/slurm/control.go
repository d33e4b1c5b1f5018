package slurm

import (
	"regexp"
	"strconv"
	"strings"
)

// parseControl reads `scontrol --oneliner show job`: NAME=VALUE and so on, where some values are other people's text with blanks and
// "=" in it. The job's own name comes before what is needed, paths and comments after it; so the name is skipped, and the
// first value of each name counts. ok is false where it is not about that job.
func parseControl(out, id string) (j Job, ok bool) {
	for line := range strings.Lines(out) {
		if j, ok := parseControlLine(strings.TrimSpace(line)); ok && j.ID == id {
			return j, true
		}
	}
	return Job{}, false
}

// userID ends a job's name: what follows it is always there, in this form, in all versions.
var userID = regexp.MustCompile(` UserId=([^ ()]+)\((\d+)\) `)

func parseControlLine(line string) (j Job, ok bool) {
	head, ok := strings.CutPrefix(line, "JobId=")
	if !ok {
		return Job{}, false
	}
	j.ID, head, _ = strings.Cut(head, " ")
	if !digits(j.ID) || len(j.ID) > maxID {
		return Job{}, false
	}
	at := userID.FindStringSubmatchIndex(head)
	if at == nil {
		return Job{}, false
	}
	if i := strings.Index(head[:at[0]], "JobName="); i >= 0 { // array jobs have their numbers before it
		j.Name = head[i+len("JobName=") : at[0]]
	}
	j.User, j.UserID = head[at[2]:at[3]], head[at[4]:at[5]]
	seen := map[string]bool{}
	for field := range strings.FieldsSeq(head[at[1]:]) {
		name, value, has := strings.Cut(field, "=")
		if !has || seen[name] {
			continue
		}
		seen[name] = true
		j.setField(name, value)
	}
	return j, j.State != ""
}

func (j *Job) setField(name, value string) {
	switch name {
	case "JobState":
		j.State = parseState(value)
	case "Reason":
		j.Reason = word(value)
	case "Priority":
		j.Priority, _ = strconv.ParseUint(value, 10, 64)
	case "Restarts":
		j.Restarts = number(value)
	case "RunTime":
		j.Ran, _ = parseLimit(value)
	case "PreemptTime":
		j.Preempted = !parseTime(value).IsZero()
	case "TimeLimit":
		j.Limit, j.Unlimited = parseLimit(value)
	case "SubmitTime":
		j.Submitted = parseTime(value)
	case "StartTime":
		j.Start = parseTime(value)
	case "EndTime":
		j.End = parseTime(value)
	case "Partition":
		j.Partition = value
	case "NodeList":
		j.Nodes = word(value)
	case "NumNodes":
		j.NodeCount = nodeCount(value)
	case "ExitCode":
		j.Exit = parseExit(value)
	}
}

// parseExit reads CODE:SIGNAL.
func parseExit(text string) Exit {
	code, sig, ok := strings.Cut(strings.TrimSpace(text), ":")
	c, err1 := strconv.ParseUint(code, 10, 16)
	s, err2 := strconv.ParseUint(sig, 10, 16)
	if !ok || err1 != nil || err2 != nil {
		return Exit{}
	}
	return Exit{Code: int(c), Signal: int(s), Known: true}
}
