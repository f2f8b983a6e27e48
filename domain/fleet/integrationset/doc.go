// Package integrationset decides what an IntegrationSet does next with its members, the BundleDeployments that
// it stamps: which are made, changed and deleted, and which wait, and why (FLEET.md O1 to O3).
package integrationset
