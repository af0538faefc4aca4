#include "ops/launch/end_watch.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <climits>
#include <memory>
#include <string>
#include <utility>

#include "ops/launch/wall_clock.h"
#include "schemas/codec.h"
#include "schemas/time_unit.h"
#include "stream_ops/topics.h"

namespace eroica {
namespace {

using std::chrono::milliseconds;

// How soon a new process is seen; the end of one that is known wakes the thread.
constexpr milliseconds kLook{500};
constexpr std::chrono::seconds kFlushTimeout{3};

std::string HostName() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

}  // namespace

RankStanding StandingOf(const EndedRank& ended, const JobId& job) {
  RankStanding standing;
  if (ended.place && ended.place->job == job) standing = *ended.place;
  standing.job = job;
  standing.rank = RankId{ended.process.rank};
  standing.world_size = std::max(standing.world_size, ended.process.rank + 1);
  if (standing.host.empty()) standing.host = HostName();
  standing.pid = static_cast<uint32_t>(ended.process.pid);
  const bool has_progress = standing.last_progress_ns > 0;
  standing.time_ns = std::max(standing.time_ns, ended.time_ns);
  if (!has_progress) standing.last_progress_ns = standing.time_ns;
  standing.end = ended.end;
  return standing;
}

EndWatch::EndWatch(Log& log, EndWatchOptions options)
    : log_(log),
      options_(std::move(options)),
      processes_(options_.exchange_folder),
      thread_([this](const std::stop_token& stop) { Watch(stop); },
              [this](const Thrown& thrown) { status_ = absl::InternalError(thrown.text()); }) {}

EndWatch::~EndWatch() { Stop(); }

void EndWatch::Stop() {
  thread_.request_stop();
  processes_.StopWaiting();
  if (thread_.joinable()) thread_.join();
}

void EndWatch::Watch(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    Look(kLook);
    while (const std::optional<EndedRank> first = first_.Take(WallClockNs())) Send(*first);
  }
}

// Ends first: a launcher starts a rank again when the process before has ended.
void EndWatch::Look(milliseconds timeout) {
  for (const EndedRank& ended : processes_.WaitForEnds(timeout)) first_.End(ended);
  for (const RankProcess& process : processes_.TakeNew()) {
    first_.Begin(process);
    processes_seen_.fetch_add(1, std::memory_order_relaxed);
  }
}

uint64_t EndWatch::Finish(const JobEnd& end) {
  Stop();
  Look(milliseconds(0));
  while (const std::optional<EndedRank> first = first_.TakeAtEnd(end)) Send(*first);
  return sent_;
}

void EndWatch::Send(const EndedRank& ended) {
  const RankStanding standing = StandingOf(ended, options_.job);
  Encoder encoder;
  Bytes payload;
  if (encoder.TryEncode(standing, &payload) != DropReason::kNone) return;
  ProducerRecord record{
      .topic = TopicName(options_.topic_prefix, Topic::kEvents),
      .key = EventsKey(standing.job, standing.rank),
      .value = std::string(reinterpret_cast<const char*>(payload.data()), payload.size()),
      .headers = {{std::string(kHeaderSchema), std::string(SchemaId(PayloadType::kRankStanding))},
                  {std::string(kHeaderJob), standing.job.value},
                  {std::string(kHeaderRank), std::to_string(standing.rank.value)}},
      .timestamp_ms = standing.time_ns / kNsPerMs,
      .partition = options_.partition};
  absl::StatusOr<std::unique_ptr<LogProducer>> producer = log_.NewProducer();
  absl::Status status = producer.status();
  if (status.ok()) status = (*producer)->Append(record);
  if (status.ok()) status = (*producer)->Flush(kFlushTimeout);
  if (status.ok()) {
    ++sent_;
  } else {
    status_ = std::move(status);
  }
}

}  // namespace eroica
