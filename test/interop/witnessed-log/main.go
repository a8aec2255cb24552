// A log of Tessera that publishes no checkpoint without a witness. Arguments: a folder for the log, its signing key,
// the witness's prefix and its vkey. For each line of standard input it adds an entry, and answers with the checkpoint
// that covers it, once it is published: one line of JSON.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"time"

	"github.com/transparency-dev/tessera"
	"github.com/transparency-dev/tessera/storage/posix"
	"golang.org/x/mod/sumdb/note"
	"k8s.io/klog/v2"
)

func run(args []string) error {
	if len(args) != 4 {
		return errors.New("arguments: folder, signing key, the witness's prefix, its vkey")
	}
	folder, key, prefix, vkey := args[0], args[1], args[2], args[3]
	ctx := context.Background()
	signer, err := note.NewSigner(key)
	if err != nil {
		return err
	}
	address, err := url.Parse(prefix)
	if err != nil {
		return err
	}
	witness, err := tessera.NewWitness(vkey, address)
	if err != nil {
		return err
	}
	driver, err := posix.New(ctx, posix.Config{Path: folder})
	if err != nil {
		return err
	}
	options := tessera.NewAppendOptions().
		WithCheckpointSigner(signer).
		WithCheckpointInterval(100*time.Millisecond).
		WithBatching(1, time.Millisecond).
		WithWitnesses(tessera.NewWitnessGroup(1, witness), nil)
	appender, shutdown, reader, err := tessera.NewAppender(ctx, driver, options)
	if err != nil {
		return err
	}
	published := tessera.NewPublicationAwaiter(ctx, reader.ReadCheckpoint, 50*time.Millisecond)
	answers := json.NewEncoder(os.Stdout)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		_, checkpoint, err := published.Await(ctx, appender.Add(ctx, tessera.NewEntry(lines.Bytes())))
		if err != nil {
			return err
		}
		if err := answers.Encode(string(checkpoint)); err != nil {
			return err
		}
	}
	return shutdown(ctx)
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		klog.Exit(err)
	}
}
