// Package certificate gives Orcon's servers their certificates and publishes the authorities to trust (DESIGN.md
// decision 8, INJECTION.md I10).
//
// There are two ways, and a binary uses one of them:
//
//   - Self-managed: an authority of our own lives in Secret orcon-ca, which
//     the controller alone reads. [SelfManaged] signs a short-lived leaf in the
//     memory of each of its replicas. [Rotator] runs in its elected leader; it
//     makes the authority, replaces it in steps, publishes the bundle, and
//     signs the webhook's leaf, which [Served] serves there.
//   - From files: [Files] serves a pair that another program writes, such as
//     cert-manager. [TrustFile] publishes the bundle that comes with it.
//
// # Rotation
//
// The authority is replaced in steps. Each step is one write of the Secret,
// and the bundle to publish is a function of the Secret alone. A process that
// dies between any two writes is followed by one that reads the Secret,
// publishes what it says and goes on.
//
//	      (no usable authority)
//	               │ create: webhook configuration first, then Secret
//	               ▼
//	┌────────▶  serving          tls.*                bundle: current
//	│              │ announce: a third of the lifetime is left
//	│              ▼
//	│          announced         + ca.next.*          bundle: current+next
//	│              │ stamp: the bundle is in every place
//	│              ▼
//	│         propagating        + published=T        bundle: current+next
//	│              │ promote: T + propagation has passed, so that
//	│              │ kubelets have refreshed every ConfigMap
//	│              ▼
//	│          promoted          tls.* = next,        bundle: current+old
//	│              │             + ca.old.crt, promoted=T
//	│              │ retire: T + leaf + skew has passed, so that
//	│              │ no leaf signed by the old one is alive
//	└──────────────┘
//
// The invariant: a leaf in use verifies against every published bundle. A place that refuses its bundle (a namespace
// whose admission denies it) holds back the promotion until half of the last third is gone, and not longer: one
// namespace must not let the authority of all expire.
//
// # Who writes what
//
//	Secret orcon-ca                  Rotator, with resourceVersion; created by server-side apply
//	Secret orcon-webhook-tls         Rotator, likewise
//	MutatingWebhookConfiguration     Rotator, caBundle only, server-side apply
//	ConfigMap orcon-trust            Rotator or TrustFile, server-side apply
//
// The bundle is in Orcon's namespace, in each opted-in namespace, and in each
// namespace that was opted in once: pods injected there still trust it. A
// ConfigMap is never deleted (SAFETY.md, "An end is never guessed"). Secrets
// are read and watched by name only (SAFETY.md S2).
//
// An installer that uses server-side apply and drops a webhook from its
// configuration has to remove the entry itself, since the bundle's field
// manager still owns a field of it.
//
// What must not come in: rooms of the controller or of the webhook, decisions
// about relations, and any list or watch of Secrets that is not by name.
package certificate
