package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob/blobtest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob/sealed"
)

// deployed returns a cluster with the own Deployment.
func deployed(replicas *int32) *fake.ClientBuilder {
	return fake.NewClientBuilder().WithObjects(&appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "orcon-system", Name: name}, Spec: appsv1.DeploymentSpec{Replicas: replicas},
	})
}

// JOBS-DESIGN.md 8: a directory means one replica, checked at start.
func TestDirectory(t *testing.T) {
	s := store{directory: filepath.Join(t.TempDir(), "states")}
	_, _, err := s.open(t.Context(), around(t, deployed(new(int32(2))).Build()))
	require.ErrorContains(t, err, "scale Deployment orcon-system/job-controller to 1, or use -s3Endpoint")
	assert.NoDirExists(t, s.directory)
	for _, reader := range []client.Client{deployed(nil).Build(), deployed(new(int32(1))).Build(), fake.NewFakeClient()} {
		opened, end, err := s.open(t.Context(), around(t, reader))
		require.NoError(t, err)
		require.NotNil(t, opened)
		_, _, err = s.open(t.Context(), around(t, reader))
		require.ErrorContains(t, err, "another process has it open")
		require.NoError(t, end())
	}
	down := errors.New("down")
	_, _, err = s.open(t.Context(), around(t, deployed(nil).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return down
		},
	}).Build()))
	require.ErrorIs(t, err, down, "what is not known is not taken for one")
}

// around returns the surroundings of a store.
func around(t *testing.T, c client.Client) surroundings {
	t.Helper()
	return surroundings{reader: c, writer: c, namespace: "orcon-system", folder: t.TempDir()}
}

// state is the key of a state.
//
//nolint:gochecknoglobals // a constant of a type that cannot be one
var state = blob.Key{Workspace: "w", Fence: 1, Name: "state-a"}

// JOBS-DESIGN.md 9: a file of keys is used in place of the Secret, and one without a key stops the start.
func TestKeys(t *testing.T) {
	folder := t.TempDir()
	s := store{directory: filepath.Join(folder, "states"), keys: filepath.Join(folder, "keys")}
	c := fake.NewFakeClient()
	_, _, err := s.open(t.Context(), around(t, c))
	require.ErrorContains(t, err, s.keys)
	require.NoError(t, os.WriteFile(s.keys, []byte("# nothing\n"), 0o600))
	_, _, err = s.open(t.Context(), around(t, c))
	require.ErrorContains(t, err, s.keys)
	text, err := sealed.Generate()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(s.keys, []byte(text), 0o600))
	opened, end, err := s.open(t.Context(), around(t, c))
	require.NoError(t, err)
	require.NoError(t, opened.Put(t.Context(), state, strings.NewReader("password")))
	assert.Equal(t, "password", blobtest.Read(t, opened, state))
	assert.NotContains(t, blobtest.Read(t, opened.Store, state), "password")
	require.NoError(t, end())
	var all corev1.SecretList
	require.NoError(t, c.List(t.Context(), &all))
	assert.Empty(t, all.Items)
}

// JOBS-DESIGN.md 9: states are encrypted unless that is switched off by name. A key that is lost stops no start, and none
// takes its place.
func TestEncryptsByDefault(t *testing.T) {
	s := store{directory: filepath.Join(t.TempDir(), "states"), encryption: encryptionEnabled}
	c := fake.NewFakeClient()
	open := func() (*sealed.Store, func() error) {
		opened, end, err := s.open(t.Context(), around(t, c))
		require.NoError(t, err)
		return opened, end
	}
	opened, end := open()
	require.NoError(t, opened.Check(t.Context()))
	require.NoError(t, opened.Put(t.Context(), state, strings.NewReader("password")))
	assert.NotContains(t, blobtest.Read(t, opened.Store, state), "password")
	require.NoError(t, end())

	s.encryption = encryptionDisabled
	opened, end = open()
	plain := blob.Key{Workspace: "w", Fence: 2, Name: "state-a"}
	require.NoError(t, opened.Put(t.Context(), plain, strings.NewReader("password")))
	assert.Equal(t, "password", blobtest.Read(t, opened.Store, plain))
	assert.Equal(t, "password", blobtest.Read(t, opened, state), "what is encrypted stays readable")
	require.NoError(t, end())

	s.encryption = encryptionEnabled
	require.NoError(t, c.DeleteAllOf(t.Context(), &corev1.Secret{}, client.InNamespace("orcon-system")))
	opened, end = open()
	_, err := opened.Get(t.Context(), state)
	require.ErrorIs(t, err, blob.ErrLocked)
	require.ErrorContains(t, err, "Secret orcon-system/job-controller-keys is gone: restore it from a backup")
	require.ErrorContains(t, err, "keys that were used and are missing: age1")
	require.ErrorContains(t, opened.Check(t.Context()), "age1")
	require.Error(t, opened.Put(t.Context(), blob.Key{Workspace: "w", Fence: 3, Name: "state-a"}, strings.NewReader("x")), "it is never stored in plain")
	assert.Equal(t, "password", blobtest.Read(t, opened, plain))
	require.NoError(t, end())
}

// JOBS-DESIGN.md 16: where states are stored in plain there is a key too, to which RunNodes encrypt what waits there.
func TestKeyOfNodes(t *testing.T) {
	s := store{directory: filepath.Join(t.TempDir(), "states"), encryption: encryptionDisabled}
	opened, end, err := s.open(t.Context(), around(t, fake.NewFakeClient()))
	require.NoError(t, err)
	key, err := opened.Recipient(t.Context())
	require.NoError(t, err)
	assert.Contains(t, key, "age1")
	require.NoError(t, end())
}

// A bucket without credentials is an error that names the file, and no value of it.
func TestCredentials(t *testing.T) {
	folder := t.TempDir()
	s := store{endpoint: "https://s3.example.org/x", bucket: "b", accessKeyFile: filepath.Join(folder, "a"), secretKeyFile: filepath.Join(folder, "s")}
	open := func() error {
		_, _, err := s.open(t.Context(), around(t, fake.NewFakeClient()))
		return err
	}
	require.ErrorContains(t, open(), s.accessKeyFile)
	require.NoError(t, os.WriteFile(s.accessKeyFile, []byte("access\n"), 0o600))
	require.ErrorContains(t, open(), s.secretKeyFile)
	require.NoError(t, os.WriteFile(s.secretKeyFile, []byte("\n"), 0o600))
	require.ErrorContains(t, open(), s.secretKeyFile+" is empty")
	require.NoError(t, os.WriteFile(s.secretKeyFile, []byte("hidden\n"), 0o600))
	err := open()
	require.ErrorContains(t, err, "cannot use endpoint")
	assert.NotContains(t, err.Error(), "hidden")
}
