package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
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
	_, _, err := s.open(t.Context(), deployed(new(int32(2))).Build(), "orcon-system", t.TempDir())
	require.ErrorContains(t, err, "scale Deployment orcon-system/job-controller to 1, or use -s3Endpoint")
	assert.NoDirExists(t, s.directory)
	for _, reader := range []client.Reader{deployed(nil).Build(), deployed(new(int32(1))).Build(), fake.NewFakeClient()} {
		opened, end, err := s.open(t.Context(), reader, "orcon-system", t.TempDir())
		require.NoError(t, err)
		require.NotNil(t, opened)
		_, _, err = s.open(t.Context(), reader, "orcon-system", t.TempDir())
		require.ErrorContains(t, err, "another process has it open")
		require.NoError(t, end())
	}
	down := errors.New("down")
	_, _, err = s.open(t.Context(), deployed(nil).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return down
		},
	}).Build(), "orcon-system", t.TempDir())
	require.ErrorIs(t, err, down, "what is not known is not taken for one")
}

// JOBS-DESIGN.md 9: with keys, states are encrypted where they are stored, and a file without a key stops the start.
func TestKeys(t *testing.T) {
	folder := t.TempDir()
	s := store{directory: filepath.Join(folder, "states"), keys: filepath.Join(folder, "keys")}
	_, _, err := s.open(t.Context(), fake.NewFakeClient(), "orcon-system", folder)
	require.ErrorContains(t, err, s.keys)
	require.NoError(t, os.WriteFile(s.keys, []byte("# nothing\n"), 0o600))
	_, _, err = s.open(t.Context(), fake.NewFakeClient(), "orcon-system", folder)
	require.ErrorContains(t, err, s.keys)
	key, err := age.GenerateX25519Identity()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(s.keys, []byte(key.String()+"\n"), 0o600))
	opened, end, err := s.open(t.Context(), fake.NewFakeClient(), "orcon-system", folder)
	require.NoError(t, err)
	name := blob.Key{Workspace: "w", Fence: 1, Name: "state-a"}
	require.NoError(t, opened.Put(t.Context(), name, strings.NewReader("password")))
	in, err := opened.Get(t.Context(), name)
	require.NoError(t, err)
	text, err := io.ReadAll(in)
	require.NoError(t, errors.Join(err, in.Close()))
	assert.Equal(t, "password", string(text))
	require.NoError(t, end())
	s.keys = ""
	plain, end, err := s.open(t.Context(), fake.NewFakeClient(), "orcon-system", folder)
	require.NoError(t, err)
	in, err = plain.Get(t.Context(), name)
	require.NoError(t, err)
	text, err = io.ReadAll(in)
	require.NoError(t, errors.Join(err, in.Close(), end()))
	assert.NotContains(t, string(text), "password")
}

// A bucket without credentials is an error that names the file, and no value of it.
func TestCredentials(t *testing.T) {
	folder := t.TempDir()
	s := store{endpoint: "https://s3.example.org/x", bucket: "b", accessKeyFile: filepath.Join(folder, "a"), secretKeyFile: filepath.Join(folder, "s")}
	open := func() error {
		_, _, err := s.open(t.Context(), fake.NewFakeClient(), "orcon-system", t.TempDir())
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
