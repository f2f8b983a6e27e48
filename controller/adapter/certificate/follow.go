package certificate

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/golang/glog"
)

// Times of following files: a burst of changes is read once it has been quiet
// for a moment, and files are read again each minute whether told or not,
// since not every file system tells.
const (
	quiet  = 50 * time.Millisecond
	reread = time.Minute
)

// follow calls changed after files changed, and each minute, until ctx ends.
// It watches the folders and not the files: a kubelet replaces a symbolic
// link beside them, and the files themselves never change.
func follow(ctx context.Context, files []string, changed func()) error {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("cannot watch files: %w", err)
	}
	defer func() { _ = watcher.Close() }()
	for _, file := range files {
		if err := watcher.Add(filepath.Dir(file)); err != nil {
			return fmt.Errorf("cannot watch %s: %w", filepath.Dir(file), err)
		}
	}
	changed() // they may have changed before the watch began
	timer := time.NewTimer(reread)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-watcher.Errors:
			glog.Warningf("watching %v: %v", files, err)
		case <-watcher.Events:
			timer.Reset(quiet)
		case <-timer.C:
			changed()
			timer.Reset(reread)
		}
	}
}
