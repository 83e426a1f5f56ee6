// Prometheus' store with a clock of its own: samples of many series, a log of segments, blocks of two hours and compactions of them,
// series that end and others that come, old blocks dropped: prometheus DIRECTORY
package main

import (
	"context"
	"log"
	"log/slog"
	"math/rand"
	"os"
	"strconv"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
)

const (
	series  = 5000
	hour    = int64(time.Hour / time.Millisecond)
	scrape  = int64(15 * time.Second / time.Millisecond)
	scrapes = 8000
)

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func main() {
	options := tsdb.DefaultOptions()
	options.RetentionDuration = 6 * hour
	options.MinBlockDuration = hour / 4
	options.MaxBlockDuration = 2 * hour
	options.WALSegmentSize = 4 << 20
	options.MaxBlockChunkSegmentSize = 8 << 20
	options.WALCompression = "none"
	store := must(tsdb.Open(os.Args[1]+"/prometheus", slog.New(slog.DiscardHandler), nil, options, nil))
	store.DisableCompactions()
	draw := rand.New(rand.NewSource(1))
	names := make([]labels.Labels, series)
	references := make([]storage.SeriesRef, series)
	name := func(number int) {
		names[number] = labels.FromStrings("__name__", "metric_"+strconv.Itoa(number%200), "job", "job-"+strconv.Itoa(number%17),
			"instance", "10.0."+strconv.Itoa(draw.Intn(250))+"."+strconv.Itoa(number/200)+":9100", "pod", strconv.FormatUint(draw.Uint64(), 36))
		references[number] = 0
	}
	for number := range names {
		name(number)
	}
	for step := int64(0); step < scrapes; step++ {
		now := step * scrape
		// A deployment: a tenth of the series end, others come.
		if step%300 == 299 {
			from := draw.Intn(10)
			for number := from; number < series; number += 10 {
				name(number)
			}
		}
		batch := store.Appender(context.Background())
		for number, labels := range names {
			value := float64(step * int64(number%50))
			if number%3 != 0 {
				value = draw.NormFloat64()
			}
			references[number] = must(batch.Append(references[number], labels, now, value))
		}
		if err := batch.Commit(); err != nil {
			log.Fatal(err)
		}
		if step%20 == 19 {
			if err := store.Compact(context.Background()); err != nil {
				log.Fatal(err)
			}
		}
	}
	if err := store.Close(); err != nil {
		log.Fatal(err)
	}
}
