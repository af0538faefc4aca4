// A text in the gzip format (RFC 1952), as Content-Encoding wants it. Pure function, any thread.
#pragma once

#include <string>
#include <string_view>

namespace eroica {

std::string Gzip(std::string_view text);

}  // namespace eroica
