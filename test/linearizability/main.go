// Says of a recorded history whether it is linearizable: whether every write and read can have taken effect at one
// moment between its beginning and its end. Exit codes: 0 it is, 1 it is not, 2 the history proves nothing or cannot
// be read, 3 there was not enough time to tell.
package main

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

const (
	linearizable    = "linearizable"
	notLinearizable = "not linearizable"
	invalid         = "invalid"
	undecided       = "undecided"
)

var exitCodes = map[string]int{linearizable: 0, notLinearizable: 1, invalid: 2, undecided: 3}

type verdict struct {
	Verdict    string `json:"verdict"`
	Reason     string `json:"reason"`
	Operations int    `json:"operations"`
	Open       int    `json:"open"`
	Faults     int    `json:"faults"`
	// Before the first fault.
	WritesBefore int `json:"writes_before"`
	ReadsBefore  int `json:"reads_before"`
}

// limits below which a history proves nothing.
type limits struct {
	writesBefore int
	readsBefore  int
	timeout      time.Duration
}

func main() {
	var least limits
	flag.IntVar(&least.writesBefore, "min-writes", 50, "acknowledged writes before the first fault, at least")
	flag.IntVar(&least.readsBefore, "min-reads", 50, "answered reads before the first fault, at least")
	flag.DurationVar(&least.timeout, "timeout", time.Minute, "to look for an order, for each origin")
	flag.Parse()
	said := judgeFile(flag.Arg(0), least)
	if err := json.NewEncoder(os.Stdout).Encode(said); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	os.Exit(exitCodes[said.Verdict])
}

func judgeFile(path string, least limits) verdict {
	file, err := os.Open(path)
	if err != nil {
		return verdict{Verdict: invalid, Reason: err.Error()}
	}
	defer file.Close()
	recorded, err := readHistory(file)
	if err != nil {
		return verdict{Verdict: invalid, Reason: err.Error()}
	}
	return judge(recorded, least)
}

func judge(recorded *history, least limits) verdict {
	said := verdict{Verdict: linearizable, Faults: recorded.faults}
	said.WritesBefore, said.ReadsBefore = recorded.loadBeforeFault()
	for _, name := range sortedNames(recorded.origins) {
		origin := recorded.origins[name]
		said.Operations += len(origin.writes) + len(origin.reads)
		for _, one := range origin.writes {
			if one.isOpen {
				said.Open++
			}
		}
	}
	if reason := tooLittle(recorded, said, least); reason != "" {
		said.Verdict, said.Reason = invalid, reason
		return said
	}
	for _, name := range sortedNames(recorded.origins) {
		if found, reason := judgeOrigin(recorded.origins[name], least.timeout); found != linearizable {
			said.Verdict, said.Reason = found, fmt.Sprintf("origin %s: %s", name, reason)
			// A history that is broken for one origin is broken, whatever cannot be told of another.
			if found == notLinearizable {
				return said
			}
		}
	}
	return said
}

func tooLittle(recorded *history, said verdict, least limits) string {
	switch {
	case recorded.faults == 0:
		return "no fault struck"
	case said.WritesBefore < least.writesBefore:
		return lessThan("writes", said.WritesBefore, least.writesBefore)
	case said.ReadsBefore < least.readsBefore:
		return lessThan("reads", said.ReadsBefore, least.readsBefore)
	default:
		return ""
	}
}

func lessThan(what string, count, least int) string {
	return fmt.Sprintf("%d %s before the first fault, at least %d are asked for", count, what, least)
}

func judgeOrigin(origin *originHistory, timeout time.Duration) (string, string) {
	known := placesOf(origin)
	model := modelOf(known)
	operations := operationsOf(origin, known)
	switch porcupine.CheckOperationsTimeout(model, operations, timeout) {
	case porcupine.Ok:
		return linearizable, ""
	case porcupine.Illegal:
		return notLinearizable, "no order explains " + culprit(model, operations, timeout)
	default:
		return undecided, "no order was found in time, nor that there is none"
	}
}

// culprit is the operation whose answer is the first, by its end, that no order explains together with all before it.
func culprit(model porcupine.Model, operations []porcupine.Operation, timeout time.Duration) string {
	byEnd := slices.Clone(operations)
	slices.SortFunc(byEnd, func(a, b porcupine.Operation) int { return cmp.Compare(a.Return, b.Return) })
	good, bad := 0, len(byEnd)
	for bad-good > 1 {
		middle := (good + bad) / 2
		if porcupine.CheckOperationsTimeout(model, upTo(byEnd, middle), timeout) == porcupine.Illegal {
			bad = middle
		} else {
			good = middle
		}
	}
	return describe(byEnd[bad-1].Input)
}

// upTo is the history as it was when the first `count` operations had ended: those that had begun by then are open,
// reads among them do not count.
func upTo(byEnd []porcupine.Operation, count int) []porcupine.Operation {
	endUs := byEnd[count-1].Return
	cut := slices.Clone(byEnd[:count])
	for _, one := range byEnd[count:] {
		if asked, isWrite := one.Input.(write); isWrite && one.Call <= endUs {
			asked.isOpen = true
			one.Input = asked
			one.Return = math.MaxInt64
			cut = append(cut, one)
		}
	}
	return cut
}

func sortedNames(origins map[string]*originHistory) []string {
	names := make([]string, 0, len(origins))
	for name := range origins {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
