// What a browser loads of the dashboard, embedded by the build (embed_assets.py): index.html as
// "/", all modules as "/assets/main.js", all sheets as "/assets/dashboard.css", other files as
// "/assets/NAME". They lie in the program's read-only data; any thread may read them.
#pragma once

#include <span>
#include <string_view>

namespace eroica {

struct Asset {
  std::string_view path;
  std::string_view content_type;
  std::string_view etag;   // strong, with its quotation marks; of the content
  std::string_view bytes;  // as it is
  std::string_view gzip;   // for clients that accept Content-Encoding: gzip
};

// By path.
std::span<const Asset> Assets();

// Null where there is none. path: of the request, without its query.
const Asset* FindAsset(std::string_view path);

}  // namespace eroica
