// Command engine is etcd's raft library behind a small set of WebAssembly exports.
//
// One module instance holds any number of RawNodes, each under a handle. A call gets its arguments as numbers and,
// where they do not fit, as bytes in the input buffer; it answers with a status and leaves its result in the output
// buffer, which is valid until the next call. Nothing here keeps a reference into either buffer.
//
// Numbers in buffers are big-endian and of fixed width. The other side is src/engine-codec.ts.
package main

import (
	"fmt"
	"runtime/debug"
	"unsafe"
)

// abiVersion changes whenever an export or a byte layout does; the host refuses a module of another version.
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

// inputKeepBytesMax bounds the input buffer that is kept between calls; a start with a long log needs a larger one.
const inputKeepBytesMax = 1 << 20

var (
	nodes      = map[uint32]*node{}
	lastHandle uint32

	input  []byte
	output writer
	// outputAt tells the host where the output buffer is: address, length.
	outputAt [2]uint32
)

func main() {}

//go:wasmexport raft_abi_version
func exportABIVersion() uint32 { return abiVersion }

// exportOutputAt returns the address of outputAt, which never moves.
//
//go:wasmexport raft_output_at
func exportOutputAt() uint32 { return uint32(uintptr(unsafe.Pointer(&outputAt))) }

// exportInput makes room for the next call's bytes and returns their address.
//
//go:wasmexport raft_input
func exportInput(size uint32) uint32 {
	if uint32(cap(input)) < size {
		input = make([]byte, max(size, 4096))
	}
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
	return status
}

func reportPanic(p any) uint32 {
	output.reset()
	output.bytes([]byte(fmt.Sprint(p)))
	output.bytes(debug.Stack())
	return statusPanic
}

func publishOutput() {
	outputAt[0] = uint32(uintptr(unsafe.Pointer(unsafe.SliceData(output.buf))))
	outputAt[1] = uint32(len(output.buf))
	if cap(input) > inputKeepBytesMax {
		input = nil
	}
}

// taken returns a reader of the bytes that the host put into the input buffer.
func taken(size uint32) *reader { return &reader{buf: input[:size]} }
