package cluster

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// What a stored deployment looks like: one Secret for its record, and immutable ones,
// named by their content, for what its revisions consist of.
const (
	// RecordType is the type of the Secret that says that a deployment is installed.
	RecordType = "orcon.tengu.io/bundle"

	contentType = "orcon.tengu.io/bundle-content"
	storedKey   = "data"
	namePrefix  = "orcon-bundle-"
	// pieceSize is how much a Secret holds: with its name and JSON around it less than
	// the 1 MiB that the API server takes.
	pieceSize = 900 << 10
	// bodyLimit is how much a revision may be unpacked.
	bodyLimit = 256 << 20
)

// Store keeps a deployment's record and revisions. It is for one process and one goroutine:
// what another writes meanwhile makes the next Save fail.
type Store struct {
	world *World
	// secret is the record as it was read or written last; without a version it is not there.
	secret corev1.Secret
	stored stored
}

// stored is the content of the record's Secret.
type stored struct {
	Record bundle.Record `json:"record"`
	// Contents are the names of the Secrets of each revision that has a content of its own.
	Contents map[int][]string `json:"contents"`
	// Originals are the names of the Secrets of Record.Originals.
	Originals []string `json:"originals,omitempty"`
}

// ErrMoved reports that another process has written the record since it was read.
var ErrMoved = errors.New("another process has changed this deployment meanwhile: look at its history before you run this again")

// NewStore returns the store of the world's deployment.
func NewStore(w *World) *Store { return &Store{world: w} }

// recordKey returns the namespace and name of the record of a deployment.
func recordKey(owner string) client.ObjectKey {
	namespace, name, _ := strings.Cut(owner, "/")
	return client.ObjectKey{Namespace: namespace, Name: namePrefix + name}
}

// Load reads the record; it is empty where the deployment is not installed.
func (s *Store) Load(ctx context.Context) (bundle.Record, error) {
	s.secret, s.stored = corev1.Secret{}, stored{}
	err := s.world.client.Get(ctx, recordKey(s.world.owner), &s.secret)
	if apierrors.IsNotFound(err) {
		return bundle.Record{}, nil
	}
	if err == nil {
		s.stored, err = readRecord(s.secret)
	}
	if err == nil && len(s.stored.Originals) > 0 {
		err = s.read(ctx, s.stored.Originals, &s.stored.Record.Originals)
	}
	if err != nil {
		return bundle.Record{}, fmt.Errorf("cannot read the record of %s: %w", s.world.owner, err)
	}
	return s.stored.Record, nil
}

// Plan reads what a revision consists of.
func (s *Store) Plan(ctx context.Context, revision int) (bundle.Plan, error) {
	var p bundle.Plan
	names, known := s.stored.Contents[revision]
	if !known {
		namespace, name, _ := strings.Cut(s.world.owner, "/")
		return p, fmt.Errorf("cannot read revision %d of %s: its content is not stored: orcon history %s -n %s lists the revisions", revision,
			s.world.owner, name, namespace)
	}
	if err := s.read(ctx, names, &p); err != nil {
		return p, fmt.Errorf("cannot read revision %d of %s: %w", revision, s.world.owner, err)
	}
	return p, nil
}

// read reads what was stored in pieces.
func (s *Store) read(ctx context.Context, names []string, into any) error {
	var packed []byte
	for _, name := range names {
		var piece corev1.Secret
		if err := s.world.client.Get(ctx, client.ObjectKey{Namespace: recordKey(s.world.owner).Namespace, Name: name}, &piece); err != nil {
			return err
		}
		if pieceName(recordKey(s.world.owner).Name, piece.Data[storedKey]) != name {
			return fmt.Errorf("the content of Secret %s does not match its name: install again", name)
		}
		packed = append(packed, piece.Data[storedKey]...)
	}
	text, err := unpack(packed)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// Contents returns the names of the Secrets with the content of a revision, which are digests of it; none if it is
// not kept.
func (s *Store) Contents(revision int) []string { return s.stored.Contents[revision] }

// Stage writes what a revision consists of, before the record that names it, and returns the names
// of the Secrets.
func (s *Store) Stage(ctx context.Context, p bundle.Plan) ([]string, error) {
	if s.secret.ResourceVersion == "" {
		// The pieces belong to the record, so that none outlives it.
		if err := s.create(ctx); err != nil {
			return nil, err
		}
	}
	return s.pieces(ctx, p)
}

// Save writes the record, and before it the content of its last revision, if p is not nil. The error is ErrMoved if
// another process has written it since it was read.
func (s *Store) Save(ctx context.Context, r bundle.Record, p *bundle.Plan) error {
	if s.secret.ResourceVersion == "" {
		// The pieces belong to the record, so that none outlives it.
		if err := s.create(ctx); err != nil {
			return err
		}
	}
	next := stored{Record: r, Contents: map[int][]string{}}
	for _, v := range r.Revisions {
		if names, known := s.stored.Contents[v.Number]; known {
			next.Contents[v.Number] = names
		}
	}
	if p != nil {
		names, err := s.pieces(ctx, p)
		if err != nil {
			return fmt.Errorf("cannot store revision %d of %s: %w", r.Last().Number, s.world.owner, err)
		}
		next.Contents[r.Last().Number] = names
	}
	if err := s.originals(ctx, &next); err != nil {
		return fmt.Errorf("cannot store what objects of %s were before: %w", s.world.owner, err)
	}
	if err := s.write(ctx, next); err != nil {
		return err
	}
	return s.sweep(ctx, next)
}

// Unmoved returns ErrMoved if another process has written or removed the record since it was read or written here. If
// that cannot be known now, Save finds out.
func (s *Store) Unmoved(ctx context.Context) error {
	now := metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}}
	if err := s.world.client.Get(ctx, recordKey(s.world.owner), &now); client.IgnoreNotFound(err) != nil {
		return nil //nolint:nilerr // as said
	}
	if now.ResourceVersion != s.secret.ResourceVersion {
		return ErrMoved
	}
	return nil
}

func (s *Store) create(ctx context.Context) error {
	key := recordKey(s.world.owner)
	s.secret = corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}, Type: RecordType}
	if err := writeRecord(&s.secret, stored{}); err != nil {
		return fmt.Errorf("cannot write the record of %s: %w", s.world.owner, err)
	}
	return told(s.world.owner, s.world.client.Create(ctx, &s.secret, client.FieldOwner(Manager)))
}

func (s *Store) write(ctx context.Context, next stored) error {
	if err := writeRecord(&s.secret, next); err != nil {
		return fmt.Errorf("cannot write the record of %s: %w", s.world.owner, err)
	}
	return told(s.world.owner, s.world.client.Update(ctx, &s.secret, client.FieldOwner(Manager)))
}

// writeRecord sets the content of a record's Secret, which is packed where it would be too large.
func writeRecord(secret *corev1.Secret, s stored) error {
	text, err := json.Marshal(s)
	if err == nil && len(text) > pieceSize {
		text, err = pack(s)
	}
	secret.Data = map[string][]byte{storedKey: text}
	return err
}

// readRecord returns the content of a record's Secret.
func readRecord(secret corev1.Secret) (s stored, err error) {
	text := secret.Data[storedKey]
	if bytes.HasPrefix(text, []byte("\x1f\x8b")) { // it is packed
		text, err = unpack(text)
	}
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	return s, err
}

// told returns the error of a write of the record.
func told(owner string, err error) error {
	switch {
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		return fmt.Errorf("cannot write the record of %s: %w", owner, ErrMoved)
	case err != nil:
		return fmt.Errorf("cannot write the record of %s: %w", owner, err)
	}
	return nil
}

// originals writes the originals of adopted objects, if they have changed.
func (s *Store) originals(ctx context.Context, next *stored) (err error) {
	switch now := next.Record.Originals; {
	case len(now) == 0:
	case reflect.DeepEqual(now, s.stored.Record.Originals):
		next.Originals = s.stored.Originals
	default:
		next.Originals, err = s.pieces(ctx, now)
	}
	return err
}

// pieces writes a content in pieces and returns their names. An existing piece of this record is left: its name is the
// digest of its content.
func (s *Store) pieces(ctx context.Context, content any) ([]string, error) {
	packed, err := pack(content)
	if err != nil {
		return nil, err
	}
	var names []string
	key := recordKey(s.world.owner)
	for piece := range slices.Chunk(packed, pieceSize) {
		secret := corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: pieceName(key.Name, piece), OwnerReferences: []metav1.OwnerReference{
				{APIVersion: "v1", Kind: "Secret", Name: s.secret.Name, UID: s.secret.UID},
			}},
			Type: contentType, Immutable: new(true), Data: map[string][]byte{storedKey: piece},
		}
		err := s.world.client.Create(ctx, secret.DeepCopy(), client.FieldOwner(Manager))
		if apierrors.IsAlreadyExists(err) {
			err = s.renew(ctx, secret)
		}
		if err != nil {
			return nil, fmt.Errorf("cannot write Secret %s: %w", secret.Name, err)
		}
		names = append(names, secret.Name)
	}
	return names, nil
}

// renew makes an existing piece again, unless it belongs to this record: the cluster collects those of a record that was
// deleted.
func (s *Store) renew(ctx context.Context, piece corev1.Secret) error {
	var old corev1.Secret
	err := s.world.client.Get(ctx, client.ObjectKeyFromObject(&piece), &old)
	switch {
	case client.IgnoreNotFound(err) != nil:
		return err
	case err == nil && slices.ContainsFunc(old.OwnerReferences, func(r metav1.OwnerReference) bool { return r.UID == s.secret.UID }):
		return nil
	case err == nil:
		if err := s.world.client.Delete(ctx, &old, client.Preconditions{UID: &old.UID}); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return s.world.client.Create(ctx, &piece, client.FieldOwner(Manager))
}

// pieceName returns the name of a piece of a record.
func pieceName(record string, piece []byte) string {
	sum := sha256.Sum256(piece)
	return record + "-" + hex.EncodeToString(sum[:16])
}

// sweep deletes the pieces that no revision needs any more. Those that an interrupted
// process leaves go with the record.
func (s *Store) sweep(ctx context.Context, next stored) error {
	needed := next.pieces()
	for _, name := range s.stored.pieces() {
		if slices.Contains(needed, name) {
			continue
		}
		if err := s.remove(ctx, name); err != nil {
			return err
		}
	}
	s.stored = next
	return nil
}

// pieces are the names of all Secrets that a record needs.
func (s stored) pieces() []string {
	all := slices.Clone(s.Originals)
	for _, names := range s.Contents {
		all = append(all, names...)
	}
	return all
}

func (s *Store) remove(ctx context.Context, name string) error {
	o := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: recordKey(s.world.owner).Namespace, Name: name}}
	if err := s.world.client.Delete(ctx, o); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("cannot delete Secret %s: %w", name, err)
	}
	return nil
}

// Remove deletes all that is stored in one write: the pieces belong to the record, and the
// cluster collects them.
func (s *Store) Remove(ctx context.Context) error {
	return s.remove(ctx, recordKey(s.world.owner).Name)
}

// pack writes a content so that equal contents are equal bytes.
func pack(content any) ([]byte, error) {
	text, err := json.Marshal(content)
	if err != nil {
		return nil, fmt.Errorf("cannot write it as JSON: %w", err)
	}
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err = w.Write(text)
	if err := errors.Join(err, w.Close()); err != nil {
		return nil, fmt.Errorf("cannot pack it: %w", err)
	}
	return out.Bytes(), nil
}

func unpack(packed []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("cannot unpack it: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(r, bodyLimit))
	if err != nil {
		return nil, fmt.Errorf("cannot unpack it: %w", err)
	}
	return text, nil
}
