package people

import (
	"errors"
	"fmt"
	"io"
	"net/http"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/archive"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/people"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/contents"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// contentsAtOnce is how many contents are received at once: each is in memory, packed and unpacked.
const contentsAtOnce = 2

// intake receives contents of JobTemplates.
type intake struct {
	store   blob.Store
	objects Objects
	record  func(r *http.Request, c call, uid string, kind DeedKind, what, because string)
}

// receive stores the content of a JobTemplate. All of an archive is refused where one entry is.
func (i intake) receive(w http.ResponseWriter, r *http.Request, c call) error {
	uid, err := i.objects.Template(r.Context(), c.namespace, c.name)
	if err != nil {
		return err
	}
	packed, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bundle.MaxBytes))
	if err != nil {
		return fmt.Errorf("cannot receive the content of JobTemplate %s, which may have %d MiB: %w", c, bundle.MaxBytes>>20, err)
	}
	tree, err := filesOf(packed)
	if err != nil {
		return fmt.Errorf("cannot use the content of JobTemplate %s: %w", c, err)
	}
	digest, err := contents.Put(r.Context(), i.store, c.namespace, &tree)
	if err != nil {
		return err
	}
	i.record(r, c, uid, ContentPushed, "pushed the content "+digest, "")
	return write(w, http.StatusOK, people.PushedContent{
		TypeMeta: typeOf("JobTemplateContent"), Namespace: c.namespace, Name: c.name, Digest: digest, Files: tree.Paths(),
	})
}

// filesOf returns the files of an archive that a stranger has made; its errors are the stranger's.
func filesOf(packed []byte) (bundle.Tree, error) {
	tree, err := archive.Unpack(packed)
	if err == nil {
		err = tree.Unlinked()
	}
	if err == nil && len(tree.Paths()) == 0 {
		err = errors.New("it has no file: pack the folder with the files of the template")
	}
	switch {
	case errors.Is(err, bundle.ErrLimit):
		return tree, err
	case err != nil:
		return tree, fmt.Errorf("%w: %w", workspace.ErrInvalid, err)
	}
	return tree, nil
}
