package node

import (
	"fmt"

	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/component"
)

func (p Plan) kubelet() component.Spec {
	return component.Spec{
		Name: p.Component(Kubelet),
		Command: []string{
			p.Dir.Program(Kubelet),
			"--config=" + p.folder().Path("kubelet.yaml"),
			"--kubeconfig=" + p.kubeconfig(Kubelet),
			"--hostname-override=" + p.Host(),
			"--node-ip=" + p.address(),
			"--root-dir=" + p.folder().Path("kubelet"),
			"--cert-dir=" + p.folder().Path("kubelet", "pki"),
		},
		Healthy: p.probe("http://127.0.0.1:10248/healthz"),
	}
}

// kubeletConfiguration turns off what reacts to the machine (eviction, image
// collection) and what real machines lack here (cgroup v2, no swap), and looks
// at mounted ConfigMaps more often than the usual minute, so that tests need
// not wait.
func (p Plan) kubeletConfiguration() string {
	return fmt.Sprintf(`apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: 0.0.0.0
authentication:
  anonymous: {enabled: false}
  webhook: {enabled: true}
  x509: {clientCAFile: %[1]q}
authorization: {mode: Webhook}
tlsCertFile: %[2]q
tlsPrivateKeyFile: %[3]q
containerRuntimeEndpoint: %[4]q
cgroupDriver: cgroupfs
cgroupRoot: %[5]q
failCgroupV1: false
enforceNodeAllocatable: []
failSwapOn: false
oomScoreAdj: 0
podLogsDir: %[6]q
volumePluginDir: %[7]q
clusterDNS: [%[8]q]
clusterDomain: cluster.local
resolvConf: %[9]q
maxPods: 250
serializeImagePulls: false
syncFrequency: 5s
nodeStatusUpdateFrequency: 5s
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
evictionHard: {memory.available: "0%%", nodefs.available: "0%%", nodefs.inodesFree: "0%%", imagefs.available: "0%%", imagefs.inodesFree: "0%%"}
kubeAPIQPS: 100
kubeAPIBurst: 200
shutdownGracePeriod: 0s
`, p.Dir.PKI("ca.crt"), p.folder().PKI("kubelet.crt"), p.folder().PKI("kubelet.key"), "unix://"+socket(p.folder()),
		"/"+p.folder().Cgroup(), p.folder().Path("pods"), p.folder().Path("volume-plugins"), DNSAddress, p.folder().Path("pod-resolv.conf"))
}
