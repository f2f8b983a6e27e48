// Package archive unpacks what strangers have packed: tar, tar with gzip, and zip.
// Nothing is written anywhere, and all is refused where one entry is.
//
// What must not come in: a network, a file of the machine.
package archive
