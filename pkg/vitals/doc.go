// Package vitals shows the machinery under the services as metrics: what a process did with its bus and its bucket, how
// the engines answer, how full the streams are, and which jobs there are to look at. docs/metrics.md is the catalogue.
//
// All of it is read at the scrape and nothing is kept, so that it cannot be stale. [Process] reads counters in memory.
// [Engines] asks the engines, with a time limit for the whole scrape: what does not answer in time is left out, and
// daybreak_engine_up says so. It is enough to register it in one kind of service.
//
// No label holds what changes with time: consumers are shown by their durable name, those without one (readers that come
// and go) are left out, and so are consumers beyond consumersMax of a stream.
package vitals
