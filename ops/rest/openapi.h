// The document of the API, ops/rest/openapi.json, as the program carries it: the build makes the
// source of it (embed_text.py).
#pragma once

#include <string_view>

namespace eroica {

extern const std::string_view kOpenApiDocument;

}  // namespace eroica
