#include "ops/rest/response_head.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace eroica {
namespace {

std::string_view ReasonOf(int status) {
  switch (status) {
    case 200: return "OK";
    case 202: return "Accepted";
    case 304: return "Not Modified";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 409: return "Conflict";
    case 413: return "Content Too Large";
    case 414: return "URI Too Long";
    case 415: return "Unsupported Media Type";
    case 421: return "Misdirected Request";
    case 422: return "Unprocessable Content";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 502: return "Bad Gateway";
    case 503: return "Service Unavailable";
    default: return "Internal Server Error";
  }
}

// Whatever a page holds, it runs nothing and is framed by nobody; the dashboard's own page says
// what it may load.
constexpr std::string_view kSafety =
    "X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n";
constexpr std::string_view kNothingRuns =
    "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'\r\n";

bool SaysPolicy(const HttpResponse& response) {
  for (const auto& [name, value] : response.headers) {
    if (name == "Content-Security-Policy") return true;
  }
  return false;
}

}  // namespace

std::string HttpDate(std::time_t now) {
  return fmt::format("{:%a, %d %b %Y %H:%M:%S} GMT", fmt::gmtime(now));
}

std::string ResponseHead(const CachedResponse& cached, const HeadOptions& options) {
  const HttpResponse& response = cached.response;
  const int status = options.not_modified ? 304 : response.status;
  std::string head =
      fmt::format("HTTP/1.1 {} {}\r\nDate: {}\r\n", status, ReasonOf(status), options.date);
  const auto out = std::back_inserter(head);
  if (!options.not_modified) {
    const auto& body = options.gzip ? cached.gzip : response.body;
    if (body != nullptr) fmt::format_to(out, "Content-Type: {}\r\n", response.content_type);
    fmt::format_to(out, "Content-Length: {}\r\n", body == nullptr ? 0 : body->size());
    if (options.gzip) head += "Content-Encoding: gzip\r\n";
  }
  if (cached.gzip != nullptr) head += "Vary: Accept-Encoding\r\n";
  if (!cached.etag.empty()) {
    // The two forms of a body are two entities.
    const std::string_view tag = std::string_view(cached.etag).substr(0, cached.etag.size() - 1);
    fmt::format_to(out, "ETag: {}{}\"\r\n", tag, options.gzip ? "-gzip" : "");
    head += "Cache-Control: private, no-cache\r\n";
  } else {
    head += "Cache-Control: no-store\r\n";
  }
  for (const auto& [name, value] : response.headers) fmt::format_to(out, "{}: {}\r\n", name, value);
  head += kSafety;
  if (!SaysPolicy(response)) head += kNothingRuns;
  head += options.keep_alive ? "\r\n" : "Connection: close\r\n\r\n";
  return head;
}

std::string EventStreamHead(std::string_view date) {
  return fmt::format(
      "HTTP/1.1 200 OK\r\nDate: {}\r\nContent-Type: text/event-stream\r\nCache-Control: "
      "no-store\r\n"
      "{}Connection: close\r\n\r\n",
      date, kSafety);
}

}  // namespace eroica
