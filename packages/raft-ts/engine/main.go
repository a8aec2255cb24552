// Command engine is etcd's raft library behind a small set of WebAssembly exports.
//
// One module instance holds any number of RawNodes, each under a handle. A call gets its arguments as numbers and,
// where they do not fit, as bytes in the input buffer; it answers with a status and leaves its result in the output
// buffer, which is valid until the next call. Nothing here keeps a reference into either buffer. Every call of a
// RawNode also leaves the node's status, so that reading it costs the host no call.
//
// Numbers in buffers are big-endian and of fixed width, those of the status little-endian. The other side is
// src/engine-codec.ts.
package main

import (
	"fmt"
	"runtime/debug"
	"unsafe"
)

// abiVersion changes when an export or a byte layout differs from the release before; the host refuses a module of
// another version.
const abiVersion = 1

// The low byte of a status. readyBit is added when the node has a Ready.
const (
	statusOK uint32 = iota
	statusPanic
	statusProposalDropped
	statusConfChangeRefused
	statusStepRefused
	statusInvalid
	statusNotLeader
	statusUnknownNode

	readyBit uint32 = 1 << 8
)

var (
	nodes      = map[uint32]*node{}
	lastHandle uint32

	input  []byte
	output writer
	// left is what the host reads after a call, where it lies in memory.
	left struct {
		outputAt, outputBytes uint32
		status                status
	}
)

func main() {}

//go:wasmexport raft_abi_version
func exportABIVersion() uint32 { return abiVersion }

// exportLeftAt returns the address of left, which never moves.
//
//go:wasmexport raft_left_at
func exportLeftAt() uint32 { return uint32(uintptr(unsafe.Pointer(&left))) }

// exportInput makes an input buffer of that size, in place of the one before, and returns its address. It serves any
// number of calls.
//
//go:wasmexport raft_input
func exportInput(size uint32) uint32 {
	input = make([]byte, size)
	return uint32(uintptr(unsafe.Pointer(unsafe.SliceData(input))))
}

// call runs f and turns a panic of the library into a status, so that it costs one RawNode and not the process.
func call(handle uint32, f func(n *node) uint32) (status uint32) {
	output.reset()
	defer publishOutput()
	n := nodes[handle]
	if n == nil {
		return statusUnknownNode
	}
	defer func() {
		if p := recover(); p != nil {
			delete(nodes, handle)
			status = reportPanic(p)
		}
	}()
	status = f(n)
	if n.raw.HasReady() {
		status |= readyBit
	}
	left.status = n.status()
	return status
}

func reportPanic(p any) uint32 {
	output.reset()
	output.bytes([]byte(fmt.Sprint(p)))
	output.bytes(debug.Stack())
	return statusPanic
}

func publishOutput() {
	left.outputAt = uint32(uintptr(unsafe.Pointer(unsafe.SliceData(output.buf))))
	left.outputBytes = uint32(len(output.buf))
}

// taken returns a reader of the bytes that the host put into the input buffer.
func taken(size uint32) *reader { return &reader{buf: input[:size]} }
