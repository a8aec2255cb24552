package main

import (
	"errors"

	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// exportNew creates a RawNode; the output is its handle.
//
//go:wasmexport raft_new
func exportNew(size uint32) (status uint32) {
	output.reset()
	defer publishOutput()
	defer func() {
		if p := recover(); p != nil {
			status = reportPanic(p)
		}
	}()
	n := newNode(taken(size))
	lastHandle++
	nodes[lastHandle] = n
	output.u32(lastHandle)
	left.status = n.status()
	if n.raw.HasReady() {
		return statusOK | readyBit
	}
	return statusOK
}

//go:wasmexport raft_free
func exportFree(handle uint32) uint32 {
	delete(nodes, handle)
	return statusOK
}

//go:wasmexport raft_tick
func exportTick(handle uint32) uint32 {
	return call(handle, func(n *node) uint32 {
		n.raw.Tick()
		return statusOK
	})
}

// exportStep steps the messages that the input holds, one after the other.
//
//go:wasmexport raft_step
func exportStep(handle, size uint32) uint32 {
	return call(handle, func(n *node) uint32 {
		for r := taken(size); r.at < len(r.buf); {
			status := n.refused(n.raw.Step(readMessage(r)))
			// The library names a response of a node it no longer tracks; that is late news, and nothing has happened.
			if status != statusOK && status != statusStepRefused {
				return status
			}
		}
		return statusOK
	})
}

//go:wasmexport raft_campaign
func exportCampaign(handle uint32) uint32 {
	return call(handle, func(n *node) uint32 { return n.refused(n.raw.Campaign()) })
}

//go:wasmexport raft_forget_leader
func exportForgetLeader(handle uint32) uint32 {
	return call(handle, func(n *node) uint32 { return n.refused(n.raw.ForgetLeader()) })
}

// exportTransferLeader refuses on a node that does not lead: the library would forward the request to the leader in
// the name of the transferee.
//
//go:wasmexport raft_transfer_leader
func exportTransferLeader(handle uint32, to uint64) uint32 {
	return call(handle, func(n *node) uint32 {
		if n.raw.BasicStatus().RaftState != raft.StateLeader {
			return statusNotLeader
		}
		n.raw.TransferLeader(to)
		return statusOK
	})
}

//go:wasmexport raft_propose
func exportPropose(handle, ticket, payloadBytes uint32) uint32 {
	return call(handle, func(n *node) uint32 {
		return n.propose(pb.EntryNormal, ticketed(ticket, payloadBytes))
	})
}

//go:wasmexport raft_propose_conf_change
func exportProposeConfChange(handle, size uint32) uint32 {
	return call(handle, func(n *node) uint32 {
		_, encoded, err := pb.MarshalConfChange(readConfChange(taken(size)))
		if err != nil {
			panic(err)
		}
		return n.propose(pb.EntryConfChangeV2, encoded)
	})
}

//go:wasmexport raft_decode_conf_change
func exportDecodeConfChange(handle, size uint32) uint32 {
	return call(handle, func(n *node) uint32 {
		change := &pb.ConfChangeV2{}
		if proto.Unmarshal(taken(size).buf, change) != nil || !writeConfChange(&output, change) {
			output.reset()
			return statusInvalid
		}
		return statusOK
	})
}

//go:wasmexport raft_apply_conf_change
func exportApplyConfChange(handle, size uint32) uint32 {
	return call(handle, func(n *node) uint32 {
		change := &pb.ConfChangeV2{}
		if err := proto.Unmarshal(taken(size).buf, change); err != nil {
			return statusInvalid
		}
		writeConfState(&output, n.raw.ApplyConfChange(change))
		return statusOK
	})
}

//go:wasmexport raft_conf_state
func exportConfState(handle uint32) uint32 {
	return call(handle, func(n *node) uint32 {
		writeConfState(&output, n.confState())
		return statusOK
	})
}

//go:wasmexport raft_read_index
func exportReadIndex(handle, size uint32) uint32 {
	return call(handle, func(n *node) uint32 {
		n.raw.ReadIndex(taken(size).copied(int(size)))
		return statusOK
	})
}

//go:wasmexport raft_report_unreachable
func exportReportUnreachable(handle uint32, id uint64) uint32 {
	return call(handle, func(n *node) uint32 {
		n.raw.ReportUnreachable(id)
		return statusOK
	})
}

//go:wasmexport raft_report_snapshot
func exportReportSnapshot(handle uint32, id uint64, ok uint32) uint32 {
	return call(handle, func(n *node) uint32 {
		status := raft.SnapshotFailure
		if ok != 0 {
			status = raft.SnapshotFinish
		}
		n.raw.ReportSnapshot(id, status)
		return statusOK
	})
}

//go:wasmexport raft_ready
func exportReady(handle uint32) uint32 {
	return call(handle, func(n *node) uint32 {
		writeReady(&output, n.raw.Ready())
		return statusOK
	})
}

//go:wasmexport raft_mirror_append
func exportMirrorAppend(handle, size uint32) uint32 {
	return call(handle, func(n *node) uint32 { return valid(n.storage.append(readEntries(taken(size)))) })
}

//go:wasmexport raft_mirror_hard_state
func exportMirrorHardState(handle, size uint32) uint32 {
	return call(handle, func(n *node) uint32 {
		n.storage.hardState = readHardState(taken(size))
		return statusOK
	})
}

//go:wasmexport raft_mirror_snapshot
func exportMirrorSnapshot(handle, size uint32) uint32 {
	return call(handle, func(n *node) uint32 {
		n.storage.reset(readSnapshot(taken(size)))
		return statusOK
	})
}

//go:wasmexport raft_mirror_compact
func exportMirrorCompact(handle, size uint32) uint32 {
	return call(handle, func(n *node) uint32 {
		r := taken(size)
		index := r.u64()
		if index > n.raw.BasicStatus().Applied {
			return statusInvalid
		}
		return valid(n.storage.compact(index, readConfState(r)))
	})
}

//go:wasmexport raft_progress
func exportProgress(handle uint32) uint32 {
	return call(handle, func(n *node) uint32 {
		n.writeProgress(&output)
		return statusOK
	})
}

// exportTermAt leaves the output empty when the log does not reach to index.
//
//go:wasmexport raft_term_at
func exportTermAt(handle uint32, index float64) uint32 {
	return call(handle, func(n *node) uint32 {
		if term, ok := n.termAt(uint64(index)); ok {
			output.u64(term)
		}
		return statusOK
	})
}

// refused maps an error of Step; anything but the library's two refusals is unforeseen.
func (n *node) refused(err error) uint32 {
	switch {
	case err == nil:
		return statusOK
	case errors.Is(err, raft.ErrProposalDropped):
		return statusProposalDropped
	case errors.Is(err, raft.ErrStepLocalMsg), errors.Is(err, raft.ErrStepPeerNotFound):
		return statusStepRefused
	default:
		panic(err)
	}
}

func valid(ok bool) uint32 {
	if ok {
		return statusOK
	}
	return statusInvalid
}
