// Judges receipts, bundles and policies with libraries that this project has not written: golang.org/x/mod/sumdb and
// github.com/transparency-dev. One JSON object per line on standard input, one answer per line on standard output.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

const lineBytesMax = 64 << 20

// question names what is to be judged and holds its inputs; which of them are read depends on Ask.
type question struct {
	Ask string `json:"ask"`

	// policy, quorum, receipt, checkpoint, bundle: a policy with a URL on every witness line.
	Policy string `json:"policy"`
	// receipt: tlog-proof text.
	Proof string `json:"proof"`
	// note, quorum, checkpoint: a whole signed note.
	Note string `json:"note"`
	// note: keys whose lines must be good if they are there.
	Vkeys []string `json:"vkeys"`
	// bundle: the object itself, and the hash that its first trust root must have, in hex.
	Bundle  json.RawMessage `json:"bundle"`
	RootThk string          `json:"root_thk"`
	// inclusion: hashes in base64.
	LeafHash []byte   `json:"leaf_hash"`
	Index    int64    `json:"index"`
	Size     int64    `json:"size"`
	Root     []byte   `json:"root"`
	Path     [][]byte `json:"path"`
	// consistency: what came before.
	OldSize int64  `json:"old_size"`
	OldRoot []byte `json:"old_root"`
}

// answer says which step refused and in the tool's own words why, or what was found.
type answer struct {
	Accepted bool   `json:"accepted"`
	Step     string `json:"step,omitempty"`
	Reason   string `json:"reason,omitempty"`

	// Names of the keys whose lines are good, in the order of the note.
	Signers []string `json:"signers,omitempty"`
	Origin  string   `json:"origin,omitempty"`
	Size    uint64   `json:"size,omitempty"`
	// How many members of a policy's quorum must have signed, and the addresses of its witnesses.
	Threshold int      `json:"threshold,omitempty"`
	Addresses []string `json:"addresses,omitempty"`
	// How many leaves of a bundle were found in a tree.
	Leaves int `json:"leaves,omitempty"`
}

// refusal is an error with the step at which it happened.
type refusal struct {
	step string
	err  error
}

func (r refusal) Error() string { return fmt.Sprintf("%s: %v", r.step, r.err) }

func refuse(step string, format string, values ...any) error {
	return refusal{step, fmt.Errorf(format, values...)}
}

func judge(q question) (answer, error) {
	switch q.Ask {
	case "note":
		return judgeNote(q.Note, q.Vkeys)
	case "policy":
		return judgePolicy(q.Policy)
	case "quorum":
		return answer{}, judgeQuorum(q.Note, q.Policy)
	case "checkpoint":
		_, found, err := judgeCheckpoint([]byte(q.Note), q.Policy)
		return found, err
	case "receipt":
		return judgeReceipt(q.Proof, q.Policy)
	case "bundle":
		return judgeBundle(q.Bundle, q.RootThk, q.Policy)
	case "inclusion":
		return answer{}, checkInclusion(q.LeafHash, q.Index, q.Size, q.Path, q.Root)
	case "consistency":
		return answer{}, checkConsistency(q.OldSize, q.OldRoot, q.Size, q.Root, q.Path)
	default:
		return answer{}, fmt.Errorf("nothing is known of asking %q", q.Ask)
	}
}

func reply(line []byte) (answer, error) {
	var q question
	if err := json.Unmarshal(line, &q); err != nil {
		return answer{}, err
	}
	found, err := judge(q)
	if err == nil {
		found.Accepted = true
		return found, nil
	}
	if r, ok := err.(refusal); ok {
		return answer{Step: r.step, Reason: r.err.Error()}, nil
	}
	return answer{}, err
}

func serve(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, lineBytesMax)
	answers := json.NewEncoder(out)
	for lines.Scan() {
		found, err := reply(lines.Bytes())
		if err != nil {
			return err
		}
		if err := answers.Encode(found); err != nil {
			return err
		}
	}
	return lines.Err()
}

func main() {
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
