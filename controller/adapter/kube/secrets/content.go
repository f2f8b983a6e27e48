package secrets

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// shards is the number of Secrets in which a namespace keeps contents: as many as the roles of the controller
// name.
const shards = 8

// maxShard is the most that one of them holds, in bytes; Kubernetes allows 1 MiB.
const maxShard = 1<<20 - 16<<10

// errNoContent reports that a place is empty.
var errNoContent = errors.New("its content is not there")

// ContentSecret returns the name of a Secret that holds content: one of few, so
// that roles can name them all and allow no other (SAFETY.md S2).
func ContentSecret(shard int) string { return "orcon-secrets-" + strconv.Itoa(shard) }

// ContentSecrets returns the names of all Secrets that hold content.
func ContentSecrets() []string {
	all := make([]string, shards)
	for i := range all {
		all[i] = ContentSecret(i)
	}
	return all
}

// Contents keeps the contents of secrets in Secrets of their namespace.
type Contents struct {
	// Reader reads from the API server itself.
	Reader client.Reader
	Writer client.Client
	Now    func() time.Time
	// Turns are shared by all that write here; may be nil.
	Turns *object.Turns
}

// Store stores content in a new place, which is out of reach until a RelatedSecret names it, and marked until
// Settle takes the mark off. It begins with a shard by the secret's ID and goes on to the next if there is no room.
func (c *Contents) Store(ctx context.Context, namespace, id string, content map[string][]byte) (secret.Place, error) {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id))
	place := secret.Place{Key: strings.ToLower(rand.Text())}
	for i := range uint32(shards) {
		place.Shard = int((h.Sum32() + i) % shards)
		stored, err := c.put(ctx, namespace, place, content)
		if stored || err != nil {
			return place, err
		}
	}
	return place, &conversation.Error{
		Kind:    conversation.Invalid,
		Message: fmt.Sprintf("cannot store secret %s: namespace %s has no room for more, %d MiB", id, namespace, shards),
		Cure:    "remove secrets that are not needed, with secret-remove",
	}
}

// put stores content in a place, unless there is no room.
func (c *Contents) put(ctx context.Context, namespace string, place secret.Place, content map[string][]byte) (stored bool, err error) {
	err = c.Turns.Write(ctx, namespace+"/"+ContentSecret(place.Shard), func() error {
		shard, err := c.openShard(ctx, namespace, place.Shard)
		if err != nil {
			return err
		}
		setMark(shard, place.Key, markWritten, c.Now())
		if stored = size(shard)+sizeOf(content) <= maxShard; !stored {
			return nil
		}
		if shard.Data == nil {
			shard.Data = map[string][]byte{}
		}
		for key, value := range content {
			shard.Data[place.Key+"."+key] = value
		}
		return c.Writer.Update(ctx, shard)
	})
	if err != nil {
		return false, fmt.Errorf("cannot store content in Secret %s: %w", ContentSecret(place.Shard), err)
	}
	return stored, nil
}

// size returns how much of a Secret is in use, marks included.
func size(shard *corev1.Secret) int {
	all := sizeOf(shard.Data)
	for key, value := range shard.Annotations {
		all += len(key) + len(value)
	}
	return all
}

func sizeOf(content map[string][]byte) int {
	all := 0
	for key, value := range content {
		all += len(key) + len(value) + 64 // the place's key, and what JSON needs
	}
	return all
}

// openShard reads a Secret of content, and creates it if it does not exist: by an apply, since only the
// request of an apply that creates an object names it, as the roles need.
func (c *Contents) openShard(ctx context.Context, namespace string, shard int) (*corev1.Secret, error) {
	s := object.Named(&corev1.Secret{}, namespace, ContentSecret(shard))
	err := c.Reader.Get(ctx, client.ObjectKeyFromObject(s), s)
	if !apierrors.IsNotFound(err) {
		return s, err
	}
	made := applycorev1.Secret(s.Name, namespace).WithType(corev1.SecretTypeOpaque).
		WithLabels(map[string]string{"app.kubernetes.io/part-of": "orcon"})
	if err := c.Writer.Apply(ctx, made, client.FieldOwner("relations-controller"), client.ForceOwnership); err != nil {
		return nil, fmt.Errorf("cannot make Secret %s: %w", s.Name, err)
	}
	return s, c.Reader.Get(ctx, client.ObjectKeyFromObject(s), s)
}

// read returns the content of a place.
func (c *Contents) read(ctx context.Context, namespace string, place secret.Place) (map[string][]byte, error) {
	shard := object.Named(&corev1.Secret{}, namespace, ContentSecret(place.Shard))
	if err := c.Reader.Get(ctx, client.ObjectKeyFromObject(shard), shard); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("cannot read Secret %s: %w", shard.Name, err)
	}
	content := map[string][]byte{}
	for key, value := range shard.Data {
		if name, here := strings.CutPrefix(key, place.Key+"."); here {
			content[name] = value
		}
	}
	if len(content) == 0 {
		return nil, errNoContent
	}
	return content, nil
}
