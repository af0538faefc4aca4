#include "stream_ops/summarize/summarize_processor.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "schemas/check.h"
#include "schemas/outside_time.h"
#include "state_store/key_schema.h"

namespace eroica {
namespace {

// Takes what the row says, if it can be read.
template <typename T, typename Load>
absl::Status LoadRow(absl::StatusOr<T> row, Load load) {
  if (!row.ok()) return row.status();
  load(*std::move(row));
  return absl::OkStatus();
}

}  // namespace

SummarizeProcessor::SummarizeProcessor(const SummarizeOptions& options)
    : shared_{.options = options, .probe = {}, .pool = {}},
      memory_(options.memory),
      emitter_(&shared_),
      standing_emitter_(&shared_),
      ages_(options.jobs) {
  EROICA_CHECK(options.window_ns > 0 &&
               options.window_ns <= kLongestWindowNs / RankWindows::kMostWindowsSpanned);
  EROICA_CHECK(options.out_of_orderness_ns >= 0);
}

absl::Status SummarizeProcessor::Init(ProcessorContext& context) {
  context_ = &context;
  const auto load_rank = [&](RankProgress progress) {
    Job& job = jobs_[progress.identity.job];
    const RankId rank = progress.identity.rank;
    offset_ = std::max(offset_, progress.closed_at_offset);
    job.world_size = std::max(job.world_size, progress.identity.world_size);
    job.plausible.LearnStep(progress.advance.last_step, progress.max_event_ns);
    ages_.Restore(progress.identity.job, progress.closed_at_offset);
    job.ranks.try_emplace(rank, std::move(progress), &shared_);
  };
  const auto load_communicator = [&](const std::pair<JobId, Communicator>& entry) {
    jobs_[entry.first].communicators.Intern(std::span(&entry.second, 1), &communicator_numbers_);
  };
  const auto load_reported = [&](const ReportedUntil& reported) {
    Job& job = jobs_[reported.job];
    job.reported[reported.rank] = reported.time_ns;
    if (const auto rank = job.ranks.find(reported.rank); rank != job.ranks.end())
      rank->second.RestoreReported(reported.time_ns);
  };
  absl::Status status;
  // The rows of a job come in the order of their families: its ranks before what they reported.
  const absl::Status scanned =
      context.store().Scan(Table::kProgress, "", [&](std::string_view key, std::string_view value) {
        const std::optional<ProgressKey> row = DecodeProgressKey(key);
        if (row && row->family == ProgressFamily::kRank) {
          status = LoadRow(DecodeRankProgress(value), load_rank);
        } else if (row && row->family == ProgressFamily::kCommunicator) {
          status = LoadRow(DecodeCommunicator(value), load_communicator);
        } else if (row && row->family == ProgressFamily::kReported) {
          status = LoadRow(DecodeReportedUntil(value), load_reported);
        } else if (!row || row->family != ProgressFamily::kAge ||
                   !ages_.RestoreRow(row->job, value)) {
          status = absl::DataLossError("summarize: the state store has a row that is not its own");
        }
        return status.ok();
      });
  for (auto& [id, job] : jobs_) {
    ages_.Restore(id);
    if (HasEnded(job)) ages_.End(id);
  }
  return scanned.ok() ? status : scanned;
}

absl::Status SummarizeProcessor::Process(const ConsumerRecord& record) {
  absl::Status status = ProcessRecord(record);
  CountUnused();
  return status;
}

void SummarizeProcessor::CountUnused() {
  const SummarizeProbe& now = shared_.probe;
  const auto count = [&](DropReason reason, uint64_t SummarizeProbe::*events) {
    if (const uint64_t more = now.*events - counted_.*events; more > 0)
      context_->CountUnused(reason, more);
  };
  count(DropReason::kLate, &SummarizeProbe::events_late);
  count(DropReason::kOutsideWindow, &SummarizeProbe::events_outside);
  count(DropReason::kDuplicate, &SummarizeProbe::events_duplicate);
  counted_ = now;
}

absl::Status SummarizeProcessor::ProcessRecord(const ConsumerRecord& record) {
  const PayloadType type = TypeOf(record.payload());
  if (type != PayloadType::kEventBatch && type != PayloadType::kUnknown) {
    offset_ = record.offset;
    ForwardSummarized(record, type);
    return absl::OkStatus();
  }
  DropReason reason = decoder_.Decode(record.payload(), &batch_);
  if (reason == DropReason::kNone) reason = Refuse(batch_, record);
  if (reason != DropReason::kNone) {
    offset_ = record.offset;
    ++shared_.probe.batches_bad;
    context_->DeadLetter(reason);
    return absl::OkStatus();
  }
  ProcessBatch(batch_, record.offset);
  return ForgetJobs();
}

DropReason SummarizeProcessor::Refuse(const EventBatch& batch, const ConsumerRecord& record) {
  const auto& wall_clock_ns = shared_.options.wall_clock_ns;
  int64_t now_ns = std::numeric_limits<int64_t>::max();
  if (wall_clock_ns)
    now_ns = record.stamped_at_arrival ? BoundedNsOfMs(record.timestamp_ms) : wall_clock_ns();
  const auto job = jobs_.find(batch.identity.job);
  if (job == jobs_.end()) return Plausibility().Check(batch, now_ns, std::nullopt);
  const auto rank = job->second.ranks.find(batch.identity.rank);
  return job->second.plausible.Check(batch, now_ns,
                                     rank == job->second.ranks.end()
                                         ? std::nullopt
                                         : std::optional(rank->second.progress().max_event_ns));
}

// What a producer has summarized itself (capture level 1) goes where the stage's own output goes,
// after the same checks.
void SummarizeProcessor::ForwardSummarized(const ConsumerRecord& record, PayloadType type) {
  const auto forward = [&](auto payload, Topic topic, auto key_of) {
    if (const DropReason reason = decoder_.Decode(record.payload(), &payload);
        reason != DropReason::kNone) {
      ++shared_.probe.batches_bad;
      context_->DeadLetter(reason);
      return;
    }
    ++shared_.probe.batches_forwarded;
    if (context_->IsRepeated()) return;  // was forwarded before
    context_->Forward(topic, key_of(payload), type, record.payload(), record.timestamp_ms,
                      payload.job);
  };
  const auto job_key = [](const auto& payload) { return JobKey(payload.job); };
  if (type == PayloadType::kPatternBatch) {
    forward(PatternBatch{}, Topic::kPatterns, job_key);
  } else if (type == PayloadType::kRankStanding) {
    forward(RankStanding{}, Topic::kPatterns, job_key);
  } else if (type == PayloadType::kCollectiveBatch) {
    forward(CollectiveBatch{}, Topic::kCollectives, [](const CollectiveBatch& batch) {
      return CollectivesKey(batch.job, batch.communicator.id);
    });
  } else {
    ++shared_.probe.batches_bad;
    context_->DeadLetter(DropReason::kWrongIdentifier);
  }
}

void SummarizeProcessor::ProcessBatch(const EventBatch& batch, int64_t offset) {
  offset_ = offset;
  const ProducerIdentity& identity = batch.identity;
  Job& job = jobs_[identity.job];
  job.world_size = std::max(job.world_size, identity.world_size);
  job.plausible.Learn(batch);
  const uint64_t left_out_before = job.communicators.overflowed();
  job.functions.Intern(batch.functions, &function_numbers_);
  if (job.communicators.Intern(batch.communicators, &communicator_numbers_))
    StoreNewCommunicators(identity.job, job, communicator_numbers_);
  shared_.probe.communicators_left_out += job.communicators.overflowed() - left_out_before;

  RankWindows& rank = RankOf(job, identity.rank);
  rank.Add(batch, offset, {function_numbers_, job.functions.traits(), communicator_numbers_},
           job.communicators);
  ages_.Hear(identity.job, offset, !rank.progress().finished);
  CloseWindows(job, rank, RankWindows::Close::kPassed);
  FinishIfAllSeen(job, rank);
  KeepWithinMemory();
}

void SummarizeProcessor::KeepWithinMemory() {
  memory_.Set(held_bytes());
  if (!memory_.MustLetGo()) return;
  shared_.pool.DropSpare();
  memory_.Set(held_bytes());
  while (memory_.MustLetGo()) {
    std::pair<Job*, RankWindows*> largest{};
    uint64_t most = 0;
    for (auto& [id, job] : jobs_) {
      for (auto& [rank_id, rank] : job.ranks) {
        const uint64_t events = rank.events_held();
        if (events > most) largest = {&job, &rank};
        most = std::max(most, events);
      }
    }
    if (most == 0) return;
    CloseWindows(*largest.first, *largest.second, RankWindows::Close::kAll);
    ++shared_.probe.ranks_cut;
    context_->CountForced(1);
    if (largest.second->events_held() == most) return;  // none of it belongs to a window yet
  }
}

// False where windows of its are still open.
bool SummarizeProcessor::FinishIfAllSeen(Job& job, RankWindows& rank) {
  if (rank.progress().finished || !rank.AllBatchesSeen()) return true;
  if (!CloseWindows(job, rank, RankWindows::Close::kLast)) return false;
  rank.Finish(offset_);
  const ProducerIdentity& identity = rank.progress().identity;
  context_->changes().Put(Table::kProgress, RankProgressKey(identity.job, identity.rank),
                          Encode(rank.progress()));
  if (HasEnded(job)) ages_.End(identity.job);
  return true;
}

// Asks first the rank that had not said its last words when this was asked last: all ranks of a job
// end at about the same time.
bool SummarizeProcessor::HasEnded(Job& job) {
  if (job.ranks.size() < job.world_size) return false;
  const auto goes_on = [](const auto& rank) { return !rank.second.progress().finished; };
  const auto last = job.ranks.find(job.unfinished);
  if (last != job.ranks.end() && goes_on(*last)) return false;
  const auto unfinished = std::ranges::find_if(job.ranks, goes_on);
  if (unfinished != job.ranks.end()) job.unfinished = unfinished->first;
  return unfinished == job.ranks.end();
}

absl::Status SummarizeProcessor::ForgetJobs() {
  ages_.Keep(context_->changes());
  if (!ages_.may_be_over()) return absl::OkStatus();
  for (const JobId& id : ages_.TakeOver(RestartOffset(offset_ + 1))) {
    jobs_.erase(id);
    ++shared_.probe.jobs_forgotten;
    if (absl::Status status = ForgetJob(id, *context_); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status SummarizeProcessor::Punctuate(PunctuationType type) {
  absl::Status status = type == PunctuationType::kMinute ? AgeJobs() : CloseIdle(type);
  CountUnused();
  return status;
}

absl::Status SummarizeProcessor::AgeJobs() {
  ages_.Tick();
  return ForgetJobs();
}

absl::Status SummarizeProcessor::CloseIdle(PunctuationType type) {
  const bool end = type == PunctuationType::kEndOfInput;
  for (auto& [id, job] : jobs_) {
    bool all_closed = true;
    for (auto& [rank_id, rank] : job.ranks) {
      if (end) {
        CloseWindows(job, rank, RankWindows::Close::kLast, std::numeric_limits<uint64_t>::max());
      } else {
        all_closed &=
            FinishIfAllSeen(job, rank) && CloseWindows(job, rank, RankWindows::Close::kAll);
      }
    }
    if (!end && all_closed) ReportSilence(job);
  }
  shared_.pool.DropSpare();
  memory_.Set(held_bytes());
  ages_.Keep(context_->changes());
  return absl::OkStatus();
}

int64_t SummarizeProcessor::RestartOffset(int64_t next) const {
  int64_t first = next;
  for (const auto& [id, job] : jobs_) {
    for (const auto& [rank_id, rank] : job.ranks)
      first = std::min(first, rank.first_offset().value_or(next));
  }
  return first;
}

uint64_t SummarizeProcessor::events_held() const {
  uint64_t events = 0;
  for (const auto& [id, job] : jobs_) {
    for (const auto& [rank_id, rank] : job.ranks) events += rank.events_held();
  }
  return events;
}

RankWindows& SummarizeProcessor::RankOf(Job& job, RankId rank) {
  const auto [entry, is_new] = job.ranks.try_emplace(rank, RankProgress{}, &shared_);
  if (const auto reported = job.reported.find(rank); is_new && reported != job.reported.end())
    entry->second.RestoreReported(reported->second);
  return entry->second;
}

void SummarizeProcessor::StoreNewCommunicators(const JobId& id, const Job& job,
                                               const std::vector<uint32_t>& numbers) {
  for (uint32_t number : numbers) {
    if (job.communicators.IsOther(number)) continue;
    const Communicator& communicator = job.communicators[number];
    context_->changes().Put(Table::kProgress, CommunicatorProgressKey(id, communicator.id),
                            Encode(id, communicator));
  }
}

// Reports first: windows that close would tell of what came after them.
void SummarizeProcessor::SendStandings(Job& job, RankWindows& rank, RankWindows::Close close,
                                       uint64_t bytes_max) {
  bool sent_any = false;
  while (shared_.sent_bytes < bytes_max && rank.TakeReport(close, job.communicators, &held_)) {
    standing_emitter_.Emit(job.functions, job.communicators, job.world_size, held_, rank,
                           *context_);
    sent_any = true;
  }
  if (!sent_any) return;
  const ProducerIdentity& identity = rank.progress().identity;
  const ReportedUntil reported{identity.job, identity.rank, held_.report.time_ns};
  context_->changes().Put(Table::kProgress, ReportedKey(identity.job, identity.rank),
                          Encode(reported));
}

bool SummarizeProcessor::CloseWindows(Job& job, RankWindows& rank, RankWindows::Close close,
                                      uint64_t bytes_max) {
  shared_.sent_bytes = 0;
  SendStandings(job, rank, close, bytes_max);
  bool closed_any = false;
  while (shared_.sent_bytes < bytes_max && rank.TakeNext(close, offset_, &closed_)) {
    emitter_.Emit(job.functions, job.communicators, job.world_size, closed_, rank, *context_);
    closed_any = true;
  }
  // What was given back is kept for the next windows as long as there is room.
  constexpr double kSpareBelow = 0.25;
  memory_.Set(held_bytes());
  if (memory_.TakesMoreThan(kSpareBelow)) {
    shared_.pool.DropSpare();
    memory_.Set(held_bytes());
  }
  const bool all_closed = shared_.sent_bytes < bytes_max;
  if (!closed_any) return all_closed;
  const ProducerIdentity& identity = rank.progress().identity;
  context_->changes().Put(Table::kProgress, RankProgressKey(identity.job, identity.rank),
                          Encode(rank.progress()));
  return all_closed;
}

// A rank is silent in the windows that its peers have closed and it has not, with nothing of it at
// hand. Where the job was started again, one that has not come back yet is no peer.
void SummarizeProcessor::ReportSilence(Job& job) {
  uint64_t runs = 0;
  for (const auto& [id, rank] : job.ranks) runs = std::max(runs, rank.progress().runs);
  for (WindowKind kind : {WindowKind::kTime, WindowKind::kSteps}) {
    int64_t newest = -1;
    uint32_t world_size = 0;  // of the ranks that have come so far
    for (const auto& [id, rank] : job.ranks) {
      if (rank.progress().kind != kind || rank.progress().last_index < newest) continue;
      if (rank.progress().runs < runs) continue;
      if (rank.progress().last_index > newest) world_size = 0;
      newest = rank.progress().last_index;
      world_size = std::max(world_size, WorldSizeOf(rank.progress().identity, job.world_size));
    }
    for (auto& [id, rank] : job.ranks) {
      const RankProgress& progress = rank.progress();
      if (progress.kind != kind || progress.finished || progress.last_index >= newest) continue;
      if (progress.runs < runs) continue;
      const int64_t first = std::max(progress.last_index + 1, newest - kMostSilentWindows + 1);
      const bool has_left = id.value >= world_size;  // the job goes on with fewer ranks
      for (int64_t index = first; index <= newest && !has_left; ++index)
        emitter_.EmitSilent(progress, world_size, index, *context_);
      rank.Skip(newest);
      context_->changes().Put(Table::kProgress, RankProgressKey(progress.identity.job, id),
                              Encode(progress));
    }
  }
}

}  // namespace eroica
