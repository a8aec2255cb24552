package main

import (
	"slices"
	"strings"

	"github.com/transparency-dev/formats/log"
	f_note "github.com/transparency-dev/formats/note"
	"github.com/transparency-dev/formats/witness"
	"golang.org/x/mod/sumdb/note"
)

func judgeNote(text string, vkeys []string) (answer, error) {
	verifiers := make([]note.Verifier, len(vkeys))
	for i, vkey := range vkeys {
		verifier, err := f_note.NewVerifier(vkey)
		if err != nil {
			return answer{}, refuse("vkey", "%w", err)
		}
		verifiers[i] = verifier
	}
	opened, err := note.Open([]byte(text), note.VerifierList(verifiers...))
	if err != nil {
		return answer{}, refuse("note", "%w", err)
	}
	return answer{Signers: signersOf(opened)}, nil
}

func signersOf(opened *note.Note) []string {
	names := make([]string, len(opened.Sigs))
	for i, signature := range opened.Sigs {
		names[i] = signature.Name
	}
	return names
}

// policy is what transparency-dev reads of a policy file, and its log lines, which that parser passes over.
type policy struct {
	quorum    witness.Group
	witnesses map[string]note.Verifier
	logs      []note.Verifier
}

func readPolicy(text string) (policy, error) {
	quorum, err := witness.ParsePolicy([]byte(text))
	if err != nil {
		return policy{}, refuse("policy", "%w", err)
	}
	logs := []note.Verifier{}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 2 || words[0] != "log" {
			continue
		}
		verifier, err := note.NewVerifier(words[1])
		if err != nil {
			return policy{}, refuse("policy", "%w", err)
		}
		logs = append(logs, verifier)
	}
	return policy{quorum, quorum.Endpoints(), logs}, nil
}

func judgePolicy(text string) (answer, error) {
	rule, err := readPolicy(text)
	if err != nil {
		return answer{}, err
	}
	found := answer{Threshold: rule.quorum.N}
	for address, verifier := range rule.witnesses {
		found.Addresses = append(found.Addresses, address)
		found.Signers = append(found.Signers, verifier.Name())
	}
	slices.Sort(found.Addresses)
	slices.Sort(found.Signers)
	return found, nil
}

// judgeQuorum asks the parser of policies alone: whoever else has signed is nothing to it.
func judgeQuorum(text, policyText string) error {
	rule, err := readPolicy(policyText)
	if err != nil {
		return err
	}
	if !rule.quorum.Satisfied([]byte(text)) {
		return refuse("quorum", "fewer than %d of the policy's keys have signed", rule.quorum.N)
	}
	return nil
}

// judgeCheckpoint opens a checkpoint with the keys of a policy, and with nothing else.
func judgeCheckpoint(text []byte, policyText string) (*log.Checkpoint, answer, error) {
	rule, err := readPolicy(policyText)
	if err != nil {
		return nil, answer{}, err
	}
	origin, _, _ := strings.Cut(string(text), "\n")
	at := slices.IndexFunc(rule.logs, func(each note.Verifier) bool { return each.Name() == origin })
	if at < 0 {
		return nil, answer{}, refuse("origin", "the policy knows no log %q", origin)
	}
	cosigners := []note.Verifier{}
	for _, verifier := range rule.witnesses {
		cosigners = append(cosigners, verifier)
	}
	checkpoint, rest, opened, err := log.ParseCheckpoint(text, origin, rule.logs[at], cosigners...)
	if err != nil {
		return nil, answer{}, refuse("checkpoint", "%w", err)
	}
	if len(rest) > 0 {
		return nil, answer{}, refuse("checkpoint", "extension lines: %q", rest)
	}
	if !rule.quorum.Satisfied(text) {
		return nil, answer{}, refuse("quorum", "%d of the policy's keys have signed", len(opened.Sigs)-1)
	}
	return checkpoint, answer{Signers: signersOf(opened), Origin: origin, Size: checkpoint.Size}, nil
}
