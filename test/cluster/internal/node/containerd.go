package node

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/component"
	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/image"
	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/state"
)

// pauseImage names the sandbox image of pods.
const pauseImage = "localhost/pause:latest"

// PauseImage is the sandbox image, made of the pause program alone.
func PauseImage(program string) image.Image {
	return image.Image{
		Name: pauseImage, Entrypoint: []string{"/pause"}, User: "65535:65535",
		Programs: map[string]string{"/pause": program},
	}
}

// socket is containerd's.
func socket(d state.Dir) string { return d.Path("containerd.sock") }

// Containerd runs pods. Its own folder for state is in the node's /run.
func (p Plan) Containerd() (component.Spec, error) {
	program, err := exec.LookPath(Containerd)
	if err != nil {
		return component.Spec{}, fmt.Errorf("cannot find containerd: %w", err)
	}
	return component.Spec{
		Name:    p.Component(Containerd),
		Command: []string{program, "--config", p.folder().Path("containerd.toml"), "--log-level", "warn"},
		Healthy: func(ctx context.Context) error {
			connection, err := (&net.Dialer{}).DialContext(ctx, "unix", socket(p.folder()))
			if err != nil {
				return fmt.Errorf("cannot reach containerd: %w", err)
			}
			return connection.Close()
		},
	}, nil
}

// containerdConfiguration: oom scores below the supervisor's may not be asked
// for everywhere, hence restrict_oom_score_adj.
func (p Plan) containerdConfiguration() string {
	return fmt.Sprintf(`version = 2
root = %[1]q
state = "/run/orcon-containerd"
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.tracing.processor.v1.otlp"]

[grpc]
  address = %[2]q

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = %[3]q
  restrict_oom_score_adj = true
  stream_server_address = "127.0.0.1"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = %[4]q
    default_runtime_name = "crun"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.crun]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.crun.options]
        BinaryName = "crun"
        SystemdCgroup = false
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = %[5]q
    conf_dir = %[6]q
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = %[7]q
`, p.folder().Path("containerd"), socket(p.folder()), pauseImage, p.snapshotter(), pluginFolder, p.folder().Path("cni"),
		p.folder().Path("registries"))
}

// networkConfiguration gives each pod a cable to the node rather than a place
// on a bridge: all packets are then routed, and Services work without
// netfilter on bridges.
const networkConfiguration = `{
  "cniVersion": "0.4.0",
  "name": "node",
  "plugins": [
    {
      "type": "ptp",
      "ipMasq": true,
      "ipam": {"type": "host-local", "dataDir": %q, "ranges": [[{"subnet": %q}]], "routes": [{"dst": "0.0.0.0/0"}]}
    },
    {"type": "portmap", "capabilities": {"portMappings": true}}
  ]
}
`

// LoadImage imports an image archive (OCI or docker) for pods and returns what
// containerd said.
func LoadImage(ctx context.Context, d state.Dir, file string) (string, error) {
	command := exec.CommandContext(ctx, "ctr", "-a", socket(d), "-n", "k8s.io", "images", "import", file)
	out, err := command.CombinedOutput()
	said := strings.TrimSpace(string(out))
	if err != nil {
		return "", fmt.Errorf("cannot load image %s: %w: %s", filepath.Base(file), err, said)
	}
	return said, nil
}
