// Package docs reads README and docs/ as a reader would, and holds their tests:
// links lead somewhere, commands run and print what the page shows, YAML is
// what the API accepts, and README keeps its size.
//
// A fence names its language. A block ```sh is a script that has to succeed. In
// a block ```console each line that begins with "$ " is a command, and the
// lines after it are what it prints: "…" stands for any text within a line, with
// the spaces around it, and alone on a line for any lines; spaces, ages, times, addresses, hashes and the
// suffixes of pods' names are not compared. A command that only reads is
// repeated until it prints what the page shows.
//
// A page is run in a copy of the checkout of its own, from top to bottom. A page
// that begins with the comment <!-- test: cluster --> is run by test/e2e on a
// cluster that has Orcon; <!-- test: bare cluster --> on one that has not, and
// <!-- test: cluster with runs --> on one that has the controller of runs too. A
// comment before a fence changes how the fence is tested:
//
//	<!-- test: exit 2 -->               the last command ends with this code
//	<!-- test: file PATH -->            the block is part of the repository's file
//	<!-- test: ran by TestName -->      a test of the repository runs these commands
//	<!-- test: needs a registry -->     also "a cloud", "a browser" and "Argo CD": not run
//
// What must not come in: tests of behaviour that no page describes.
package docs
