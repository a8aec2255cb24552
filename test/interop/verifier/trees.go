package main

import (
	"bytes"

	"github.com/transparency-dev/merkle/compact"
	"github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"
	"golang.org/x/mod/sumdb/tlog"
)

const hashBytes = tlog.HashSize

// sumdbHashes turns hashes into those of x/mod, whose type fixes the length that transparency-dev checks for itself.
func sumdbHashes(hashes ...[]byte) ([]tlog.Hash, bool) {
	converted := make([]tlog.Hash, len(hashes))
	for i, hash := range hashes {
		if len(hash) != hashBytes {
			return nil, false
		}
		converted[i] = tlog.Hash(hash)
	}
	return converted, true
}

// agree asks for one verdict of both libraries. That they differ is a finding of its own.
func agree(step string, bySumdb, byTransparencyDev error) error {
	switch {
	case bySumdb == nil && byTransparencyDev == nil:
		return nil
	case bySumdb != nil && byTransparencyDev != nil:
		return refuse(step, "x/mod: %v; transparency-dev: %v", bySumdb, byTransparencyDev)
	default:
		return refuse("disagreement", "%s: x/mod: %v; transparency-dev: %v", step, bySumdb, byTransparencyDev)
	}
}

func checkInclusion(leafHash []byte, index, size int64, path [][]byte, root []byte) error {
	if index < 0 || size < 0 {
		return refuse("inclusion", "a negative index or size")
	}
	ends, endsOk := sumdbHashes(leafHash, root)
	between, betweenOk := sumdbHashes(path...)
	if !endsOk || !betweenOk {
		return refuse("inclusion", "a hash of another length than %d bytes", hashBytes)
	}
	bySumdb := tlog.CheckRecord(between, size, ends[1], index, ends[0])
	byTransparencyDev := proof.VerifyInclusion(rfc6962.DefaultHasher, uint64(index), uint64(size), leafHash, path, root)
	return agree("inclusion", bySumdb, byTransparencyDev)
}

func checkConsistency(oldSize int64, oldRoot []byte, size int64, root []byte, path [][]byte) error {
	if oldSize < 0 || size < 0 {
		return refuse("consistency", "a negative size")
	}
	ends, endsOk := sumdbHashes(oldRoot, root)
	between, betweenOk := sumdbHashes(path...)
	if !endsOk || !betweenOk {
		return refuse("consistency", "a hash of another length than %d bytes", hashBytes)
	}
	bySumdb := tlog.CheckTree(between, size, ends[1], oldSize, ends[0])
	byTransparencyDev := proof.VerifyConsistency(
		rfc6962.DefaultHasher, uint64(oldSize), uint64(size), path, oldRoot, root)
	return agree("consistency", bySumdb, byTransparencyDev)
}

// checkRange rebuilds the root of a tree from the subtrees of its first leaves, largest first, and all other leaves.
func checkRange(from uint64, frontier [][]byte, leaves [][]byte, size uint64, root []byte) error {
	if uint64(len(leaves)) > size || from != size-uint64(len(leaves)) {
		return refuse("range", "%d leaves from %d on, in a tree of %d", len(leaves), from, size)
	}
	for _, hash := range frontier {
		if len(hash) != hashBytes {
			return refuse("range", "a hash of another length than %d bytes", hashBytes)
		}
	}
	factory := compact.RangeFactory{Hash: rfc6962.DefaultHasher.HashChildren}
	tree, err := factory.NewRange(0, from, frontier)
	if err != nil {
		return refuse("range", "%w", err)
	}
	for _, leaf := range leaves {
		if err := tree.Append(rfc6962.DefaultHasher.HashLeaf(leaf), nil); err != nil {
			return refuse("range", "%w", err)
		}
	}
	rebuilt, err := tree.GetRootHash(nil)
	if err != nil {
		return refuse("range", "%w", err)
	}
	if !bytes.Equal(rebuilt, root) {
		return refuse("range", "the leaves have the root %x, the checkpoint %x", rebuilt, root)
	}
	return nil
}
