package source

// QueryContext is what queries run under.
var QueryContext = queryContext
