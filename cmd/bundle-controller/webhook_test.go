package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// The shipped Service leads to the port that the controller serves by default.
func TestShippedService(t *testing.T) {
	text, err := os.ReadFile("../../deployment/bundle-controller/service.yaml")
	require.NoError(t, err)
	var s corev1.Service
	require.NoError(t, yaml.UnmarshalStrict(text, &s))
	shipped, settings := deployment(t), parsed(t)
	assert.Equal(t, shipped.Spec.Selector.MatchLabels, s.Spec.Selector)
	ports := map[string]int32{}
	for _, p := range shipped.Spec.Template.Spec.Containers[0].Ports {
		ports[p.Name] = p.ContainerPort
	}
	assert.EqualValues(t, settings.webhookPort, ports[s.Spec.Ports[0].TargetPort.String()])
	assert.EqualValues(t, settings.healthPort, ports["health"])
}
