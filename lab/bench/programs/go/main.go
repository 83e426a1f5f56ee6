// Stores written in Go, each with every key once and then skewed keys again and again: stores badger|pebble|bbolt DIRECTORY
package main

import (
	"encoding/binary"
	"fmt"
	"log"
	"math/rand"
	"os"

	"github.com/cockroachdb/pebble"
	"github.com/dgraph-io/badger/v4"
	"go.etcd.io/bbolt"
)

const valueBytes = 1000

type put func(key, value []byte) error

// What changes rows of `keys`, in batches: `commit` makes one of the batch, `after` comes once in a while.
func work(keys, changes, batch int, store func(func(put) error) error, after func()) {
	draw := rand.New(rand.NewSource(1))
	noise := make([]byte, 1<<20)
	draw.Read(noise)
	for step := 0; step < keys+changes; step += batch {
		err := store(func(set put) error {
			for at := step; at < step+batch; at++ {
				row := at
				if at >= keys {
					row = int(float64(keys) * draw.Float64() * draw.Float64())
				}
				key := binary.BigEndian.AppendUint64(nil, uint64(row*7919%keys))
				from := draw.Intn(len(noise) - valueBytes)
				if err := set(key, noise[from:from+valueBytes]); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			log.Fatal(err)
		}
		if step/batch%100 == 99 {
			after()
		}
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func main() {
	if len(os.Args) != 3 {
		log.Fatal("use: stores badger|pebble|bbolt DIRECTORY")
	}
	directory := os.Args[2] + "/" + os.Args[1]
	switch os.Args[1] {
	case "badger":
		options := badger.DefaultOptions(directory).WithLoggingLevel(badger.ERROR).WithValueThreshold(512).WithNumCompactors(2).
			WithValueLogFileSize(8 << 20).WithMemTableSize(1 << 20).WithNumLevelZeroTables(1).WithNumLevelZeroTablesStall(4).WithBaseTableSize(1 << 20).WithNumMemtables(2).WithBaseLevelSize(4 << 20)
		db := must(badger.Open(options))
		work(60_000, 700_000, 100, func(fill func(put) error) error {
			batch := db.NewWriteBatch()
			if err := fill(batch.Set); err != nil {
				return err
			}
			return batch.Flush()
		}, func() {
			must(0, db.Flatten(1))
			for db.RunValueLogGC(0.2) == nil {
			}
			must(0, db.Sync())
		})
		must(0, db.Close())
	case "pebble":
		options := &pebble.Options{MemTableSize: 2 << 20, LBaseMaxBytes: 8 << 20, WALBytesPerSync: 128 << 10, BytesPerSync: 1 << 20,
			Levels: []pebble.LevelOptions{{TargetFileSize: 2 << 20, Compression: pebble.NoCompression}}}
		db := must(pebble.Open(directory, options))
		work(105_000, 300_000, 100, func(fill func(put) error) error {
			batch := db.NewBatch()
			if err := fill(func(key, value []byte) error { return batch.Set(key, value, nil) }); err != nil {
				return err
			}
			return batch.Commit(pebble.NoSync)
		}, func() {})
		must(0, db.Close())
	case "bbolt":
		db := must(bbolt.Open(directory, 0o600, nil))
		work(100_000, 120_000, 250, func(fill func(put) error) error {
			return db.Update(func(transaction *bbolt.Tx) error {
				bucket, err := transaction.CreateBucketIfNotExists([]byte("rows"))
				if err != nil {
					return err
				}
				return fill(bucket.Put)
			})
		}, func() {})
		must(0, db.Close())
	default:
		fmt.Fprintln(os.Stderr, "unknown store:", os.Args[1])
		os.Exit(2)
	}
}
