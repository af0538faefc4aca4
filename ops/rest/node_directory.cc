#include "ops/rest/node_directory.h"

#include <absl/strings/ascii.h>
#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "ops/rest/json_fields.h"
#include "schemas/printable_text.h"

namespace eroica {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFlush{2'000};
constexpr size_t kTextBytesMax = 512;

bool IsPort(std::string_view text) {
  uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() && port > 0;
}

bool IsIpv6(std::string_view text) {
  in6_addr address{};
  const std::string host(text.substr(0, text.find('%')));  // behind a % is the interface
  return ::inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

// Labels as the domain name system has them, and "_", which some networks allow. Numbers alone are
// an address.
bool IsHostName(std::string_view text) {
  constexpr size_t kNameMax = 253;
  constexpr size_t kLabelMax = 63;
  if (text.ends_with('.')) text.remove_suffix(1);
  if (text.empty() || text.size() > kNameMax) return false;
  std::string_view label;
  for (std::string_view rest = text; !rest.empty();) {
    label = rest.substr(0, rest.find('.'));
    if (label.empty() || label.size() > kLabelMax || label.front() == '-' || label.back() == '-')
      return false;
    if (!std::ranges::all_of(label, [](char c) {
          return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_';
        }))
      return false;
    rest.remove_prefix(label.size());
    if (rest == ".") return false;
    if (!rest.empty()) rest.remove_prefix(1);
  }
  if (!std::ranges::all_of(label, absl::ascii_isdigit)) return true;
  in_addr address{};
  return ::inet_pton(AF_INET, std::string(text).c_str(), &address) == 1;
}

}  // namespace

std::optional<NodeUrl> ParseNodeUrl(std::string_view url) {
  constexpr std::string_view kPlainScheme = "http://";
  constexpr std::string_view kTlsScheme = "https://";
  NodeUrl parsed{.tls = url.starts_with(kTlsScheme), .host = {}, .port = {}};
  if (!parsed.tls && !url.starts_with(kPlainScheme)) return std::nullopt;
  url.remove_prefix(parsed.tls ? kTlsScheme.size() : kPlainScheme.size());
  const size_t colon = url.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  parsed.host = url.substr(0, colon);
  parsed.port = url.substr(colon + 1);
  const bool bracketed = parsed.host.starts_with('[') && parsed.host.ends_with(']');
  if (bracketed) parsed.host = parsed.host.substr(1, parsed.host.size() - 2);
  const bool is_host = bracketed ? IsIpv6(parsed.host) : IsHostName(parsed.host);
  if (!is_host || !IsPort(parsed.port)) return std::nullopt;
  return parsed;
}

std::string NodesTopicName(std::string_view prefix) { return fmt::format("{}.nodes", prefix); }

std::string EncodeNode(const KnownNode& node) {
  const nlohmann::ordered_json json{
      {"node", node.name}, {"url", node.url}, {"announced_ms", node.announced_ms}};
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::optional<KnownNode> DecodeNode(std::string_view text) {
  const nlohmann::json json = ParseForeignJson(text);
  const auto field = [&](const char* name) {
    return json.is_object() && json.contains(name) ? json[name] : nlohmann::json();
  };
  const nlohmann::json name = field("node");
  const nlohmann::json url = field("url");
  const nlohmann::json announced = field("announced_ms");
  if (!name.is_string() || !url.is_string() || !announced.is_number_integer()) return std::nullopt;
  KnownNode node{.name = name, .url = url, .announced_ms = announced};
  if (node.name.empty() || node.name.size() > kTextBytesMax || node.url.size() > kTextBytesMax)
    return std::nullopt;
  return node;
}

NodeDirectory::NodeDirectory(Log& log, std::string_view topic_prefix,
                             std::function<int64_t()> wall_clock_ms)
    : log_(log),
      topic_(NodesTopicName(topic_prefix)),
      wall_clock_ms_(std::move(wall_clock_ms)),
      follower_(log, topic_, "nodes") {}

void NodeDirectory::Start(std::string name, std::string url) {
  name_ = std::move(name);
  url_ = std::move(url);
  follower_.Start({.take = [this](const ConsumerRecord& record) { Take(record); },
                   .look = [this] { return Announce(); },
                   .end = [this] { Send("").IgnoreError(); }});
}

absl::Status NodeDirectory::Announce() {
  const int64_t now_ms = wall_clock_ms_();
  if (now_ms < announce_at_ms_) return absl::OkStatus();
  announce_at_ms_ = now_ms + kAnnounceEveryMs;
  return Send(EncodeNode({.name = name_, .url = url_, .announced_ms = now_ms}));
}

absl::Status NodeDirectory::Send(std::string value) {
  if (producer_ == nullptr) {
    absl::StatusOr<std::unique_ptr<LogProducer>> producer = log_.NewProducer();
    if (!producer.ok()) return producer.status();
    producer_ = *std::move(producer);
  }
  ProducerRecord record{.topic = topic_,
                        .key = PercentEncoded(name_),
                        .value = std::move(value),
                        .headers = {},
                        .timestamp_ms = wall_clock_ms_(),
                        .partition = std::nullopt};
  if (absl::Status status = producer_->Append(std::move(record)); !status.ok()) return status;
  return producer_->Flush(kFlush);
}

void NodeDirectory::Take(const ConsumerRecord& record) {
  const MutexLock lock(mutex_);
  if (record.value.empty()) {
    std::erase_if(nodes_,
                  [&](const auto& node) { return PercentEncoded(node.first) == record.key; });
    return;
  }
  std::optional<KnownNode> node = DecodeNode(record.value);
  if (!node || (nodes_.size() >= kNodesMax && !nodes_.contains(node->name))) return;
  KnownNode& known = nodes_[node->name];
  known = *std::move(node);
}

std::vector<KnownNode> NodeDirectory::Others() const {
  const MutexLock lock(mutex_);
  std::vector<KnownNode> others;
  for (const auto& [name, node] : nodes_) {
    if (name != name_ && wall_clock_ms_() - node.announced_ms < kForgottenAfterMs)
      others.push_back(node);
  }
  return others;
}

}  // namespace eroica
