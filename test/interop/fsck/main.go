// Checks a whole log, as it is served, with the libraries behind Tessera's fsck: every leaf is fetched and hashed, and
// tiles and root are held against the checkpoint. Arguments: the log's address, and its key as a vkey; LOG_KEY has the
// access key. Exit code 0: the log is whole; 1: it is not, and standard error says why.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"

	"github.com/transparency-dev/merkle/rfc6962"
	"github.com/transparency-dev/tessera/api"
	"github.com/transparency-dev/tessera/client"
	"github.com/transparency-dev/tessera/fsck"
	"golang.org/x/mod/sumdb/note"
	"k8s.io/klog/v2"
)

const workers = 2

func leafHashes(bundle []byte) ([][]byte, error) {
	entries := &api.EntryBundle{}
	if err := entries.UnmarshalText(bundle); err != nil {
		return nil, err
	}
	hashes := make([][]byte, 0, len(entries.Entries))
	for _, entry := range entries.Entries {
		hashes = append(hashes, rfc6962.DefaultHasher.HashLeaf(entry))
	}
	return hashes, nil
}

func check(address, vkey, accessKey string) error {
	root, err := url.Parse(address)
	if err != nil {
		return err
	}
	verifier, err := note.NewVerifier(vkey)
	if err != nil {
		return err
	}
	source, err := client.NewHTTPFetcher(root, nil)
	if err != nil {
		return err
	}
	source.SetAuthorizationHeader("Bearer " + accessKey)
	// A log is called as its key is.
	return fsck.New(verifier.Name(), verifier, source, leafHashes, fsck.Opts{N: workers}).Check(context.Background())
}

func run(args []string) error {
	if len(args) != 2 {
		return errors.New("arguments: the log's address, and its vkey")
	}
	return check(args[0], args[1], os.Getenv("LOG_KEY"))
}

func main() {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
