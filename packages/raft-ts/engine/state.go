package main

import pb "go.etcd.io/raft/v3/raftpb"

func readHardState(r *reader) *pb.HardState {
	return &pb.HardState{Term: new(r.u64()), Vote: new(r.u64()), Commit: new(r.u64())}
}

func readSnapshot(r *reader) *pb.Snapshot {
	index, term := r.u64(), r.u64()
	return newSnapshot(index, term, readConfState(r))
}

func writeSnapshot(w *writer, s *pb.Snapshot) {
	w.u64(s.GetMetadata().GetIndex())
	w.u64(s.GetMetadata().GetTerm())
	writeConfState(w, s.GetMetadata().GetConfState())
}

func readConfState(r *reader) *pb.ConfState {
	return &pb.ConfState{
		AutoLeave:      new(r.u8() != 0),
		Voters:         readIDs(r),
		VotersOutgoing: readIDs(r),
		Learners:       readIDs(r),
		LearnersNext:   readIDs(r),
	}
}

func writeConfState(w *writer, c *pb.ConfState) {
	w.bool(c.GetAutoLeave())
	writeIDs(w, c.GetVoters())
	writeIDs(w, c.GetVotersOutgoing())
	writeIDs(w, c.GetLearners())
	writeIDs(w, c.GetLearnersNext())
}

func readIDs(r *reader) []uint64 {
	var ids []uint64
	for count := r.u32(); count > 0; count-- {
		ids = append(ids, r.u64())
	}
	return ids
}

func writeIDs(w *writer, ids []uint64) {
	w.u32(uint32(len(ids)))
	for _, id := range ids {
		w.u64(id)
	}
}

func readConfChange(r *reader) *pb.ConfChangeV2 {
	change := &pb.ConfChangeV2{}
	// The zero transition stays unset, so that a change without changes encodes to no bytes, as the library's own.
	if transition := pb.ConfChangeTransition(r.u8()); transition != pb.ConfChangeTransitionAuto {
		change.Transition = transition.Enum()
	}
	for count := r.u32(); count > 0; count-- {
		kind := pb.ConfChangeType(r.u8())
		change.Changes = append(change.Changes, &pb.ConfChangeSingle{Type: kind.Enum(), NodeId: new(r.u64())})
	}
	change.Context = r.copied(int(r.u32()))
	return change
}

// writeConfChange reports false for a change that this engine never proposes: an unknown transition or kind.
func writeConfChange(w *writer, change *pb.ConfChangeV2) bool {
	if change.GetTransition() > pb.ConfChangeTransitionJointExplicit {
		return false
	}
	w.u8(uint8(change.GetTransition()))
	w.u32(uint32(len(change.GetChanges())))
	for _, single := range change.GetChanges() {
		switch single.GetType() {
		case pb.ConfChangeAddNode, pb.ConfChangeRemoveNode, pb.ConfChangeAddLearnerNode:
		default:
			return false
		}
		w.u8(uint8(single.GetType()))
		w.u64(single.GetNodeId())
	}
	w.bytes(change.Context)
	return true
}
