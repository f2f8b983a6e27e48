package main

import (
	"context"
	"embed"
	"fmt"
	"time"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

// manifests are deploy/crds of cert-manager's module, unchanged, without ACME.
//
//go:embed crds/*.yaml
var manifests embed.FS

// installCRDs applies the CRDs and waits until they are served.
func installCRDs(ctx context.Context, config *rest.Config) error {
	client, err := clientset.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("cannot use the cluster: %w", err)
	}
	files, err := manifests.ReadDir("crds")
	if err != nil {
		return fmt.Errorf("cannot read CRDs: %w", err)
	}
	for _, file := range files {
		if err := installCRD(ctx, client, "crds/"+file.Name()); err != nil {
			return fmt.Errorf("cannot install %s: %w", file.Name(), err)
		}
	}
	return nil
}

func installCRD(ctx context.Context, client clientset.Interface, path string) error {
	text, err := manifests.ReadFile(path)
	if err != nil {
		return err
	}
	crd := apiextensions.CustomResourceDefinition{}
	if err := yaml.Unmarshal(text, &crd); err != nil {
		return err
	}
	force := true
	crds := client.ApiextensionsV1().CustomResourceDefinitions()
	options := metav1.PatchOptions{FieldManager: "certmanager", Force: &force}
	if _, err := crds.Patch(ctx, crd.Name, types.ApplyPatchType, text, options); err != nil {
		return err
	}
	return wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		now, err := crds.Get(ctx, crd.Name, metav1.GetOptions{})
		return err == nil && established(now), nil
	})
}

// established says whether a CRD is served.
func established(crd *apiextensions.CustomResourceDefinition) bool {
	for _, c := range crd.Status.Conditions {
		if c.Type == apiextensions.Established && c.Status == apiextensions.ConditionTrue {
			return true
		}
	}
	return false
}
