#include "ops/rest/node_directory.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "schemas/printable_text.h"

namespace eroica {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPoll{250};
constexpr milliseconds kRetryAfter{1'000};
constexpr milliseconds kFlush{2'000};
constexpr size_t kRecordsMax = 256;
constexpr size_t kTextBytesMax = 512;

}  // namespace

std::optional<NodeUrl> ParseNodeUrl(std::string_view url) {
  constexpr std::string_view kHttp = "http://";
  constexpr std::string_view kHttps = "https://";
  NodeUrl parsed{.tls = url.starts_with(kHttps), .host = {}, .port = {}};
  if (!parsed.tls && !url.starts_with(kHttp)) return std::nullopt;
  url.remove_prefix(parsed.tls ? kHttps.size() : kHttp.size());
  const size_t colon = url.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  parsed.host = url.substr(0, colon);
  parsed.port = url.substr(colon + 1);
  if (parsed.host.starts_with('[') && parsed.host.ends_with(']'))
    parsed.host = parsed.host.substr(1, parsed.host.size() - 2);
  if (parsed.host.empty() || parsed.port.empty() ||
      parsed.host.find_first_of("/@ ") != std::string::npos)
    return std::nullopt;
  return parsed;
}

std::string NodesTopicName(std::string_view prefix) { return fmt::format("{}.nodes", prefix); }

std::string EncodeNode(const KnownNode& node) {
  const nlohmann::ordered_json json{
      {"node", node.name}, {"url", node.url}, {"announced_ms", node.announced_ms}};
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::optional<KnownNode> DecodeNode(std::string_view text) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
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
    : log_(log), topic_(NodesTopicName(topic_prefix)), wall_clock_ms_(std::move(wall_clock_ms)) {}

NodeDirectory::~NodeDirectory() = default;

void NodeDirectory::Start(std::string name, std::string url) {
  name_ = std::move(name);
  url_ = std::move(url);
  thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
}

void NodeDirectory::Run(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any wake;
  bool said = false;
  while (!stop.stop_requested()) {
    const absl::Status status = Follow(stop);
    if (status.ok()) return;
    if (!std::exchange(said, true))
      spdlog::warn("rest: the other nodes are not known topic={} error=\"{}\"", topic_,
                   status.ToString());
    std::unique_lock lock(mutex);
    wake.wait_for(lock, stop, kRetryAfter, [] { return false; });
  }
}

absl::Status NodeDirectory::Follow(const std::stop_token& stop) {
  const absl::StatusOr<std::unique_ptr<LogConsumer>> consumer = log_.NewConsumer({});
  if (!consumer.ok()) return consumer.status();
  const absl::StatusOr<std::unique_ptr<LogProducer>> producer = log_.NewProducer();
  if (!producer.ok()) return producer.status();
  if (absl::Status status = (*consumer)->Subscribe({topic_}, nullptr); !status.ok()) return status;
  std::vector<ConsumerRecord> records;
  int64_t announce_at_ms = 0;
  while (!stop.stop_requested()) {
    if (wall_clock_ms_() >= announce_at_ms) {
      if (absl::Status status = Announce(**producer, false); !status.ok()) return status;
      announce_at_ms = wall_clock_ms_() + kAnnounceEveryMs;
    }
    records.clear();
    if (absl::Status status = (*consumer)->Poll(kPoll, kRecordsMax, &records); !status.ok())
      return status;
    for (const ConsumerRecord& record : records) Take(record);
  }
  return Announce(**producer, true);
}

absl::Status NodeDirectory::Announce(LogProducer& producer, bool going) {
  const int64_t now_ms = wall_clock_ms_();
  ProducerRecord record{
      .topic = topic_,
      .key = PercentEncoded(name_),
      .value =
          going ? std::string() : EncodeNode({.name = name_, .url = url_, .announced_ms = now_ms}),
      .headers = {},
      .timestamp_ms = now_ms,
      .partition = std::nullopt};
  if (absl::Status status = producer.Append(std::move(record)); !status.ok()) return status;
  return producer.Flush(kFlush);
}

void NodeDirectory::Take(const ConsumerRecord& record) {
  const std::lock_guard lock(mutex_);
  if (record.value.empty()) {
    std::erase_if(nodes_,
                  [&](const auto& node) { return PercentEncoded(node.first) == record.key; });
    return;
  }
  std::optional<KnownNode> node = DecodeNode(record.value);
  if (!node || (nodes_.size() >= kNodesMax && !nodes_.contains(node->name))) return;
  nodes_[node->name] = *std::move(node);
}

std::vector<KnownNode> NodeDirectory::Others() const {
  const std::lock_guard lock(mutex_);
  std::vector<KnownNode> others;
  for (const auto& [name, node] : nodes_) {
    if (name != name_ && wall_clock_ms_() - node.announced_ms < kForgottenAfterMs)
      others.push_back(node);
  }
  return others;
}

}  // namespace eroica
