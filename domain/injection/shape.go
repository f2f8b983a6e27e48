package injection

import "slices"

// Shape is the part of a pod that injection reads, and all of it. It is the
// target of a JSON decoder: what it does not name is never held, so it can
// neither be lost nor moved (INJECTION.md I2).
type Shape struct {
	// Metadata is the pod's, or the template's.
	Metadata Metadata `json:"metadata"`
	// Spec is the pod's.
	Spec Spec `json:"spec"`
}

// constraintKey is the annotation in which OpenShift notes the constraint that it has judged a pod by.
const constraintKey = "openshift.io/scc"

// userAssigned reports whether the namespace chooses the users of the pod's containers. OpenShift has done so before it
// calls webhooks, does so again for containers that are added, and refuses any other user (INJECTION.md I4).
func (s *Shape) userAssigned() bool {
	open := func(c Container) bool { return c.SecurityContext.RunAsUser == nil }
	return has(s.Metadata.Annotations, constraintKey) &&
		!slices.ContainsFunc(s.Spec.InitContainers, open) && !slices.ContainsFunc(s.Spec.Containers, open)
}

// Metadata is the part of an object's metadata that injection reads.
type Metadata struct {
	Name              string            `json:"name"`
	GenerateName      string            `json:"generateName"`
	Namespace         string            `json:"namespace"`
	DeletionTimestamp string            `json:"deletionTimestamp"`
	Labels            map[string]string `json:"labels"`
	Annotations       map[string]string `json:"annotations"`
	OwnerReferences   []Owner           `json:"ownerReferences"`
}

// Owner is an owner reference.
type Owner struct {
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	Controller bool   `json:"controller"`
}

// Controller returns the owner that made the object.
func (m Metadata) Controller() (Owner, bool) {
	for _, o := range m.OwnerReferences {
		if o.Controller {
			return o, true
		}
	}
	return Owner{}, false
}

// Spec is the part of a pod's spec that injection reads.
type Spec struct {
	InitContainers        []Container       `json:"initContainers"`
	Containers            []Container       `json:"containers"`
	Volumes               []Named           `json:"volumes"`
	ImagePullSecrets      []Named           `json:"imagePullSecrets"`
	NodeSelector          map[string]string `json:"nodeSelector"`
	Affinity              Affinity          `json:"affinity"`
	HostNetwork           bool              `json:"hostNetwork"`
	DNSPolicy             string            `json:"dnsPolicy"`
	ShareProcessNamespace bool              `json:"shareProcessNamespace"`
	OS                    *Named            `json:"os"`
	SecurityContext       SecurityContext   `json:"securityContext"`
	Resources             *ContainerLimits  `json:"resources"`
}

// clusterNames reports whether the pod's containers know the names of the cluster's Services.
func (s *Spec) clusterNames() bool {
	return !s.HostNetwork && s.DNSPolicy != "Default" && s.DNSPolicy != "None"
}

// Named is an item that matters only by its name.
type Named struct {
	Name string `json:"name"`
}

// SecurityContext is the part of a pod's or a container's that injection reads.
type SecurityContext struct {
	RunAsUser      *int64    `json:"runAsUser"`
	WindowsOptions *struct{} `json:"windowsOptions"`
}

// Container is the part of a container that injection reads.
type Container struct {
	Name            string          `json:"name"`
	RestartPolicy   string          `json:"restartPolicy"`
	Env             []EnvVar        `json:"env"`
	VolumeMounts    []VolumeMount   `json:"volumeMounts"`
	Ports           []Port          `json:"ports"`
	Resources       ContainerLimits `json:"resources"`
	SecurityContext SecurityContext `json:"securityContext"`
}

// EnvVar is a variable that a container has.
type EnvVar struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// VolumeMount is a mount that a container has.
type VolumeMount struct {
	Name      string `json:"name"`
	MountPath string `json:"mountPath"`
}

// Port is a port that a container declares.
type Port struct {
	ContainerPort int64  `json:"containerPort"`
	Protocol      string `json:"protocol"`
}

// ContainerLimits are the resources that decide a pod's class.
type ContainerLimits struct {
	Requests ResourceList `json:"requests"`
	Limits   ResourceList `json:"limits"`
}

// ResourceList holds quantities; both may be written as numbers.
type ResourceList struct {
	CPU    Quantity `json:"cpu"`
	Memory Quantity `json:"memory"`
}

// Quantity is a quantity as it was written.
type Quantity string

// UnmarshalJSON takes text and numbers alike, as Kubernetes does.
func (q *Quantity) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		return nil
	}
	if len(text) >= 2 && text[0] == '"' {
		text = text[1 : len(text)-1]
	}
	*q = Quantity(text)
	return nil
}

// guaranteed reports whether the pod is in the Guaranteed class as it is:
// every container has limits, and requests none or the same.
func (s *Spec) guaranteed() bool {
	if len(s.Containers) == 0 {
		return false
	}
	for _, list := range [][]Container{s.Containers, s.InitContainers} {
		for i := range list {
			if r := list[i].Resources; !fixed(r.Requests.CPU, r.Limits.CPU) || !fixed(r.Requests.Memory, r.Limits.Memory) {
				return false
			}
		}
	}
	return true
}

func fixed(request, limit Quantity) bool {
	return limit != "" && (request == "" || request == limit || amount(string(request)) == amount(string(limit)))
}

// windows reports whether the pod is for Windows nodes.
func (s *Spec) windows() bool {
	return s.OS != nil && s.OS.Name == "windows" ||
		s.only("kubernetes.io/os", "windows") || s.only("beta.kubernetes.io/os", "windows") ||
		s.SecurityContext.WindowsOptions != nil ||
		slices.ContainsFunc(s.InitContainers, ofWindows) || slices.ContainsFunc(s.Containers, ofWindows)
}

func ofWindows(c Container) bool { return c.SecurityContext.WindowsOptions != nil }
