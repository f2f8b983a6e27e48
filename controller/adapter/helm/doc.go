// Package helm renders charts, without a cluster and without a network: values,
// dependencies that the chart contains, its schemas, its hooks.
//
// What must not come in: a release that Helm stores, a client, a repository of charts.
package helm
