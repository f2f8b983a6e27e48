package secrets

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/golang/glog"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// markPrefix begins the annotation by which a Secret marks one of its contents; the content's key follows, and the
// value is a reason and the time. A sweep touches no content without a mark (TRUST.md T5).
const markPrefix = "unsettled.orcon.tengu.io/"

// The reasons of marks.
const (
	// markWritten is the reason until a RelatedSecret names the content.
	markWritten = "written"
	// markEnding is the reason before a RelatedSecret lets go of the content, and once it was deleted.
	markEnding = "ending"
)

// setMark marks the content of a key, unless it was marked for that reason within the hour.
func setMark(shard *corev1.Secret, key, reason string, now time.Time) (differs bool) {
	if before, at := markOf(shard, key); before == reason && now.Sub(at) < time.Hour {
		return false
	}
	if shard.Annotations == nil {
		shard.Annotations = map[string]string{}
	}
	shard.Annotations[markPrefix+key] = reason + " " + now.UTC().Format(time.RFC3339)
	return true
}

// markOf returns the reason and the time of a mark, or "" for none. A mark without a time is as old as the Secret. In
// a restored Secret none is older than the Secret: its RelatedSecrets may come after it.
func markOf(shard *corev1.Secret, key string) (reason string, since time.Time) {
	reason, text, _ := strings.Cut(shard.Annotations[markPrefix+key], " ")
	since = shard.CreationTimestamp.UTC()
	if at, err := time.Parse(time.RFC3339, text); err == nil && at.After(since) {
		since = at.UTC()
	}
	return reason, since
}

// marksOf returns the marks in a Secret.
func marksOf(shard *corev1.Secret, number int) []secret.Mark {
	var all []secret.Mark
	for name := range shard.Annotations {
		if key, is := strings.CutPrefix(name, markPrefix); is {
			_, since := markOf(shard, key)
			all = append(all, secret.Mark{Place: secret.Place{Shard: number, Key: key}, Since: since})
		}
	}
	return all
}

// Mark marks contents before their secret lets go of them, so that a sweep removes what Settle could not. What is
// not there needs no mark.
func (c *Contents) Mark(ctx context.Context, namespace string, places []secret.Place) error {
	return c.changeEach(ctx, namespace, places, func(shard *corev1.Secret, keys []string) (differs bool) {
		for name := range shard.Data {
			if key := keyOf(name); slices.Contains(keys, key) && setMark(shard, key, markEnding, c.Now()) {
				differs = true
			}
		}
		return differs
	})
}

// Settle takes the marks off contents that a RelatedSecret names for the first time, and removes those that it names
// no more. A mark for another reason than that it was written stays. If it fails, a sweep does it.
func (c *Contents) Settle(ctx context.Context, namespace string, named, unreachable []secret.Place) {
	err := c.changeEach(ctx, namespace, slices.Concat(named, unreachable), func(shard *corev1.Secret, keys []string) (differs bool) {
		for _, key := range keys {
			reason, _ := markOf(shard, key)
			switch {
			case slices.ContainsFunc(unreachable, func(p secret.Place) bool { return p.Key == key }):
				differs = removeMarked(shard, key) || differs
			case reason == markWritten:
				differs = unmark(shard, key) || differs
			}
		}
		return differs
	})
	if err != nil {
		glog.Warningf("namespace %s: %v; a sweep does it", namespace, err)
	}
}

// keyOf returns the key of the content that an entry of a Secret is part of.
func keyOf(name string) string {
	key, _, _ := strings.Cut(name, ".")
	return key
}

// unmark takes the mark off the content of a key.
func unmark(shard *corev1.Secret, key string) (differs bool) {
	_, differs = shard.Annotations[markPrefix+key]
	delete(shard.Annotations, markPrefix+key)
	return differs
}

// removeMarked removes the content of a key and its mark.
func removeMarked(shard *corev1.Secret, key string) (differs bool) {
	differs = unmark(shard, key)
	for name := range shard.Data {
		if keyOf(name) == key {
			delete(shard.Data, name)
			differs = true
		}
	}
	return differs
}

// changeEach changes the Secrets of places, each with the keys of its own, and writes those that differ.
func (c *Contents) changeEach(
	ctx context.Context, namespace string, places []secret.Place, change func(shard *corev1.Secret, keys []string) (differs bool),
) error {
	keys := map[int][]string{}
	for _, p := range places {
		keys[p.Shard] = append(keys[p.Shard], p.Key)
	}
	for number, keys := range keys {
		err := c.Turns.Write(ctx, namespace+"/"+ContentSecret(number), func() error {
			shard := object.Named(&corev1.Secret{}, namespace, ContentSecret(number))
			if err := c.Reader.Get(ctx, client.ObjectKeyFromObject(shard), shard); err != nil {
				return client.IgnoreNotFound(err)
			}
			if !change(shard, keys) {
				return nil
			}
			return c.Writer.Update(ctx, shard)
		})
		if err != nil {
			return fmt.Errorf("cannot change content in Secret %s: %w", ContentSecret(number), err)
		}
	}
	return nil
}
