#include "stream_ops/align/align_processor.h"

#include <absl/status/status.h>

#include <algorithm>
#include <utility>

#include "schemas/check.h"
#include "schemas/time_unit.h"

namespace eroica {
namespace {

uint64_t RowsOf(const std::vector<CollectiveBatch>& batches) {
  uint64_t rows = 0;
  for (const CollectiveBatch& batch : batches) rows += batch.records.size();
  return rows;
}

std::string Copy(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

uint64_t AlignProcessor::Unit::rows() const { return windows.open_rows() + RowsOf(carried); }

absl::Status AlignProcessor::Init(ProcessorContext& context) {
  context_ = &context;
  bool readable = true;
  const absl::Status scanned = context_->store().Scan(
      Table::kProgress, "", [&](std::string_view key, std::string_view value) {
        const auto row = DecodeAlignKey(key);
        readable = row ? RestoreRow(*row, value) : RestoreAge(key, value);
        return readable;
      });
  if (readable) return scanned;
  return absl::DataLossError(
      "align: the task's progress in the state store cannot be read: move the store's folder away "
      "and restart, windows are rebuilt from the input");
}

// Rows come in the order of their families: how far windows are closed, what is carried in the
// order of ranks, who the members are, which runs they began.
bool AlignProcessor::RestoreRow(const AlignRow& row, std::string_view value) {
  Unit& unit = units_[row.key];
  ages_.Restore(row.key.job);
  SetEnded(row.key.job, unit, false);
  if (row.family == ProgressFamily::kAligned) {
    const auto progress = DecodeProgress(value);
    if (progress) unit.windows.Restore(progress->closed_through, progress->finished);
    return progress.has_value();
  }
  if (row.family == ProgressFamily::kMembers) {
    auto members = DecodeMembers(value);
    if (!members) return false;
    unit.windows.RestoreMembers(*std::move(members));
    return true;
  }
  if (row.family == ProgressFamily::kCommunicatorRuns) return unit.windows.RestoreRuns(value);
  CollectiveBatch& batch = unit.carried.emplace_back();
  if (decoder_.Decode(std::as_bytes(std::span(value)), &batch) != DropReason::kNone) return false;
  pending_rows_ += batch.records.size();
  probe_.rows_restored += batch.records.size();
  return true;
}

// Comes behind the rows of the job's communicators.
bool AlignProcessor::RestoreAge(std::string_view key, std::string_view value) {
  const auto row = DecodeProgressKey(key);
  if (!row || row->family != ProgressFamily::kAge || !ages_.RestoreRow(row->job, value))
    return false;
  if (!ages_.has_ended(row->job)) return true;
  const auto [first, end] = UnitsOf(row->job);
  for (auto unit = first; unit != end; ++unit) unit->second.ended = true;
  going_on_.erase(row->job);
  return true;
}

absl::Status AlignProcessor::Process(const ConsumerRecord& record) {
  EROICA_CHECK(context_ != nullptr);
  ++probe_.batches_received;
  CollectiveBatch batch;
  if (const DropReason reason = decoder_.Decode(record.payload(), &batch);
      reason != DropReason::kNone) {
    ++probe_.batches_malformed;
    context_->DeadLetter(reason);
    return absl::OkStatus();
  }
  const uint64_t rows = batch.records.size();
  probe_.rows_received += rows;
  const AlignKey key{batch.job, batch.communicator.id, batch.window.kind};
  Unit& unit = units_[key];
  const DropReason reason = unit.windows.Add(std::move(batch), record.offset);
  KeepMembers(key, unit);
  if (reason != DropReason::kNone) {
    ++(reason == DropReason::kLate ? probe_.batches_late : probe_.batches_duplicate);
    probe_.rows_dropped += rows;
    context_->CountUnused(reason, rows);
  } else {
    pending_rows_ += rows;
    ++batches_open_;
    SetEnded(key.job, unit, false);
  }
  next_offset_ = record.offset + 1;
  ages_.Hear(key.job, record.offset, reason == DropReason::kNone);
  while (unit.windows.OldestIsComplete()) {
    ++probe_.windows_complete;
    CloseOldest(key, unit, /*input_has_ended=*/false);
  }
  CloseWhatIsTooMuch(key, unit);
  return ForgetJobs();
}

void AlignProcessor::SetEnded(const JobId& job, Unit& unit, bool ended) {
  if (unit.ended == ended) return;
  unit.ended = ended;
  size_t& going_on = going_on_[job];
  if (!ended) {
    ++going_on;
  } else if (--going_on == 0) {
    ages_.End(job);
  }
}

auto AlignProcessor::UnitsOf(const JobId& job) -> std::pair<Units::iterator, Units::iterator> {
  const auto first = units_.lower_bound({.job = job, .communicator = {}, .kind = {}});
  auto end = first;
  while (end != units_.end() && end->first.job == job) ++end;
  return {first, end};
}

absl::Status AlignProcessor::ForgetJobs() {
  ages_.Keep(context_->changes());
  if (!ages_.may_be_over()) return absl::OkStatus();
  for (const JobId& job : ages_.TakeOver(RestartOffset(next_offset_))) {
    const auto [first, end] = UnitsOf(job);
    for (auto unit = first; unit != end; ++unit) {
      if (!unit->second.carried.empty()) SettleCarried(unit->first, unit->second);
    }
    for (auto unit = first; unit != end; ++unit) units_crowded_ -= unit->second.crowded ? 1 : 0;
    memory_.SetCrowded(units_crowded_ > 0);
    units_.erase(first, end);
    going_on_.erase(job);
    ++probe_.jobs_forgotten;
    if (absl::Status status = ForgetJob(job, *context_); !status.ok()) return status;
  }
  return absl::OkStatus();
}

void AlignProcessor::CloseWhatIsTooMuch(const AlignKey& key, Unit& unit) {
  while (unit.windows.open_windows() > options_.open_windows_max) {
    ++probe_.windows_overrun;
    context_->CountForced(1);
    CloseOldest(key, unit, /*input_has_ended=*/false);
  }
  NoteCrowd(unit);
  KeepWithinMemory();
}

void AlignProcessor::NoteCrowd(Unit& unit) {
  const bool crowded = unit.windows.open_windows() > options_.open_windows_max / 2;
  if (crowded != unit.crowded) units_crowded_ = crowded ? units_crowded_ + 1 : units_crowded_ - 1;
  unit.crowded = crowded;
  memory_.SetCrowded(units_crowded_ > 0);
}

void AlignProcessor::KeepWithinMemory() {
  memory_.Set(held_bytes());
  while (memory_.MustLetGo() && pending_rows_ > 0) {
    const auto largest =
        std::ranges::max_element(units_, {}, [](const auto& entry) { return entry.second.rows(); });
    if (largest->second.windows.HasOpen()) {
      ++probe_.windows_overrun;
      context_->CountForced(1);
      CloseOldest(largest->first, largest->second, /*input_has_ended=*/false);
    } else {
      SettleCarried(largest->first, largest->second);
    }
  }
}

absl::Status AlignProcessor::Punctuate(PunctuationType type) {
  if (type == PunctuationType::kMinute) {
    ages_.Tick();
    return ForgetJobs();
  }
  const bool input_has_ended = type == PunctuationType::kEndOfInput;
  for (auto& [key, unit] : units_) {
    while (unit.windows.HasOpen()) {
      ++probe_.windows_idle;
      CloseOldest(key, unit, input_has_ended);
    }
    // Idleness is shorter than a window: rows at its edge still have their next window to come.
    if (input_has_ended && !unit.carried.empty()) SettleCarried(key, unit);
  }
  ages_.Keep(context_->changes());
  return absl::OkStatus();
}

void AlignProcessor::CloseOldest(const AlignKey& key, Unit& unit, bool input_has_ended) {
  ClosedWindow closed = unit.windows.CloseOldest();
  probe_.batches_closed += closed.batches.size();
  batches_open_ -= closed.batches.size();
  // operations are counted anew in each run
  if (closed.begins_run && !unit.carried.empty()) SettleCarried(key, unit);
  const bool settle = closed.last || (input_has_ended && !unit.windows.HasOpen());
  Alignment alignment = aligner_.Align({.window = closed.window,
                                        .batches = closed.batches,
                                        .carried = unit.carried,
                                        .missing = std::move(closed.missing),
                                        .settle = settle});
  KeepMembers(key, unit);
  Send(key, unit, std::move(alignment));
  NoteCrowd(unit);
  if (closed.last) SetEnded(key.job, unit, true);
}

// The last window was closed before it was known that none would follow. What it left is said in a
// summary of the window behind it, which stays open: if there is more to come after all, that
// window has a summary of its own.
void AlignProcessor::SettleCarried(const AlignKey& key, Unit& unit) {
  Window window = unit.carried.front().window;
  window.index = std::min(window.index + 1, CodecLimits::kMaxTimeNs);
  window.start_ns = window.end_ns;
  window.first_step = window.last_step = -1;  // none that a rank has reported
  Alignment alignment = aligner_.Align(
      {.window = window, .batches = {}, .carried = unit.carried, .missing = {}, .settle = true});
  Send(key, unit, std::move(alignment));
}

// Few batches say who the members are: after a restart none may be left that does.
void AlignProcessor::KeepMembers(const AlignKey& key, Unit& unit) {
  if (!unit.windows.TakeListChange()) return;
  if (unit.windows.listed().empty()) {
    context_->changes().Delete(Table::kProgress, MembersKey(key));
  } else {
    context_->changes().Put(Table::kProgress, MembersKey(key),
                            EncodeMembers(unit.windows.listed()));
  }
}

void AlignProcessor::Send(const AlignKey& key, Unit& unit, Alignment alignment) {
  CollectiveSummary& summary = alignment.summary;
  summary.world_size = std::max(summary.world_size, unit.windows.world_size());
  StateChanges& changes = context_->changes();
  if (const auto payload = EncodeOutput(summary, encoder_, *context_)) {
    context_->Forward(Topic::kPatterns, JobKey(key.job), PayloadType::kCollectiveSummary, *payload,
                      summary.window.end_ns / kNsPerMs, key.job);
    ++probe_.summaries_sent;
  } else {
    ++probe_.summaries_dropped;
  }
  probe_.cuts += alignment.cuts;

  for (const CollectiveBatch& batch : unit.carried)
    changes.Delete(Table::kProgress, CarriedKey(key, batch.rank));
  unit.carried = std::move(alignment.carried);
  KeepCarried(key, unit);
  if (unit.windows.closed_through()) {
    changes.Put(Table::kProgress, AlignedKey(key),
                EncodeProgress({*unit.windows.closed_through(), unit.windows.FinishedRanks()}));
    if (key.kind == WindowKind::kSteps)
      changes.Put(Table::kProgress, RunsKey(key), unit.windows.runs().Encode());
  }
  pending_rows_ -= alignment.rows.total() - alignment.rows.carried;
  memory_.Set(held_bytes());
  probe_.rows += alignment.rows;
}

// What the store cannot hold is carried no further: a restart would not have it.
void AlignProcessor::KeepCarried(const AlignKey& key, Unit& unit) {
  std::erase_if(unit.carried, [&](const CollectiveBatch& batch) {
    const auto payload = EncodeOutput(batch, encoder_, *context_);
    if (payload) {
      context_->changes().Put(Table::kProgress, CarriedKey(key, batch.rank), Copy(*payload));
      return false;
    }
    probe_.rows_dropped += batch.records.size();
    pending_rows_ -= batch.records.size();
    return true;
  });
}

int64_t AlignProcessor::RestartOffset(int64_t next) const {
  for (const auto& [key, unit] : units_)
    next = std::min(next, unit.windows.first_offset().value_or(next));
  return next;
}

uint64_t AlignProcessor::open_batches() const {
  uint64_t batches = 0;
  for (const auto& [key, unit] : units_) batches += unit.windows.open_batches();
  return batches;
}

uint64_t AlignProcessor::pending_rows() const { return pending_rows_; }

}  // namespace eroica
