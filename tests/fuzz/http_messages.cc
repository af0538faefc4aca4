#include "tests/fuzz/http_messages.h"

#include <algorithm>
#include <cctype>
#include <iterator>

namespace eroica {
namespace {

constexpr const char* kTargets[] = {"/healthz",
                                    "/readyz",
                                    "/metrics",
                                    "/openapi.json",
                                    "/v1/jobs",
                                    "/v1/jobs?limit=1",
                                    "/v1/jobs/night%2F7/steps",
                                    "/v1/jobs/night%2F7/heatmap?functions=2",
                                    "/v1/jobs/night%2F7/ranks?limit=2",
                                    "/v1/findings?state=open",
                                    "/v1/findings/stream",
                                    "/v1/findings/stream?severity=minor",
                                    "/"};
constexpr const char* kPosts[] = {"/v1/jobs/night%2F7/capture",
                                  "/v1/findings/0123456789abcdef0123456789abcdef/mute",
                                  "/v1/replays", "/api/v2/alerts"};
constexpr const char* kHeaders[] = {"Accept-Encoding: gzip", "Connection: keep-alive",
                                    "Connection: close",     "If-None-Match: \"00\", W/\"1\"",
                                    "Last-Event-ID: 0:1",    "Authorization: Bearer abc",
                                    "Expect: 100-continue",  "Eroica-Forwarded: 1",
                                    "Upgrade: h2c",          "X-Folded: a\r\n b",
                                    "Link: <a>; rel=b"};
constexpr const char* kTrailers[] = {"X-Checksum: 1", "Expires: 0", "Server-Timing: a;dur=1"};
constexpr const char* kExtensions[] = {"", "", "", ";a", ";a=1", ";a=\"b\"", " ;a"};
constexpr const char* kStatus[] = {"200 OK",
                                   "200 OK",
                                   "200 OK",
                                   "202 Accepted",
                                   "204 No Content",
                                   "304 Not Modified",
                                   "400 Bad Request",
                                   "404 Not Found",
                                   "429 Too Many Requests",
                                   "503 Service Unavailable"};
constexpr const char* kNumbers[] = {
    "0",          "1",          "-1",         "7f",
    "ff",         "255",        "65535",      "65536",
    "65537",      "ffff",       "10000",      "67108864",
    "2147483647", "4294967295", "4294967296", "18446744073709551615",
    "1e9",        "00000001"};
constexpr const char* kPieces[] = {"\r\n",
                                   "\r\n\r\n",
                                   "\n",
                                   "\r",
                                   "\t",
                                   " ",
                                   ":",
                                   ";",
                                   ",",
                                   "\"",
                                   "0\r\n\r\n",
                                   "chunked",
                                   "Content-Length: ",
                                   "Transfer-Encoding: ",
                                   "HTTP/1.1"};

}  // namespace

std::string HttpMessages::Good() {
  std::string text;
  const size_t messages = OneIn(4) ? 2 + Below(3) : 1;
  for (size_t i = 0; i < messages; ++i) text += side_ == Side::kRequests ? Request() : Answer();
  return text;
}

std::string HttpMessages::Request() {
  const bool post = OneIn(3);
  const std::string method = post ? "POST" : OneIn(8) ? "HEAD" : OneIn(16) ? "OPTIONS" : "GET";
  const std::string version = OneIn(12) ? " HTTP/1.0\r\n" : " HTTP/1.1\r\n";
  std::string head = method + " " + (post ? OneOf(kPosts) : OneOf(kTargets)) + version;
  head += "Host: localhost\r\n" + Headers();
  if (!post) return head + "\r\n";
  return head + "Content-Type: application/json\r\n" + Framed(Json());
}

std::string HttpMessages::Answer() {
  std::string text;
  if (OneIn(12)) text += "HTTP/1.1 103 Early Hints\r\n" + Headers() + "\r\n";
  text += (OneIn(12) ? "HTTP/1.0 " : "HTTP/1.1 ") + OneOf(kStatus) + "\r\n" + Headers();
  text += OneIn(6) ? "Content-Type: application/problem+json\r\n"
                   : "Content-Type: application/json\r\n";
  if (OneIn(6)) return text + "\r\n" + Json();  // up to the end of the connection
  return text + Framed(Json());
}

std::string HttpMessages::Json() {
  switch (Below(8)) {
    case 0: return "";
    case 1: return R"({"level":2,"first_step":100,"last_step":131})";
    case 2: return R"({"minutes":60,"note":"a"})";
    case 3: return R"({"title":"No","detail":"it is not there","status":404})";
    case 4: return R"({"from":"2023-11-14T22:13:20Z","options":{"align.memory_mib":1}})";
    case 5: return "{" + std::string(Below(3'000), ' ') + "}";
    default:
      return R"({"jobs":[{"job":"night","state":"running","world_size":4,"ranks_seen":4,)"
             R"("newest_window":"steps-1","watermark":"2023-11-14T22:13:20Z","step_ns":5,)"
             R"("open_findings":{"major":1}}],"findings":[{"id":"1","severity":"major","title":)"
             R"("a"}],"steps":{"step":[1,2],"median_ns":[1,2],"busiest_rank":[0,1]},"ranks":)"
             R"([{"rank":0,"excess_ns":3}],"waits":[{"waiting":1,"wait_ns":2}]})";
  }
}

std::string HttpMessages::Headers() {
  std::string headers;
  for (size_t count = Below(4); count > 0; --count) headers += OneOf(kHeaders) + "\r\n";
  return headers;
}

std::string HttpMessages::Framed(const std::string& body) {
  if (OneIn(2)) return "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  return "Transfer-Encoding: chunked\r\n\r\n" + Chunks(body);
}

std::string HttpMessages::Chunks(const std::string& body) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (size_t at = 0; at < body.size();) {
    const size_t size = std::min(body.size() - at, 1 + Below(64));
    if (size >= 16) text += kDigits[size / 16];
    text += kDigits[size % 16] + OneOf(kExtensions) + "\r\n" + body.substr(at, size) + "\r\n";
    at += size;
  }
  text += "0" + OneOf(kExtensions) + "\r\n";
  for (size_t count = OneIn(2) ? Below(3) : 0; count > 0; --count)
    text += OneOf(kTrailers) + "\r\n";
  return text + "\r\n";
}

std::string HttpMessages::Number() {
  return OneIn(4) ? std::to_string(random_()) : OneOf(kNumbers);
}

std::string HttpMessages::Changed(std::string text) {
  constexpr size_t kBytesMax = size_t{1} << 20;
  for (size_t changes = 1 + Below(4); changes > 0; --changes) Change(&text);
  if (text.size() > kBytesMax) text.resize(kBytesMax);
  return text;
}

void HttpMessages::Change(std::string* text) {
  if (text->empty()) *text = Good();
  const size_t at = Below(text->size());
  const size_t line = text->rfind('\n', at) + 1;  // 0 in the first
  const size_t line_bytes = std::min(text->find('\n', line), text->size() - 1) + 1 - line;
  const size_t length = std::min(text->size() - at, 1 + Below(16));
  if (OneIn(400)) {  // a part of any size, whichever it is
    const std::string part = line_bytes == 0 ? "x" : text->substr(line, line_bytes);
    std::string parts;
    for (size_t bytes = Below(600'000); parts.size() < bytes;) parts += part;
    text->insert(line, parts);
    return;
  }
  switch (Below(11)) {
    case 0: (*text)[at] = static_cast<char>((*text)[at] ^ (1 << Below(8))); break;
    case 1: (*text)[at] = static_cast<char>(random_()); break;
    case 2: text->erase(at, length); break;
    case 3: text->insert(Below(text->size()), text->substr(at, length)); break;
    case 4: text->resize(at); break;
    case 5: text->insert(line, text->substr(line, line_bytes)); break;
    case 6: text->erase(line, line_bytes); break;
    case 7: text->insert(at, OneOf(kPieces)); break;
    case 8: {
      const auto digit = std::find_if(text->begin() + static_cast<std::ptrdiff_t>(at), text->end(),
                                      [](unsigned char c) { return std::isdigit(c) != 0; });
      if (digit != text->end()) text->replace(digit, digit + 1, Number());
      break;
    }
    case 9: {
      const std::string other = Good();
      text->insert(at, other.substr(Below(other.size()), 1 + Below(200)));
      break;
    }
    default: text->insert(line, OneOf(kHeaders) + (OneIn(4) ? "\n" : "\r\n")); break;
  }
}

}  // namespace eroica
