// Package config reads the one YAML file of Daybreak and checks it as a whole.
//
// # The promise
//
// [Load] gives either a [Config] in which every value is present, in range and consistent with the others, or an
// [*Errors] that lists everything that is wrong, in the order of the file. Nothing is half-loaded, and a person who mends
// what is listed has mended all of it: a value that is wrong never hides another one that is.
//
// # How
//
// The text is parsed into a tree of nodes that know their line and column. The tree is walked by a small decoder
// (decode.go) along the keys that each part of the file may have; every value is read from the node's own text by a parser
// of its kind (values.go). So no value goes through the guesses of YAML: money is never a float, an unquoted 01:00 is a
// time of day and not the number 60, and 010 is refused instead of being 8. A problem is noted and the walk goes on.
// Rules that need several values (a match key that a side does not have) run only on values that were read well, so one
// fault gives one message.
//
// A syntax error ends the parse at the first fault, as nothing after it can be told apart; it is the only problem
// reported then.
//
// # What is not done here
//
// Neither environment nor clock nor network is used, and of the file system only the configuration file itself:
// whether the named files exist is asked by [Config.CheckFiles]. Secrets belong into files of their own, named by
// password_file and creds; a url may hold a user and password all the same, so no message ever repeats a url.
package config
