package source

// Encodings lists the names that [CSV].Encoding knows. "auto" is a byte order mark, else strict UTF-8; nothing is guessed.
var Encodings = []string{"auto", "utf-8", "gb18030", "gbk", "utf-16", "utf-16le", "utf-16be", "windows-1252"}
