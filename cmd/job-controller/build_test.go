package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/supply"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

func TestMain(m *testing.M) {
	supply.Child(nil)
	os.Exit(m.Run())
}

// Credentials of the registry of templates are files, read as they are now; none are none.
func TestReadCredentials(t *testing.T) {
	none, err := readCredentials("")
	require.NoError(t, err)
	assert.Equal(t, bundle.Credentials{}, none)
	folder := t.TempDir()
	for name, text := range map[string]string{"username": "ann", "password": "p"} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	both, err := readCredentials(folder)
	require.NoError(t, err)
	assert.Equal(t, bundle.Credentials{Username: "ann", Password: "p"}, both)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "ca.crt"), []byte("PEM"), 0o600))
	both, err = readCredentials(folder)
	require.NoError(t, err)
	assert.Equal(t, "PEM", both.CA)
	require.NoError(t, os.Remove(filepath.Join(folder, "username")))
	_, err = readCredentials(folder)
	require.Error(t, err, "a password of nobody")
	require.NoError(t, os.Mkdir(filepath.Join(folder, "token"), 0o700))
	_, err = readCredentials(folder)
	require.ErrorContains(t, err, "cannot read the credentials: ")
}
