// Names from outside (jobs, hosts, functions, files) in front of people and in keys. Whoever names
// them may put in what drives a terminal, forges a line or reverses the reading direction.
// Pure functions, any thread.
#pragma once

#include <string>
#include <string_view>

namespace eroica {

// For a terminal or a line of a log: one line of valid UTF-8 without control characters, those of
// bidirectional text among them. What it must not hold is written as \n, \x1b or \u202e. For
// people: a name that holds these letters itself reads the same.
std::string Printable(std::string_view text);

// JSON that was made of such names is valid, but some terminals act on characters that JSON need
// not escape (C1, bidirectional text): the same document with those escaped.
std::string PrintableJson(std::string_view json);

// Whether it is UTF-8 as a whole: no overlong forms, no surrogates, nothing beyond Unicode.
bool IsUtf8(std::string_view text);

// How many characters a text of UTF-8 has.
size_t CharacterCount(std::string_view text);

// For keys, identities and URIs: the bytes of what Printable would not show, and '%', as %1B.
// Different texts stay different.
std::string PercentEncoded(std::string_view text);

}  // namespace eroica
