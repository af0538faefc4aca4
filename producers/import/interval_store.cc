#include "producers/import/interval_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <tuple>

namespace eroica {
namespace {

constexpr size_t kFirstRecords = 4'096;
constexpr size_t kSmallestRun = 65'536;  // however little of the budget other ranks have left over

}  // namespace

bool operator<(const IntervalRecord& x, const IntervalRecord& y) {
  if (x.start_ns != y.start_ns) return x.start_ns < y.start_ns;
  if (x.duration_ns != y.duration_ns) return x.duration_ns > y.duration_ns;
  return std::tie(x.a, x.function, x.lane) < std::tie(y.a, y.function, y.lane);
}

IntervalStore::~IntervalStore() {
  budget_.used_bytes -= records_.capacity() * sizeof(IntervalRecord);
}

absl::Status IntervalStore::Grow() {
  const size_t wanted = std::max(kFirstRecords, 2 * records_.capacity());
  const size_t added = (wanted - records_.capacity()) * sizeof(IntervalRecord);
  const bool within = budget_.used_bytes + added <= budget_.limit_bytes || wanted <= kSmallestRun;
  if (!within && !records_.empty()) return Spill();
  records_.reserve(wanted);
  budget_.used_bytes += added;
  return absl::OkStatus();
}

absl::Status IntervalStore::Spill() {
  if (file_ == nullptr) file_.reset(std::tmpfile());
  if (file_ == nullptr)
    return absl::ResourceExhaustedError(
        fmt::format("no temporary file to sort the trace: {}", std::strerror(errno)));
  std::sort(records_.begin(), records_.end());
  if (std::fseek(file_.get(), 0, SEEK_END) != 0 ||
      std::fwrite(records_.data(), sizeof(IntervalRecord), records_.size(), file_.get()) !=
          records_.size()) {
    return absl::ResourceExhaustedError(
        fmt::format("writing a temporary file to sort the trace: {}; free space in the folder for "
                    "temporary files",
                    std::strerror(errno)));
  }
  runs_.push_back(
      {.first = spilled_, .count = records_.size(), .read = 0, .buffer = {}, .position = 0});
  spilled_ += records_.size();
  records_.clear();
  return absl::OkStatus();
}

bool IntervalStore::FillRun(Run& run) {
  const uint64_t count = std::min<uint64_t>(kRunBufferRecords, run.count - run.read);
  if (count == 0) return false;
  run.buffer.resize(count);
  run.position = 0;
  const auto offset = static_cast<int64_t>((run.first + run.read) * sizeof(IntervalRecord));
  if (fseeko(file_.get(), offset, SEEK_SET) != 0 ||
      std::fread(run.buffer.data(), sizeof(IntervalRecord), count, file_.get()) != count) {
    status_ = absl::DataLossError("the temporary file of the sort could not be read back");
    return false;
  }
  run.read += count;
  return true;
}

absl::Status IntervalStore::Rewind() {
  status_ = absl::OkStatus();
  position_ = 0;
  if (!runs_.empty() && !records_.empty()) {
    if (absl::Status status = Spill(); !status.ok()) return status;
  }
  if (runs_.empty()) {
    if (!sorted_) std::sort(records_.begin(), records_.end());
    sorted_ = true;
    return absl::OkStatus();
  }
  heap_.clear();
  for (uint32_t i = 0; i < runs_.size(); ++i) {
    runs_[i].read = 0;
    if (FillRun(runs_[i])) heap_.push_back(i);
  }
  const auto later = [this](uint32_t x, uint32_t y) {
    return runs_[y].buffer[runs_[y].position] < runs_[x].buffer[runs_[x].position];
  };
  std::make_heap(heap_.begin(), heap_.end(), later);
  return status_;
}

bool IntervalStore::NextMerged(IntervalRecord* record) {
  if (heap_.empty() || !status_.ok()) return false;
  const auto later = [this](uint32_t x, uint32_t y) {
    return runs_[y].buffer[runs_[y].position] < runs_[x].buffer[runs_[x].position];
  };
  std::pop_heap(heap_.begin(), heap_.end(), later);
  Run& run = runs_[heap_.back()];
  *record = run.buffer[run.position++];
  if (run.position < run.buffer.size() || FillRun(run)) {
    std::push_heap(heap_.begin(), heap_.end(), later);
  } else {
    heap_.pop_back();
  }
  return true;
}

bool IntervalStore::Next(IntervalRecord* record) {
  if (!runs_.empty()) return NextMerged(record);
  if (position_ >= records_.size()) return false;
  *record = records_[position_++];
  return true;
}

}  // namespace eroica
