package pod

import (
	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
	"gitlab.ilabt.imec.be/tengu/orcon/webhook/internal/scan"
)

// readShape reads of a pod what injection reads; a property test compares it
// with encoding/json.
func readShape(c *scan.Cursor, s *injection.Shape) {
	for c.Open('{'); c.More('}'); {
		switch string(c.Key()) {
		case "metadata":
			readMetadata(c, &s.Metadata)
		case "spec":
			readSpec(c, &s.Spec)
		default:
			c.Skip()
		}
	}
}

func readMetadata(c *scan.Cursor, m *injection.Metadata) {
	for c.Open('{'); c.More('}'); {
		switch string(c.Key()) {
		case "name":
			m.Name = c.Text()
		case "generateName":
			m.GenerateName = c.Text()
		case "namespace":
			m.Namespace = c.Text()
		case "deletionTimestamp":
			m.DeletionTimestamp = c.Text()
		case "labels":
			m.Labels = c.Texts()
		case "annotations":
			m.Annotations = c.Texts()
		case "ownerReferences":
			m.OwnerReferences = items(c, readOwner)
		default:
			c.Skip()
		}
	}
}

func readOwner(c *scan.Cursor, o *injection.Owner) {
	for c.Open('{'); c.More('}'); {
		switch string(c.Key()) {
		case "kind":
			o.Kind = c.Text()
		case "name":
			o.Name = c.Text()
		case "controller":
			o.Controller = c.Bool()
		default:
			c.Skip()
		}
	}
}

func readSpec(c *scan.Cursor, s *injection.Spec) {
	for c.Open('{'); c.More('}'); {
		switch string(c.Key()) {
		case "initContainers":
			s.InitContainers = items(c, readContainer)
		case "containers":
			s.Containers = items(c, readContainer)
		case "volumes":
			s.Volumes = items(c, readNamed)
		case "imagePullSecrets":
			s.ImagePullSecrets = items(c, readNamed)
		case "nodeSelector":
			s.NodeSelector = c.Texts()
		case "affinity":
			readAffinity(c, &s.Affinity)
		case "hostNetwork":
			s.HostNetwork = c.Bool()
		case "dnsPolicy":
			s.DNSPolicy = c.Text()
		case "shareProcessNamespace":
			s.ShareProcessNamespace = c.Bool()
		case "os":
			s.OS = optional(c, readNamed)
		case "securityContext":
			readSecurityContext(c, &s.SecurityContext)
		case "resources":
			s.Resources = optional(c, readLimits)
		default:
			c.Skip()
		}
	}
}

func readAffinity(c *scan.Cursor, a *injection.Affinity) {
	within(c, "nodeAffinity", func() {
		within(c, "requiredDuringSchedulingIgnoredDuringExecution", func() {
			within(c, "nodeSelectorTerms", func() { a.NodeAffinity.Required.Terms = items(c, readTerm) })
		})
	})
}

func readTerm(c *scan.Cursor, t *injection.NodeTerm) {
	within(c, "matchExpressions", func() { t.Labels = items(c, readNodeLabel) })
}

func readNodeLabel(c *scan.Cursor, l *injection.NodeLabel) {
	for c.Open('{'); c.More('}'); {
		switch string(c.Key()) {
		case "key":
			l.Key = c.Text()
		case "operator":
			l.Operator = c.Text()
		case "values":
			l.Values = items(c, func(c *scan.Cursor, v *string) { *v = c.Text() })
		default:
			c.Skip()
		}
	}
}

func readSecurityContext(c *scan.Cursor, s *injection.SecurityContext) {
	for c.Open('{'); c.More('}'); {
		switch string(c.Key()) {
		case "runAsUser":
			s.RunAsUser = c.Int()
		case "windowsOptions":
			s.WindowsOptions = optional(c, func(c *scan.Cursor, _ *struct{}) { c.Skip() })
		default:
			c.Skip()
		}
	}
}

func readContainer(c *scan.Cursor, to *injection.Container) {
	for c.Open('{'); c.More('}'); {
		switch string(c.Key()) {
		case "name":
			to.Name = c.Text()
		case "restartPolicy":
			to.RestartPolicy = c.Text()
		case "env":
			to.Env = items(c, readEnv)
		case "volumeMounts":
			to.VolumeMounts = items(c, readMount)
		case "ports":
			to.Ports = items(c, readPort)
		case "resources":
			readLimits(c, &to.Resources)
		case "securityContext":
			readSecurityContext(c, &to.SecurityContext)
		default:
			c.Skip()
		}
	}
}

func readEnv(c *scan.Cursor, e *injection.EnvVar) {
	for c.Open('{'); c.More('}'); {
		switch string(c.Key()) {
		case "name":
			e.Name = c.Text()
		case "value":
			e.Value = c.Text()
		default:
			c.Skip()
		}
	}
}

func readMount(c *scan.Cursor, m *injection.VolumeMount) {
	for c.Open('{'); c.More('}'); {
		switch string(c.Key()) {
		case "name":
			m.Name = c.Text()
		case "mountPath":
			m.MountPath = c.Text()
		default:
			c.Skip()
		}
	}
}

func readPort(c *scan.Cursor, p *injection.Port) {
	for c.Open('{'); c.More('}'); {
		switch string(c.Key()) {
		case "containerPort":
			if n := c.Int(); n != nil {
				p.ContainerPort = *n
			}
		case "protocol":
			p.Protocol = c.Text()
		default:
			c.Skip()
		}
	}
}

func readNamed(c *scan.Cursor, n *injection.Named) {
	for c.Open('{'); c.More('}'); {
		if string(c.Key()) == "name" {
			n.Name = c.Text()
		} else {
			c.Skip()
		}
	}
}

func readLimits(c *scan.Cursor, l *injection.ContainerLimits) {
	for c.Open('{'); c.More('}'); {
		switch string(c.Key()) {
		case "requests":
			readAmounts(c, &l.Requests)
		case "limits":
			readAmounts(c, &l.Limits)
		default:
			c.Skip()
		}
	}
}

func readAmounts(c *scan.Cursor, l *injection.ResourceList) {
	for c.Open('{'); c.More('}'); {
		switch string(c.Key()) {
		case "cpu":
			_ = l.CPU.UnmarshalJSON(c.Raw())
		case "memory":
			_ = l.Memory.UnmarshalJSON(c.Raw())
		default:
			c.Skip()
		}
	}
}

// within reads one member of an object.
func within(c *scan.Cursor, key string, read func()) {
	for c.Open('{'); c.More('}'); {
		if string(c.Key()) == key {
			read()
		} else {
			c.Skip()
		}
	}
}

// items reads a list; nil for a null.
func items[T any](c *scan.Cursor, read func(*scan.Cursor, *T)) []T {
	if c.Null() {
		return nil
	}
	list := []T{}
	for c.Open('['); c.More(']'); {
		var item T
		read(c, &item)
		list = append(list, item)
	}
	return list
}

// optional reads an object; nil for a null.
func optional[T any](c *scan.Cursor, read func(*scan.Cursor, *T)) *T {
	if c.Null() {
		return nil
	}
	var value T
	read(c, &value)
	return &value
}
