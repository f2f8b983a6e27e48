package kubejob

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/executor"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
)

// The containers of a pod.
const (
	containerInstall  = "install"
	containerImage    = "image"
	containerKeeper   = "keeper"
	containerTemplate = "template"
)

// The folders of the runner's own.
const (
	folderBinaries = "/orcon/bin"
	folderExchange = "/orcon/exchange"
	folderScratch  = "/orcon/scratch"
	folderIdentity = "/orcon/identity"
	folderTrust    = "/orcon/trust"
	folderContent  = "/orcon/content"
	folderStored   = "/orcon/stored"
)

const (
	// runner is the program in the image of job-runner, installed the copy of it in the template's container.
	runner    = "/job-runner"
	installed = folderBinaries + "/job-runner"
	fileTrust = "ca.crt"
	// backend is where the keeper serves the state to Terraform and OpenTofu, inside of the pod.
	backend = "127.0.0.1:9467"
	// tokenSeconds is the life of a token; the kubelet renews it in time.
	tokenSeconds = 3600
)

// pod returns the pod of an attempt.
func pod(a executor.Attempt, r Runner) corev1.PodSpec {
	return corev1.PodSpec{
		RestartPolicy:                 corev1.RestartPolicyNever,
		TerminationGracePeriodSeconds: new(seconds(a.Timing.Grace + capture)),
		AutomountServiceAccountToken:  new(false),
		EnableServiceLinks:            new(false),
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot: new(true), RunAsUser: new(int64(contract.User)), RunAsGroup: new(int64(contract.User)),
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
		InitContainers: []corev1.Container{install(r), image(a), keeper(a, r)},
		Containers:     []corev1.Container{template(a)},
		Volumes:        append(volumes(), secrets(a.Input.Secrets)...),
	}
}

// volumeSecrets has the secrets of the template, in memory. Where some are minted, the keeper writes it, and volumeStored has
// those of Secrets.
const (
	volumeSecrets = "secrets"
	volumeStored  = "stored"
)

// secrets returns the volumes of secrets; none where the template has none. The program may read them, and cannot replace
// them.
func secrets(all []run.SecretFile) (volumes []corev1.Volume) {
	name := volumeSecrets
	if len(run.Minted(all)) > 0 {
		name = volumeStored
		volumes = append(volumes, corev1.Volume{Name: volumeSecrets, VolumeSource: corev1.VolumeSource{
			EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory},
		}})
	}
	source := &corev1.ProjectedVolumeSource{DefaultMode: new(int32(0o444))}
	for _, s := range run.Stored(all) {
		source.Sources = append(source.Sources, corev1.VolumeProjection{Secret: &corev1.SecretProjection{
			LocalObjectReference: corev1.LocalObjectReference{Name: s.Secret},
			Items:                []corev1.KeyToPath{{Key: s.Key, Path: s.Name}},
		}})
	}
	if len(source.Sources) > 0 {
		volumes = append(volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{Projected: source}})
	}
	return volumes
}

// volumes returns the volumes of a pod. None has a limit: the keeper bounds the state, and a run that is killed for its
// size could not be captured (JOBS-DESIGN.md 10).
func volumes() []corev1.Volume {
	all := []corev1.Volume{
		{Name: "identity", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{
				Audience: v1alpha1.Audience, ExpirationSeconds: new(int64(tokenSeconds)), Path: "token",
			}},
		}}}},
		{Name: "trust", VolumeSource: corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{Items: []corev1.DownwardAPIVolumeFile{
			{Path: fileTrust, FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.annotations['" + annotationTrust + "']"}},
		}}}},
	}
	for _, name := range []string{"binaries", "exchange", "scratch", "state", "logs", "content", "home", "temporary"} {
		all = append(all, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	}
	return all
}

// confined returns a container's rights: none.
func confined() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true),
		Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}

// requests returns what a container of the runner needs. It has no limit: a keeper that is killed captures nothing.
func requests() corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("64Mi"),
	}}
}

func install(r Runner) corev1.Container {
	return corev1.Container{
		Name: containerInstall, Image: r.Image, ImagePullPolicy: r.PullPolicy,
		Command:         []string{runner, "install", installed},
		VolumeMounts:    []corev1.VolumeMount{{Name: "binaries", MountPath: folderBinaries}},
		Resources:       requests(),
		SecurityContext: confined(),
	}
}

// image returns a container of the template's image that copies its content and its users, before the keeper claims the
// run.
func image(a executor.Attempt) corev1.Container {
	return corev1.Container{
		Name: containerImage, Image: a.Input.Image,
		Command: []string{installed, "unpack", folderContent},
		VolumeMounts: []corev1.VolumeMount{
			{Name: "binaries", MountPath: folderBinaries, ReadOnly: true},
			{Name: "content", MountPath: folderContent},
		},
		SecurityContext:          confined(),
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
}

func keeper(a executor.Attempt, r Runner) corev1.Container {
	command := []string{
		runner, "keeper", option("run", a.UID), option("attempt", a.Number), "--place=$(POD_UID)", option("address", r.Address),
		option("token", folderIdentity+"/token"), option("trust", folderTrust+"/"+fileTrust), option("exchange", folderExchange),
		option("state", contract.State), option("scratch", folderScratch), option("backend", backend),
	}
	mounts := []corev1.VolumeMount{
		{Name: "identity", MountPath: folderIdentity, ReadOnly: true},
		{Name: "trust", MountPath: folderTrust, ReadOnly: true},
		{Name: "exchange", MountPath: folderExchange},
		{Name: "scratch", MountPath: folderScratch},
		{Name: "state", MountPath: contract.State},
		{Name: "logs", MountPath: contract.Logs},
	}
	if a.Input.Content != "" {
		mounts = append(mounts, work())
	}
	if len(run.Minted(a.Input.Secrets)) > 0 {
		command = append(command, option("stored", folderStored))
	}
	return corev1.Container{
		Name: containerKeeper, Image: r.Image, ImagePullPolicy: r.PullPolicy,
		RestartPolicy: new(corev1.ContainerRestartPolicyAlways),
		Command:       append(command, literals(a.KeeperArguments())...),
		Env: []corev1.EnvVar{
			{Name: "POD_UID", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.uid"}}},
		},
		VolumeMounts:    append(mounts, secretMounts(a, true)...),
		Resources:       requests(),
		SecurityContext: confined(),
	}
}

func template(a executor.Attempt) corev1.Container {
	command := []string{installed, "shim", option("exchange", folderExchange), option("work", contract.Work)}
	command = append(command, literals(a.ShimArguments())...)
	return corev1.Container{
		Name: containerTemplate, Image: a.Input.Image,
		Command:         append(command, "--"),
		Args:            literals(slices.Concat(a.Input.Entrypoint, a.Input.Args)),
		WorkingDir:      contract.Work,
		Env:             environment(a),
		VolumeMounts:    mounts(a),
		SecurityContext: confined(),
	}
}

// work returns the mount of the working directory.
func work() corev1.VolumeMount {
	return corev1.VolumeMount{Name: "content", MountPath: contract.Work, SubPath: "work"}
}

// mounts returns what the template sees besides its image.
func mounts(a executor.Attempt) []corev1.VolumeMount {
	return append([]corev1.VolumeMount{
		{Name: "binaries", MountPath: folderBinaries, ReadOnly: true},
		{Name: "exchange", MountPath: folderExchange},
		{Name: "state", MountPath: contract.State},
		{Name: "logs", MountPath: contract.Logs},
		work(),
		{Name: "content", MountPath: "/etc/passwd", SubPath: "passwd", ReadOnly: true},
		{Name: "content", MountPath: "/etc/group", SubPath: "group", ReadOnly: true},
		{Name: "home", MountPath: contract.Home},
		{Name: "temporary", MountPath: contract.Temporary},
	}, secretMounts(a, false)...)
}

// secretMounts returns the mounts of the secrets, if there are some: the keeper has them too, so that no log has them. It
// writes those that are minted.
func secretMounts(a executor.Attempt, writes bool) (all []corev1.VolumeMount) {
	for _, v := range secrets(a.Input.Secrets) {
		m := corev1.VolumeMount{Name: v.Name, MountPath: contract.Secrets, ReadOnly: v.EmptyDir == nil || !writes}
		if v.Name == volumeStored {
			m.MountPath = folderStored
		}
		all = append(all, m)
	}
	return all
}

// environment returns the variables of the template.
func environment(a executor.Attempt) []corev1.EnvVar {
	var all []corev1.EnvVar
	for name, value := range a.Environment() {
		all = append(all, corev1.EnvVar{Name: name, Value: literal(value)})
	}
	slices.SortFunc(all, func(a, b corev1.EnvVar) int { return cmp.Compare(a.Name, b.Name) })
	return all
}
