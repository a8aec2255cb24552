package main

import (
	"fmt"
	"math"
	"math/rand"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var small = limits{writesBefore: 1, readsBefore: 1, timeout: 20 * time.Second}

func TestHistoriesMadeByHand(t *testing.T) {
	wanted := map[string]string{"good": linearizable, "bad": notLinearizable, "invalid": invalid}
	paths, err := filepath.Glob("histories/*.jsonl")
	if err != nil || len(paths) < 20 {
		t.Fatalf("%d histories: %v", len(paths), err)
	}
	for _, path := range paths {
		name := filepath.Base(path)
		kind, _, _ := strings.Cut(name, "-")
		if said := judgeFile(path, small); said.Verdict != wanted[kind] {
			t.Errorf("%s is %s: %s", name, said.Verdict, said.Reason)
		}
	}
}

func TestAMissingFileIsNoGoodHistory(t *testing.T) {
	if said := judgeFile("histories/nothing.jsonl", small); said.Verdict != invalid {
		t.Errorf("it is %s", said.Verdict)
	}
}

// live makes the history of a log that is one: every operation takes effect at one moment between its ends. Some
// answers get lost, before or after that moment, and some events are sent again.
func live(random *rand.Rand, operations int) *history {
	type effect struct {
		atUs int64
		run  func()
	}
	origin := &originHistory{initialSize: 1}
	placeOf := map[string]int{}
	size := origin.initialSize
	var effects []effect
	for i := 0; i < operations; i++ {
		callUs := int64(i * 10)
		atUs := callUs + random.Int63n(60)
		endUs := atUs + random.Int63n(60)
		if random.Intn(3) == 0 {
			effects = append(effects, effect{atUs, func() {
				origin.reads = append(origin.reads, read{1, size, callUs, endUs})
			}})
			continue
		}
		// Some ids are sent more than once.
		id := fmt.Sprint("event ", random.Intn(operations))
		isLost := random.Intn(8) == 0
		if isLost && random.Intn(2) == 0 {
			origin.writes = append(origin.writes, write{client: 2, id: id, isOpen: true, callUs: callUs, endUs: math.MaxInt64})
			continue
		}
		effects = append(effects, effect{atUs, func() {
			depth, isThere := placeOf[id]
			if !isThere {
				depth = size
				placeOf[id] = depth
				size++
			}
			one := write{client: 2, id: id, anchorID: "anchor of " + id, depth: depth, callUs: callUs, endUs: endUs}
			if isLost {
				one = write{client: 2, id: id, isOpen: true, callUs: callUs, endUs: math.MaxInt64}
			}
			origin.writes = append(origin.writes, one)
		}})
	}
	// Effects happen in the order of their moments; equal moments in any.
	for len(effects) > 0 {
		next := 0
		for i := range effects {
			if effects[i].atUs < effects[next].atUs {
				next = i
			}
		}
		effects[next].run()
		effects = append(effects[:next], effects[next+1:]...)
	}
	return &history{map[string]*originHistory{"o": origin}, int64(operations * 5), 1}
}

func TestEveryHistoryOfALogIsLinearizable(t *testing.T) {
	for seed := int64(0); seed < 60; seed++ {
		said := judge(live(rand.New(rand.NewSource(seed)), 300), small)
		if said.Verdict != linearizable {
			t.Fatalf("seed %d is %s: %s", seed, said.Verdict, said.Reason)
		}
	}
}

// Each breaks one promise in the middle of a good history, and says whether it found where to.
var breaches = map[string]func(*rand.Rand, *originHistory) bool{
	"a read shows less than was acknowledged before it": func(random *rand.Rand, origin *originHistory) bool {
		acknowledged := pick(random, origin, func(write) bool { return true })
		return breakRead(origin, func(one *read) bool {
			return acknowledged != nil && one.callUs > acknowledged.endUs && one.size > acknowledged.depth
		}, func(one *read) { one.size = acknowledged.depth })
	},
	"a read goes back behind an earlier one": func(random *rand.Rand, origin *originHistory) bool {
		earlier := origin.reads[random.Intn(len(origin.reads)/2)]
		return breakRead(origin, func(one *read) bool {
			return one.callUs > earlier.endUs && earlier.size > origin.initialSize
		}, func(one *read) { one.size = earlier.size - 1 })
	},
	"a read shows what begins after it": func(random *rand.Rand, origin *originHistory) bool {
		later := pick(random, origin, func(one write) bool { return isFirst(origin, one) })
		return breakRead(origin, func(one *read) bool {
			return later != nil && one.endUs < later.callUs && isUnsent(origin, later.id, one.endUs)
		}, func(one *read) { one.size = later.depth + 1 })
	},
	"an event is given two places": func(random *rand.Rand, origin *originHistory) bool {
		doubled := pick(random, origin, func(one write) bool { return one.depth > origin.initialSize })
		if doubled == nil {
			return false
		}
		again := *doubled
		again.depth = lastDepth(origin) + 1
		again.callUs, again.endUs = lastEnd(origin)+1, lastEnd(origin)+2
		origin.writes = append(origin.writes, again)
		return true
	},
	"a place is given to two events": func(random *rand.Rand, origin *originHistory) bool {
		lost := pick(random, origin, func(one write) bool { return one.depth > origin.initialSize })
		if lost == nil {
			return false
		}
		other := *lost
		other.id, other.anchorID = "another event", "another anchor"
		origin.writes = append(origin.writes, other)
		return true
	},
	"a replay names another anchor": func(random *rand.Rand, origin *originHistory) bool {
		replayed := pick(random, origin, func(write) bool { return true })
		if replayed == nil {
			return false
		}
		again := *replayed
		again.anchorID = "another anchor"
		origin.writes = append(origin.writes, again)
		return true
	},
}

func pick(random *rand.Rand, origin *originHistory, isWanted func(write) bool) *write {
	for try := 0; try < 1000; try++ {
		one := origin.writes[random.Intn(len(origin.writes))]
		if !one.isOpen && isWanted(one) {
			return &one
		}
	}
	return nil
}

func breakRead(origin *originHistory, isMet func(*read) bool, change func(*read)) bool {
	for i := range origin.reads {
		if isMet(&origin.reads[i]) {
			change(&origin.reads[i])
			return true
		}
	}
	return false
}

// isUnsent says whether no try of an event had begun by then.
func isUnsent(origin *originHistory, id string, byUs int64) bool {
	for _, one := range origin.writes {
		if one.id == id && one.callUs <= byUs {
			return false
		}
	}
	return true
}

func isFirst(origin *originHistory, asked write) bool {
	return isUnsent(origin, asked.id, asked.callUs-1)
}

func lastDepth(origin *originHistory) int {
	last := 0
	for _, one := range origin.writes {
		last = max(last, one.depth)
	}
	return last
}

func lastEnd(origin *originHistory) int64 {
	last := int64(0)
	for _, one := range origin.writes {
		if !one.isOpen {
			last = max(last, one.endUs)
		}
	}
	return last
}

func TestEveryBrokenHistoryIsRefused(t *testing.T) {
	for name, breach := range breaches {
		broken := 0
		for seed := int64(0); seed < 40; seed++ {
			random := rand.New(rand.NewSource(seed))
			recorded := live(random, 200)
			if !breach(random, recorded.origins["o"]) {
				continue
			}
			broken++
			if said := judge(recorded, small); said.Verdict != notLinearizable {
				t.Errorf("%s, seed %d: %s %s", name, seed, said.Verdict, said.Reason)
			}
		}
		if broken < 20 {
			t.Errorf("%s: only %d histories were broken", name, broken)
		}
	}
}
