package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	f_log "github.com/transparency-dev/formats/log"
	f_note "github.com/transparency-dev/formats/note"
	f_proof "github.com/transparency-dev/formats/proof"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

func judgeReceipt(text, policyText string) (answer, error) {
	var receipt f_proof.TLogProof
	if err := receipt.Unmarshal([]byte(text)); err != nil {
		return answer{}, refuse("proof", "%w", err)
	}
	if !bytes.Equal(receipt.Marshal(), []byte(text)) {
		return answer{}, refuse("proof", "it does not print back to the same bytes")
	}
	checkpoint, found, err := judgeCheckpoint(receipt.Checkpoint, policyText)
	if err != nil {
		return answer{}, err
	}
	path := make([][]byte, len(receipt.Hashes))
	for i, hash := range receipt.Hashes {
		path[i] = hash[:]
	}
	if receipt.Index > math.MaxInt64 || checkpoint.Size > math.MaxInt64 {
		return answer{}, refuse("inclusion", "an index or size beyond 2^63 - 1")
	}
	index, size := int64(receipt.Index), int64(checkpoint.Size)
	return found, checkLeaf(receipt.ExtraData, index, size, path, checkpoint.Hash)
}

func checkLeaf(leaf []byte, index, size int64, path [][]byte, root []byte) error {
	hash := tlog.RecordHash(leaf)
	return checkInclusion(hash[:], index, size, path, root)
}

// bundle is what these libraries can judge of a bundle, docs/PROTOCOL.md: not what its leaves mean.
type bundle struct {
	TrustRoots  []string `json:"trust_roots"`
	Checkpoints []string `json:"checkpoints"`
	Leaves      []struct {
		Leaf       []byte   `json:"leaf"`
		Checkpoint int      `json:"checkpoint"`
		Inclusion  [][]byte `json:"inclusion"`
	} `json:"leaves"`
	Ranges []struct {
		Checkpoint int      `json:"checkpoint"`
		From       uint64   `json:"from"`
		Frontier   [][]byte `json:"frontier"`
		Leaves     [][]byte `json:"leaves"`
	} `json:"ranges"`
}

func judgeBundle(text json.RawMessage, pin string, policyText string) (answer, error) {
	var read bundle
	if err := json.Unmarshal(text, &read); err != nil {
		return answer{}, refuse("bundle", "%w", err)
	}
	if err := checkTrustRoots(read.TrustRoots, pin); err != nil {
		return answer{}, err
	}
	checkpoints := make([]*f_log.Checkpoint, len(read.Checkpoints))
	for i, text := range read.Checkpoints {
		checkpoint, _, err := judgeCheckpoint([]byte(text), policyText)
		if err != nil {
			return answer{}, err
		}
		checkpoints[i] = checkpoint
	}
	found := answer{}
	for _, each := range read.Leaves {
		if each.Checkpoint < 0 || each.Checkpoint >= len(checkpoints) {
			return answer{}, refuse("bundle", "no checkpoint %d", each.Checkpoint)
		}
		tree := checkpoints[each.Checkpoint]
		index, err := depthOf(each.Leaf)
		if err != nil {
			return answer{}, err
		}
		if err := checkLeaf(each.Leaf, index, int64(tree.Size), each.Inclusion, tree.Hash); err != nil {
			return answer{}, err
		}
		found.Leaves++
	}
	for _, each := range read.Ranges {
		if each.Checkpoint < 0 || each.Checkpoint >= len(checkpoints) {
			return answer{}, refuse("bundle", "no checkpoint %d", each.Checkpoint)
		}
		tree := checkpoints[each.Checkpoint]
		if err := checkRange(each.From, each.Frontier, each.Leaves, tree.Size, tree.Hash); err != nil {
			return answer{}, err
		}
		found.Leaves += len(each.Leaves)
	}
	return found, nil
}

// depthOf reads where a leaf says it stands: eight bytes after its tag, kind and origin.
func depthOf(leaf []byte) (int64, error) {
	const at = 59
	if len(leaf) < at+8 {
		return 0, refuse("leaf", "%d bytes", len(leaf))
	}
	depth := int64(0)
	for _, digit := range leaf[at : at+8] {
		depth = depth<<8 | int64(digit)
	}
	return depth, nil
}

// checkTrustRoots begins with the document whose text has the pinned hash, and holds every one from there on against
// enough root keys of the one before it and of itself. What else a chain must keep to is this project's own.
func checkTrustRoots(documents []string, pin string) error {
	at := slices.IndexFunc(documents, func(document string) bool { return hashOfText(document) == pin })
	if at < 0 {
		return refuse("trust root", "no document has the hash %s", pin)
	}
	earlier := ""
	for _, document := range documents[at:] {
		own := rootLine(document)
		if own == "" {
			return refuse("trust root", "a document without root keys")
		}
		for _, keys := range []string{earlier, own} {
			if err := checkRootKeys(document, keys); err != nil {
				return err
			}
		}
		earlier = own
	}
	return nil
}

func hashOfText(document string) string {
	text, _, _ := strings.Cut(document, "\n\n")
	hash := sha256.Sum256([]byte(text + "\n"))
	return hex.EncodeToString(hash[:])
}

// rootLine is what follows `root`: the threshold and the keys.
func rootLine(document string) string {
	for line := range strings.Lines(document) {
		if rest, ok := strings.CutPrefix(line, "root "); ok {
			return strings.TrimSuffix(rest, "\n")
		}
	}
	return ""
}

func checkRootKeys(document, keys string) error {
	if keys == "" {
		return nil
	}
	words := strings.Fields(keys)
	threshold, err := strconv.Atoi(words[0])
	if err != nil {
		return refuse("trust root", "%w", err)
	}
	verifiers := make([]note.Verifier, len(words)-1)
	for i, vkey := range words[1:] {
		if verifiers[i], err = f_note.NewVerifier(vkey); err != nil {
			return refuse("trust root", "%w", err)
		}
	}
	opened, err := note.Open([]byte(document), note.VerifierList(verifiers...))
	if err != nil {
		return refuse("trust root", "%w", err)
	}
	if len(opened.Sigs) < threshold {
		return refuse("trust root", "%d root keys have signed, %d are needed", len(opened.Sigs), threshold)
	}
	return nil
}
