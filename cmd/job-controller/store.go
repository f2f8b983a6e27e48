package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/golang/glog"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob/directory"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob/s3"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob/sealed"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/jobs"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
)

// store are the flags of the store.
type store struct {
	directory                        string
	endpoint, bucket, prefix, region string
	accessKeyFile, secretKeyFile     string
	// keys is the file of the keys that states are encrypted with; "" for those of a Secret.
	keys string
	// encryption is encryptionDisabled for new states that are stored in plain.
	encryption string
}

// The words of -encryption.
const (
	encryptionEnabled  = "Enabled"
	encryptionDisabled = v1alpha1.EncryptionDisabled
)

// define adds the flags.
func (s *store) define(flags *flag.FlagSet) {
	flags.StringVar(&s.directory, "directory", "", "folder of the states, on a volume that outlives the pod; one replica only")
	flags.StringVar(&s.endpoint, "s3Endpoint", "", "URL of a server that has the S3 API, in place of -directory: https://s3.example.org")
	flags.StringVar(&s.bucket, "s3Bucket", "", "bucket of the states, which must be there")
	flags.StringVar(&s.prefix, "s3Prefix", "", "what the names of objects begin with; unset is nothing")
	flags.StringVar(&s.region, "s3Region", "", "region of the bucket; unset where the server has none")
	flags.StringVar(&s.accessKeyFile, "s3AccessKeyFile", "", "file of the access key, read at start")
	flags.StringVar(&s.keys, "keys", "", "file of the keys that states are encrypted with, as age-keygen writes it: the first key encrypts, "+
		"each one decrypts; read again when it changes; unset is Secret "+jobs.KeysName+" of the own namespace, which is made at the first start")
	flags.StringVar(&s.encryption, "encryption", encryptionEnabled, "Enabled, or Disabled to store new states in plain; "+
		"what is encrypted stays so, and what waits on RunNodes for the controller is encrypted always")
	flags.StringVar(&s.secretKeyFile, "s3SecretKeyFile", "", "file of the secret key, read at start")
}

// check returns what is wrong with the settings.
func (s *store) check() error {
	bucket := []string{s.endpoint, s.bucket, s.accessKeyFile, s.secretKeyFile}
	given := strings.Join(bucket, "") + s.prefix + s.region
	switch {
	case s.encryption != encryptionEnabled && s.encryption != encryptionDisabled:
		return fmt.Errorf("-encryption %q is unknown: use %s or %s", s.encryption, encryptionEnabled, encryptionDisabled)
	case s.directory == "" && given == "":
		return errors.New("there is no store for states: set -directory, or -s3Endpoint and its flags")
	case s.directory != "" && given != "":
		return errors.New("-directory and -s3Endpoint exclude each other: use one of the two")
	case s.directory != "":
		return nil
	}
	for i, flag := range []string{"-s3Endpoint", "-s3Bucket", "-s3AccessKeyFile", "-s3SecretKeyFile"} {
		if bucket[i] == "" {
			return fmt.Errorf("%s is missing: a bucket needs -s3Endpoint, -s3Bucket, -s3AccessKeyFile and -s3SecretKeyFile", flag)
		}
	}
	return nil
}

// surroundings are the store's ports to the cluster and to the machine.
type surroundings struct {
	// reader reads from the API server itself.
	reader    client.Reader
	writer    client.Writer
	namespace string
	// folder is where states are kept while they are encrypted.
	folder string
	// exempt reports that states of a Workspace are stored in plain.
	exempt func(ctx context.Context, workspace string) bool
}

// open returns the store, which encrypts states unless that is switched off, and what closes it. A key that is lost stops
// no start, so that logs can be read and its name is shown.
func (s *store) open(ctx context.Context, at surroundings) (*sealed.Store, func() error, error) {
	opened, end, err := s.openPlain(ctx, at.reader, at.namespace)
	if err != nil {
		return nil, nil, err
	}
	all := &sealed.Store{Store: opened, Prefixes: sealed.Prefixes(), Folder: at.folder, Exempt: at.exempt}
	if s.encryption == encryptionDisabled {
		all.Exempt = func(context.Context, string) bool { return true }
	}
	if all.Keys, err = s.source(ctx, at, opened); err != nil {
		return nil, nil, errors.Join(err, end())
	}
	return all, end, nil
}

// source returns the source of keys. A file must have one at the start; the Secret is made at the first one.
func (s *store) source(ctx context.Context, at surroundings, opened blob.Store) (sealed.Source, error) {
	if s.keys != "" {
		return sealed.File(s.keys), sealed.Check(ctx, sealed.File(s.keys))
	}
	secret := jobs.Keys{Live: at.reader, Writer: at.writer, Namespace: at.namespace}
	used, err := sealed.Used(ctx, opened)
	if err != nil {
		return nil, err
	}
	if err := secret.Make(ctx, used, sealed.Generate); err != nil {
		glog.Errorf("neither states nor what waits on RunNodes can be encrypted: %v", err)
	}
	return secret, nil
}

// openPlain returns the store itself, and what closes it.
func (s *store) openPlain(ctx context.Context, reader client.Reader, namespace string) (blob.Store, func() error, error) {
	if s.directory == "" {
		opened, err := s.openBucket(ctx)
		return opened, func() error { return nil }, err
	}
	if err := alone(ctx, reader, namespace); err != nil {
		return nil, nil, err
	}
	opened, err := directory.Open(s.directory)
	if err != nil {
		return nil, nil, err
	}
	return opened, opened.Close, nil
}

// openBucket opens the bucket with the credentials in the files.
func (s *store) openBucket(ctx context.Context) (blob.Store, error) {
	access, err := secret(s.accessKeyFile)
	if err != nil {
		return nil, err
	}
	key, err := secret(s.secretKeyFile)
	if err != nil {
		return nil, err
	}
	return s3.Open(ctx, s3.Settings{
		Endpoint: s.endpoint, Bucket: s.bucket, Prefix: s.prefix, Region: s.region, AccessKey: access, SecretKey: key,
	})
}

// secret reads a credential.
func secret(file string) (string, error) {
	text, err := os.ReadFile(filepath.Clean(file))
	if err != nil {
		return "", fmt.Errorf("cannot read the credentials of the bucket: %w", err)
	}
	value := strings.TrimSpace(string(text))
	if value == "" {
		return "", fmt.Errorf("cannot read the credentials of the bucket: %s is empty", file)
	}
	return value, nil
}

// alone returns an error if this controller has several replicas: each would have a directory of its own. Outside of a
// Deployment there is one.
func alone(ctx context.Context, reader client.Reader, namespace string) error {
	var own appsv1.Deployment
	err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &own)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("cannot read the own Deployment, whose replicas must not share a directory: %w", err)
	case own.Spec.Replicas != nil && *own.Spec.Replicas > 1:
		return fmt.Errorf("cannot use -directory with %d replicas: scale Deployment %s/%s to 1, or use -s3Endpoint",
			*own.Spec.Replicas, namespace, name)
	}
	return nil
}
