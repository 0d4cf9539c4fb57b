// Package ticker says which business days are due: for every job it publishes each due day that is not DONE as
// day.due.<job>.<date>. It is the one place that reads the clock to decide that a day exists; from here on the day is
// carried in the message.
//
// # What a scan does
//
// For each job, on its own:
//
//	newest due day      a function of job and clock (package model)
//	floor               fixed at the job's first scan, kept ever after, whatever the configuration says later
//	candidates          every business day from the later of floor and cap up to the newest due one, not only those
//	                    after the last DONE: holes count
//	published           the candidates whose watermark is not DONE, oldest first
//
// The message id is due/<job>/<date>, so any number of replicas may scan at any time: the stream keeps one message per
// day. A message is a hint and the watermark the truth, so publishing a day that is being worked on does no harm, and
// neither does a day published again after the stream has forgotten its id.
//
// # When it scans
//
// At start, at every due instant, every few minutes for holes, and when the clock was set or the machine slept. No sleep
// is longer than seconds, and sleeps run on real time while due instants are read from the wall clock, so neither a
// suspend nor a clock that was set forward or back makes the ticker oversleep.
//
// # When something fails
//
// A job that cannot be scanned or published is logged and counted and the others go on; the whole scan is then repeated,
// later each time up to half a minute. Nothing but the end of its context ends Run. A replica that dies loses nothing: what
// it would have published is found by the next scan of any replica, or by the auditor.
package ticker
