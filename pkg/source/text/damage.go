package text

import "unicode/utf8"

// Damage is the first character of a text that only damage puts into an identifier: a control character, a byte order mark
// from where two files were joined, or the replacement character of a decoder that met a wrong charset. -1 for none. What
// can merely not be seen, such as marks of the direction of writing, is left: people paste them with numbers, on both sides
// alike.
func Damage(s string) rune {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c < ' ' || c == 0x7F:
			return rune(c)
		case c >= utf8.RuneSelf:
			return damageFrom(s[i:])
		}
	}
	return -1
}

// damageFrom looks on where the text is no longer ASCII.
func damageFrom(s string) rune {
	for _, r := range s {
		if r < ' ' || r >= 0x7F && r < 0xA0 || r == '\uFEFF' || r == utf8.RuneError {
			return r
		}
	}
	return -1
}
